"""``cpuctl replay``: a node's history over simulated time."""

import json
import re
import sys
import time
from enum import StrEnum
from itertools import chain
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from cpuctl import option_names
from cpuctl.cli.app import EXIT_NO, command_group
from cpuctl.cli.kubelet_options import KubeletCommand, kubelet_inputs
from cpuctl.cli.notes import print_sources
from cpuctl.cli.options import (
    DriverArgsOption,
    ExitZeroOption,
    ForceOption,
    NoColorOption,
    PodFilesOption,
    PolicyOption,
    QuietOption,
    SkipApiServerOption,
)
from cpuctl.cli.output import Style, emit, note, takes_every_character
from cpuctl.cli.panels import INPUT, OUTPUT
from cpuctl.cli.pictures import SVG, Pictures
from cpuctl.cli.progress import ProgressBar
from cpuctl.errors import UsageError
from cpuctl.inputs.sources import Sources
from cpuctl.records import replace
from cpuctl.visible_text import printable

if TYPE_CHECKING:
    from cpuctl.answers.replay import Replay
    from cpuctl.timeline.model import Timeline
    from cpuctl.timeline.simulation import Simulation
    from cpuctl.timeline.world.entries import HistoryEntry


class ReplayOutput(StrEnum):
    """The forms of a replay: those of an answer with many items, and the answers to a container runtime."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    JSONL = "jsonl"
    NRI = "nri"


app = command_group()

HELP = """Replay a node's history over time, and check expectations.

A timeline has a machine, a kubelet, pods, and events: pods are added, resized and removed, the kubelet stops,
starts and is upgraded, CPUs go offline. The replay shows when a decision reaches the cgroup, what the
application reads meanwhile in its downward API volume, and what the scheduler sees. Time is simulated: an
hour takes milliseconds. Nothing is changed on the node.

A kubelet's log (journalctl -u kubelet, as text or with -o json, or the kubelet's own log file) can be
replayed, too: with -f, -m and --kubelet-config, the same pods are admitted again, and every difference from
what the kubelet did is reported. Pods without a manifest are skipped and listed.

So can the log of the NRI plugin "logger", which contains a container runtime's requests: a pod without a
manifest is derived from the resources of its containers, and what cannot be derived is listed.

Pods may have resource claims: list ResourceClaims and related objects among the timeline's pods;
--driver-args are the flags of the dra.cpu driver.

Delayed scale-down (KEP-6122) and resizing exclusive CPUs (KEP-5554) are previews: no release has them.

With --policy, a policy (plugin) chooses CPUs instead of every kubelet in the timeline.

Examples:

\b
  cpuctl replay --new > timeline.yaml    # an example with comments
  cpuctl replay timeline.yaml
  cpuctl replay timeline.yaml -o jsonl | jq 'select(.pod=="default/late")'
  cpuctl replay timeline.yaml --follow --speed 10x
  cpuctl replay timeline.yaml --svg timeline.svg
  cpuctl replay timeline.yaml -m node7.tar.xz --until 30s
  cpuctl replay timeline.yaml -o nri
  cpuctl replay kubelet.log -f pods.json -m node7.tar.xz
  cpuctl replay nri-logger.log -m node7.tar.xz --kubelet-config kubelet.yaml

