"""``cpuctl top``: the running node."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from cpuctl.cli.app import command_group
from cpuctl.cli.kubelet_options import KubeletCommand, kubelet_inputs
from cpuctl.cli.notes import print_sources
from cpuctl.cli.options import (
    NoColorOption,
    NodeStateOption,
    QuietOption,
    RootOption,
    RunningPodsOption,
)
from cpuctl.cli.output import Style, emit, note
from cpuctl.cli.panels import INPUT, KUBELET, OUTPUT, panel_of
from cpuctl.errors import UsageError
from cpuctl.inputs.sources import Sources

if TYPE_CHECKING:
    from cpuctl.answers.top import Top
    from cpuctl.cli.top_screen import Feed
    from cpuctl.inputs.live_node import NodeInputs
    from cpuctl.operations.top import RunningNode
    from cpuctl.operations.top_recording import Recorder

app = command_group()

HELP = """Show the live load on exclusive CPUs, and what disturbs them.

One row per container with exclusive CPUs: the load of each CPU in percent, how many CPUs the container and
others used, steal, throttling, foreign threads, and per second: device interrupts, how long its threads
waited to run, how often they moved, and pages meant for its NUMA nodes but allocated on others. Below: the
shared pool with its pressure (PSI), the reserved CPUs, and a map of all CPUs by socket, NUMA node, L3 and
core. Colours show owners, brightness shows load; a dash is a value that the kernel does not provide.

The screen needs Textual: pip install '.[top]' in cpuctl's source directory. --once and -o jsonl work
without it. On a terminal without cursor control (TERM=dumb), top prints a table every second.

Reads the node's counters every second, changes nothing, and does not run on exclusive CPUs.

Examples:

\b
  sudo cpuctl top
  sudo cpuctl top --once                      # one second, as a table
  sudo cpuctl top --once -o json | jq '.containers[] | select(.others > 0.05)'
  sudo cpuctl top -o jsonl --samples 60 > minute.jsonl
  sudo cpuctl top --record night.jsonl.gz     # press h for help
  cpuctl top --replay night.jsonl.gz
  cpuctl top --root /host                     # in a debugging pod

Exit codes: 0 shown, 2 usage, or Textual is not installed, 4 unusable input, 5 the
node denied access, or --record cannot be written.
"""


class TopOutput(StrEnum):
    """The forms of one moment; jsonl has one moment per line."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    JSONL = "jsonl"


OnceOption = Annotated[
    bool,
    typer.Option("--once", help="Print one sample and exit.", rich_help_panel=OUTPUT),
]
RunningMachineOption = Annotated[
    str,
    typer.Option(
        "-m",
        "--machine",
        metavar="SOURCE",
        help="The node: live, or a directory in which its /sys and /proc are mounted; not a recording "
        "(see --replay).",
        rich_help_panel=INPUT,
    ),
]
IntervalOption = Annotated[
    float, typer.Option("--interval", metavar="SECONDS", help="Seconds between samples, 0.2 to 3600.")
]
SamplesOption = Annotated[
    int,
    typer.Option(
        "--samples", metavar="N", help="With -o jsonl: exit after N samples; 0 means no limit.", min=0
    ),
]
RecordOption = Annotated[
    str,
    typer.Option(
        "--record",
        metavar="FILE",
        help="Write every sample to a new file, one JSON object per line, up to 1 GiB; compressed if "
        "the name ends in .gz.",
        rich_help_panel=OUTPUT,
    ),
]
ReplayOption = Annotated[
    str,
    typer.Option(
        "--replay",
        metavar="FILE",
        help="Play a file written by --record or -o jsonl; with --once, show its last sample.",
        rich_help_panel=INPUT,
    ),
]
TopOutputOption = Annotated[
    TopOutput | None,
    typer.Option(
        "-o",
        "--output",
        help="Output format; jsonl is one sample per line, the others need --once.",
        rich_help_panel=OUTPUT,
    ),
]


