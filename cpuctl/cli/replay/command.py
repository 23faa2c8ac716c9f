"""``cpuctl replay``: a node's history over simulated time."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cpuctl.cli.app import EXIT_NO, command_group
from cpuctl.cli.notes import tell_sources
from cpuctl.cli.options import ExitZeroOption, ForceOption, NoColorOption, QuietOption, SkipApiServerOption
from cpuctl.cli.output import Document, ListOutput, Style, emit
from cpuctl.cli.panels import INPUT, OUTPUT
from cpuctl.cli.pictures import SVG, Pictures
from cpuctl.cli.progress import ProgressBar
from cpuctl.errors import UsageError
from cpuctl.inputs.sources import Sources

if TYPE_CHECKING:
    from cpuctl.machine.sources import MachineSource
    from cpuctl.timeline.model import Timeline

app = command_group()

HELP = """Replay a node's history over time, and check expectations.

A timeline names a machine, a kubelet, pods, and what happens when: pods come, are resized and go, the
kubelet stops, starts and is upgraded, CPUs go offline. The replay tells when a decision reaches the cgroup,
what the application reads in its volume meanwhile, and what the scheduler sees. Time is simulated: an hour
takes milliseconds. Nothing is changed on the node.

The delay of scale-downs (KEP-6122) and the resize of exclusive CPUs (KEP-5554) are previews: no release has
them.

Examples:

\b
  cpuctl replay --new > timeline.yaml    # a commented example to start from
  cpuctl replay timeline.yaml
  cpuctl replay timeline.yaml -o jsonl | jq 'select(.pod == "default/web")'
  cpuctl replay timeline.yaml --follow --speed 10x
  cpuctl replay timeline.yaml --svg timeline.svg
  cpuctl replay timeline.yaml -m node7.tar.xz --until 30s