Exit codes: 0 everything is as expected, 3 something is not, or the API server rejects a pod (with --exit-zero
0), 2 usage, 4 unusable input, 5 a file could not be written.
"""

TimelineArgument = Annotated[
    str,
    typer.Argument(
        metavar="[TIMELINE]",
        help="The timeline, YAML or JSON (schema: cpuctl schema timeline), or a log: a kubelet's, or that "
        "of the NRI plugin logger.",
    ),
]
MachineOption = Annotated[
    str,
    typer.Option(
        "-m",
        "--machine",
        metavar="SOURCE",
        help="Use this machine instead of the timeline's; for a log, the machine it comes from "
        "(default: live).",
        rich_help_panel=INPUT,
    ),
]
UntilOption = Annotated[
    str,
    typer.Option(option_names.UNTIL, metavar="DURATION", help="Stop after this simulated time, e.g. 30s."),
]
FollowOption = Annotated[bool, typer.Option("--follow", help="Print events as they happen.")]
SpeedOption = Annotated[
    str, typer.Option("--speed", metavar="FACTOR", help="Speed of time with --follow, e.g. 10x.")
]
NewOption = Annotated[bool, typer.Option("--new", help="Print a commented example of a timeline.")]
SvgOption = Annotated[
    str,
    typer.Option(
        SVG,
        metavar="FILE",
        help="Also draw CPUs over time as SVG; - writes only this to stdout.",
        rich_help_panel=OUTPUT,
    ),
]
OutputOption = Annotated[
    ReplayOutput,
    typer.Option(
        "-o",
        "--output",
        help="Output format; jsonl is one entry per line, nri is what an NRI plugin would "
        "answer the container runtime, event by event.",
        rich_help_panel=OUTPUT,
    ),
]


@app.command(name="replay", help=HELP, cls=KubeletCommand)
def replay(
    context: typer.Context,
    timeline: TimelineArgument = "",
    filename: PodFilesOption = [],  # noqa: B006  # typer copies it
    machine: MachineOption = "",
    driver_args: DriverArgsOption = "",
    until: UntilOption = "",
    follow: FollowOption = False,
    speed: SpeedOption = "",
    new: NewOption = False,
    svg: SvgOption = "",
    skip_api_server: SkipApiServerOption = False,
    policy: PolicyOption = "",
    force: ForceOption = False,
    output: OutputOption = ReplayOutput.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
    exit_zero: ExitZeroOption = False,
) -> None:
    """Read the timeline, replay it and print the answer."""
    if new:
        from cpuctl.timeline.example import EXAMPLE

        typer.echo(EXAMPLE, nl=False)
        return
    from cpuctl.operations.replay import TimelineInputs, load_timeline

    style, sources = Style(output, color=not no_color, quiet=quiet), Sources()
    pace = read_pace(speed, style, follow=follow)
    pictures = Pictures.requested({SVG: svg}, style, replace=force)
    if pictures.instead and pace is not None:
        raise UsageError("cannot be - (stdout) with --follow", where=SVG, hint="use a file")
    inputs = TimelineInputs(
        timeline,
        machine,
        read_end(until),
        skip_api_server,
        filename,
        kubelet_inputs(context),
        driver_args,
        policy,
    )
    history = load_timeline(inputs, sources)
    print_sources(sources, style)
    _note_policy(history, style)
    if pace is None:
        simulation = play(history, style)
    else:
        simulation = play_live(history, pace, style)
        style = replace(style, view="end_blocks")
    _answer(simulation, sources, pictures, style, live=pace is not None)
    if (simulation.failures or simulation.world.refused) and not exit_zero:
        raise typer.Exit(EXIT_NO)


def _note_policy(timeline: "Timeline", style: Style) -> None:
    """Report that a policy decides, if the form of the answer has no field for it."""
    if style.output in (ReplayOutput.JSONL, ReplayOutput.NRI):
        from cpuctl.answering.replay_answer import policy_of
        from cpuctl.exports.outcomes import what_if_sentence

        if (policy := policy_of(timeline).get("policy")) is not None:
            note(what_if_sentence(policy), style)


def play(timeline: "Timeline", style: Style) -> "Simulation":
    """Play a timeline as fast as possible, and return the result."""
    from cpuctl.timeline.report.runtime_calls import RuntimeCalls
    from cpuctl.timeline.simulation import Simulation

    simulation = Simulation(timeline, RuntimeCalls() if style.output is ReplayOutput.NRI else None)
    with ProgressBar(style, counted=False) as progress:
        for now in simulation.play(timeline.moments, timeline.until):
            progress("replaying", now, timeline.until)
    return simulation


def _answer(
    simulation: "Simulation", sources: Sources, pictures: Pictures, style: Style, *, live: bool
) -> None:
    """Draw the pictures, and write the answer; if *live*, only people get one."""
    from cpuctl.answering.replay_answer import replay_document

    answers = not pictures.instead and (not live or style.for_people)
    runtime = style.output is ReplayOutput.NRI
    if pictures or (answers and not runtime):
        document = replay_document(simulation, sources.entries)
        _draw(document, pictures)
        if answers and not runtime:
            emit(document, style)
    if answers and runtime:
        from cpuctl.answering.replay_answer import nri_replay_document

        note(
            "note: answers follow each decision at once; the kubelet itself waits for its reconcile loop",
            style,
        )
        emit(nri_replay_document(simulation, sources.entries), style)


def _draw(document: "Replay", pictures: Pictures) -> None:
    if pictures:
        from cpuctl.exports.timeline_picture import replay_facts, timeline_svg

        pictures.write(SVG, lambda: timeline_svg(replay_facts(document)))


_SPEED = re.compile(r"(?P<number>[0-9]{1,9}(?:\.[0-9]{1,9})?)x?", re.ASCII)
_NAP = 0.1
"""Seconds between two checks of the clock."""
_STREAMS = (ReplayOutput.TABLE, ReplayOutput.WIDE, ReplayOutput.JSONL)


def read_end(text: str) -> int | None:
    """Parse ``--until`` in nanoseconds; None without it. Raise UsageError for an invalid duration."""
    from cpuctl.golang.durations import parse_duration

    if not text:
        return None
    try:
        end = parse_duration(text)
    except ValueError:
        end = -1
    if end < 0:
        raise UsageError(f"expected a duration such as 30s, found {text!r}", where=option_names.UNTIL)
    return end


def read_pace(text: str, style: Style, *, follow: bool) -> float | None:
    """Parse ``--speed``: nanoseconds of the timeline per second; None without ``--follow``.

    Raise UsageError for an invalid speed, a speed without ``--follow``, and a form of output that cannot
    follow.
    """
    if not follow:
        if text:
            raise UsageError("requires --follow", where="--speed", hint="add --follow")
        return None
    if style.output not in _STREAMS:
        hint = "use -o table, -o wide or -o jsonl"
        raise UsageError(f"cannot be used with -o {style.output}", where="--follow", hint=hint)
    found = _SPEED.fullmatch(text or "1x")
    if found is None or not float(found["number"]):
        raise UsageError(f"expected a factor such as 10x or 0.5x, found {text!r}", where="--speed")
    return float(found["number"]) * 1e9


class Clock:
    """Waits until a time of the timeline; ``pace`` is its nanoseconds per second."""

    def __init__(self, pace: float) -> None:
        self.pace = pace
        self.began = time.monotonic()

    def wait_for(self, moment: int, progress: ProgressBar, total: int) -> None:
        """Sleep until a *moment*, in nanoseconds of the timeline, which is *total* long."""
        while (left := self.began + moment / self.pace - time.monotonic()) > 0:
            progress("replaying", min(int((time.monotonic() - self.began) * self.pace), total), total)
            time.sleep(min(left, _NAP))


def play_live(timeline: "Timeline", pace: float, style: Style) -> "Simulation":
    """Play a timeline live, and return the result."""
    from cpuctl.timeline.simulation import Simulation

    # The bar replaces sys.stdout while it is visible, to print above it: not for a pipe.
    pipe = None if sys.stdout.isatty() else sys.stdout
    simulation, printed = Simulation(timeline), 0
    with ProgressBar(style, patience=0, counted=False) as progress:
        clock = Clock(pace)
        for _ in chain((0,), simulation.play(timeline.moments, timeline.until)):
            for entry in simulation.world.entries[printed:]:
                clock.wait_for(entry.at, progress, timeline.until)
                _write_entry(entry, style, pipe or sys.stdout)
                printed += 1
        clock.wait_for(timeline.until, progress, timeline.until)
    if style.for_people:
        sys.stdout.write("\n")
    return simulation


def _write_entry(entry: "HistoryEntry", style: Style, out: TextIO) -> None:
    from cpuctl.answering.replay_answer import entry_answer

    answer = entry_answer(entry)
    if style.output is ReplayOutput.JSONL:
        line = json.dumps(answer, ensure_ascii=not takes_every_character())
    else:
        owner = "/".join(filter(None, (entry.pod.removeprefix("default/"), entry.container)))
        line = printable(f"{answer['at']:>12}  {owner or '-'}: {entry.text}")
    out.write(f"{line}\n")
    out.flush()