@app.command(name="top", help=HELP, cls=KubeletCommand)
def top(
    context: typer.Context,
    machine: RunningMachineOption = "live",
    root: RootOption = "",
    state: NodeStateOption = "",
    pods: RunningPodsOption = "",
    replay: ReplayOption = "",
    interval: IntervalOption = 1.0,
    samples: SamplesOption = 0,
    once: OnceOption = False,
    output: TopOutputOption = None,
    record: RecordOption = "",
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
) -> None:
    """Observe the node, and show it in the requested way."""
    from cpuctl.inputs.live_node import NodeInputs

    inputs = NodeInputs(machine=machine, root=root, kubelet=kubelet_inputs(context), state=state, pods=pods)
    style = Style(output or TopOutput.TABLE, color=not no_color, quiet=quiet)
    if replay:
        _refuse_clash(context, record)
    _refuse_form(output, once=once, interval=interval, samples=samples)
    on_screen = not (once or output is TopOutput.JSONL) and _has_screen()
    if replay:
        _replay(replay, style, interval, samples, once=once, on_screen=on_screen)
        return
    with _running(inputs, style, thorough=once) as (node, sources), _recorder(record, style) as recorder:
        feed = _LiveFeed(node, sources, recorder)
        if on_screen:
            capture = partial(_capture, root, node.top.hostname)
            _show(feed, interval, style, capture)
        else:
            _print(_moments(feed, interval), style, 1 if once else samples)


def _refuse_clash(context: typer.Context, record: str) -> None:
    """Raise UsageError for options whose value a recording determines."""
    if record:
        hint = "copy the file instead, or omit --record"
        raise UsageError(
            "cannot be used with --replay: the samples are already recorded", where="--record", hint=hint
        )
    others = [each for each in context.command.params if panel_of(each) in (INPUT, KUBELET)]
    for option in others:
        source = context.get_parameter_source(option.name or "")
        if option.name != "replay" and source is not None and source.name == "COMMANDLINE":
            raise UsageError(
                "cannot be used with --replay: the node is part of the recording",
                where=option.opts[-1],
                hint=f"omit {option.opts[-1]}, or omit --replay to read a node",
            )


def _refuse_form(output: TopOutput | None, *, once: bool, interval: float, samples: int) -> None:
    if not 0.2 <= interval <= 3600:
        raise UsageError(f"expected 0.2 to 3600 seconds, found {interval:g}", where="--interval")
    if samples and (once or output is not TopOutput.JSONL):
        hint = "add -o jsonl and omit --once"
        raise UsageError("requires -o jsonl", where="--samples", hint=hint)
    if output is not None and output is not TopOutput.JSONL and not once:
        hint = "add --once, or use -o jsonl to print every sample"
        raise UsageError("requires --once", where=f"-o {output}", hint=hint)


@contextmanager
def _running(
    inputs: "NodeInputs", style: Style, *, thorough: bool
) -> "Iterator[tuple[RunningNode, Sources]]":
    from cpuctl.operations.top import load_running_node

    sources = Sources()
    node = load_running_node(inputs, sources, thorough=thorough)
    print_sources(sources, style)
    node.keep_off()
    try:
        yield node, sources
    finally:
        node.close()


@contextmanager
def _recorder(name: str, style: Style) -> "Iterator[Recorder | None]":
    if not name:
        yield None
        return

    from cpuctl.operations.top_recording import Recorder

    recorder = Recorder(name)
    try:
        yield recorder
    finally:
        recorder.close()
        if recorder.full:
            note(f"warning: {name} is full; later samples are not recorded", style)


def _moments(feed: "_LiveFeed", interval: float) -> "Iterator[Top]":
    """Yield the node's activity, moment by moment."""
    due = time.monotonic()
    while True:
        if (document := feed.ahead()) is not None:
            yield document
        due = max(due + interval, time.monotonic())
        time.sleep(max(due - time.monotonic(), 0))