Exit codes: 0 everything is as expected, 3 something is not, or the API server refuses to store a pod (with
--exit-zero 0), 2 usage, 4 unusable input.
"""

TimelineArgument = Annotated[
    str,
    typer.Argument(metavar="[TIMELINE]", help="The timeline, YAML or JSON (schema: cpuctl schema timeline)."),
]
MachineOption = Annotated[
    str,
    typer.Option(
        "-m",
        "--machine",
        metavar="SOURCE",
        help="Another machine than the timeline's.",
        rich_help_panel=INPUT,
    ),
]
UntilOption = Annotated[
    str, typer.Option("--until", metavar="DURATION", help="Stop after so much of the timeline, e.g. 30s.")
]
FollowOption = Annotated[bool, typer.Option("--follow", help="Tell what happens when it happens.")]
SpeedOption = Annotated[
    str, typer.Option("--speed", metavar="FACTOR", help="How fast time goes by with --follow, e.g. 10x.")
]
NewOption = Annotated[bool, typer.Option("--new", help="Print a commented example of a timeline.")]
SvgOption = Annotated[
    str,
    typer.Option(
        SVG,
        metavar="FILE",
        help="Also draw CPUs over time, as SVG; - is stdout, with no answer.",
        rich_help_panel=OUTPUT,
    ),
]
OutputOption = Annotated[
    ListOutput,
    typer.Option(
        "-o", "--output", help="The form of the answer; jsonl is one entry a line.", rich_help_panel=OUTPUT
    ),
]


@app.command(name="replay", help=HELP)
def replay(
    timeline: TimelineArgument = "",
    machine: MachineOption = "",
    until: UntilOption = "",
    follow: FollowOption = False,
    speed: SpeedOption = "",
    new: NewOption = False,
    svg: SvgOption = "",
    skip_api_server: SkipApiServerOption = False,
    force: ForceOption = False,
    output: OutputOption = ListOutput.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
    exit_zero: ExitZeroOption = False,
) -> None:
    """Read, replay, answer."""
    if new:
        from cpuctl.timeline.example import EXAMPLE

        typer.echo(EXAMPLE, nl=False)
        return
    from cpuctl.cli.answers.replay_answer import replay_document
    from cpuctl.cli.replay import follow as live
    from cpuctl.timeline.simulation import Simulation

    style, sources = Style(output, color=not no_color, quiet=quiet), Sources()
    pace = live.read_pace(speed, style, follow=follow)
    pictures = Pictures.asked({SVG: svg}, style, replace=force)
    if pictures.instead and pace is not None:
        raise UsageError("stdout (-) is taken by --follow", where=SVG, hint="name a file")
    told = _cut(_load(timeline, machine, sources), until)
    told = told._replace(server=told.server._replace(validates=not skip_api_server))
    _add_unrecorded(told, sources)
    tell_sources(sources, style)
    if pace is None:
        simulation = Simulation(told)
        with ProgressBar(style) as progress:
            for now in simulation.play(told.moments, told.until):
                progress("replaying", now, told.until)
    else:
        simulation = live.follow(told, pace, style)
        style = style._replace(layout="replay_end")
    if pace is None or style.for_people or pictures:
        document = replay_document(simulation, {"sources": sources.entries})
        _draw(document, pictures)
        if not pictures.instead and (pace is None or style.for_people):
            emit(document, style)
    if (simulation.failures or simulation.world.refused) and not exit_zero:
        raise typer.Exit(EXIT_NO)


def _add_unrecorded(timeline: "Timeline", sources: Sources) -> None:
    """Name what nobody has recorded on the releases that the node has, one after the other."""
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.kubelet.releases.recorded import Topic, topics_of_decisions
    from cpuctl.timeline.model import KubeletEvent, Resize

    events = [moment.event for moment in timeline.moments]
    resizes = [Topic.RESIZE] if any(isinstance(event, Resize) for event in events) else []
    pod_level = any(each.pod.resources for each in timeline.pods.values())
    later = (event.setup.kubelet for event in events if isinstance(event, KubeletEvent))
    for kubelet in (timeline.setup.kubelet, *later):
        if isinstance(kubelet, Kubelet):
            topics = topics_of_decisions(kubelet.config, pod_level=pod_level)
            sources.add_unrecorded(kubelet.version.minor, [*topics, *resizes])


def _draw(document: Document, pictures: Pictures) -> None:
    if pictures:
        from cpuctl.exports.timeline.facts import replay_facts
        from cpuctl.exports.timeline.picture import timeline_svg

        pictures.write(SVG, lambda: timeline_svg(replay_facts(document)))


def _load(name: str, machine: str, sources: Sources) -> "Timeline":
    """Read a timeline; what it names is looked for beside it."""
    from cpuctl.documents.files import STDIN, read_input, read_member, source_name
    from cpuctl.inputs.sources import refuse_stdin_twice
    from cpuctl.machine.sources import LIVE, SYNTHETIC, read_machine
    from cpuctl.timeline.reading.document import Outside, read_timeline

    if not name:
        raise UsageError("no timeline to replay", hint="name one, or begin with cpuctl replay --new")
    refuse_stdin_twice(name, machine)
    beside = Path() if name == STDIN else Path(name).parent
    sources.add("timeline", source_name(name), "given")

    def machine_named(spec: str) -> "MachineSource":
        if machine:
            sources.add("machine", machine, "given")
            return read_machine(machine)
        sources.add("machine", spec, "given")
        return read_machine(spec if spec == LIVE or spec.startswith(SYNTHETIC) else str(beside / spec))

    outside = Outside(machine=machine_named, file=lambda file: read_member(str(beside / file)))
    return read_timeline(read_input(name), source_name(name), outside)


def _cut(timeline: "Timeline", until: str) -> "Timeline":
    """Leave out what is later than *until*; without it, nothing."""
    from cpuctl.golang.durations import parse_duration

    if not until:
        return timeline
    try:
        end = parse_duration(until)
    except ValueError:
        end = -1
    if end < 0:
        raise UsageError(f"expected a duration such as 30s, found {until!r}", where="--until")
    kept = tuple(moment for moment in timeline.moments if moment.at <= end)
    return timeline._replace(moments=kept, until=min(end, timeline.until))