def _paced(moments: "Iterator[Top]", interval: float) -> "Iterator[Top]":
    """Yield moments at the pace at which a screen plays them."""
    for number, document in enumerate(moments):
        if number:
            time.sleep(interval)
        yield document


def _print(moments: "Iterator[Top]", style: Style, most: int) -> None:
    for number, document in enumerate(moments, 1):
        if style.output is TopOutput.JSONL:
            sys.stdout.write(json.dumps(document) + "\n")
            sys.stdout.flush()
        else:
            emit(document, style)
        if number == most:
            return


def _replay(name: str, style: Style, interval: float, samples: int, *, once: bool, on_screen: bool) -> None:
    from cpuctl.operations.top_recording import read_recording

    recording = read_recording(name)
    for text in recording.notes:
        note(f"warning: {name}: {text}", style)
    count = len(recording.lines)
    if on_screen:
        from cpuctl.cli.top_screen import Playback

        _show(Playback(recording), interval, style, None)
    else:
        moments = map(recording.moment, range(count - 1 if once else 0, count))
        streamed = once or style.output is TopOutput.JSONL
        _print(moments if streamed else _paced(moments, interval), style, samples)


def _has_screen() -> bool:
    """Return whether there is a terminal to draw on; on one that can only print, moments are tables.

    Raise UsageError without a terminal, and if Textual is not installed.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        hint = "use --once for one sample, or -o jsonl for all"
        raise UsageError("stdin or stdout is not a terminal", hint=hint)
    if os.environ.get("TERM", "") in ("", "dumb", "unknown"):
        return False
    try:
        import textual  # noqa: F401
    except ImportError:
        from cpuctl.phrases import installing

        hint = f"run {installing('top')}; --once and -o jsonl work without it"
        raise UsageError("the screen needs Textual, which is not installed", hint=hint) from None
    return True


class _LiveFeed:
    """The moments of a running node, each recorded as it occurs."""

    def __init__(self, node: "RunningNode", sources: Sources, recorder: "Recorder | None") -> None:
        from cpuctl.answering.top_answer import current

        self._node = node
        self._sources = sources
        self._recorder = recorder
        self._answer = current

    def ahead(self) -> "Top | None":
        """Return the node's activity since the previous observation."""
        window = self._node.take()
        if window is None:
            return None
        ago = self._node.age(window)
        document = self._answer(self._node.top, window, self._sources.entries, ago)
        if self._recorder is not None:
            self._recorder.write(document)
        return document


def _show(feed: "Feed", interval: float, style: Style, capture: "Callable[[], str] | None") -> None:
    """Show moments on the screen until the user ends it; raise the error if one ends it."""
    from cpuctl.cli.top_screen import TopScreen

    color = style.color and not os.environ.get("NO_COLOR")
    if not color:
        os.environ["NO_COLOR"] = "1"  # Textual has its own colours
    screen = TopScreen(feed, interval, color=color, capture=capture)
    screen.run(mouse=False)
    if screen.failure is not None:
        raise screen.failure


def _capture(root: str, hostname: str) -> str:
    """Record the node in the current directory, and return the file's name."""
    from datetime import UTC, datetime
    from pathlib import Path

    from cpuctl.answering.capture_answer import machine_description
    from cpuctl.capture.archive import Compression, write_members
    from cpuctl.capture.collected import no_progress
    from cpuctl.capture.saving import check_target, save
    from cpuctl.operations.capture import CaptureInputs, capture_node

    now = datetime.now(UTC)
    path = Path(f"{hostname.replace('/', '_') or 'node'}-{now:%Y%m%dT%H%M%SZ}.tar.gz")
    check_target(path, replace=False)
    inputs = CaptureInputs(Path(root or "/"), recorded_at=now.isoformat(timespec="seconds"))
    members = capture_node(inputs, machine_description, no_progress).members
    save(path, lambda file: write_members(members, file, Compression.GZIP), replace=False, backup=False)
    return str(path)
