"""``cpuctl fleet list``: the nodes of a fleet, and those that differ."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from cpuctl.cli.app import command_group
from cpuctl.cli.fleet.common import (
    FleetSelection,
    ask_fleet,
    fleet_inputs,
    note_assumed,
    note_unresumed,
    releases_of,
)
from cpuctl.cli.fleet.options import (
    JobsOption,
    NodesOption,
    RecordingsArgument,
    ResumeOption,
    SchedulerOption,
)
from cpuctl.cli.kubelet_options import KubeletCommand
from cpuctl.cli.options import (
    ExitZeroOption,
    ForceOption,
    NoColorOption,
    PodFilesOption,
    QuietOption,
    TemplateOption,
)
from cpuctl.cli.output import Style, complain, emit, note
from cpuctl.cli.panels import OUTPUT
from cpuctl.cli.pictures import HTML, SVG, HtmlOption, Pictures
from cpuctl.cli.publishing import PublisherOption, refuse_publisher
from cpuctl.errors import InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpuctl.answers.fleet import FleetList
    from cpuctl.cli.fleet.common import FleetAnswers
    from cpuctl.inputs.configuration import KubeletInputs
    from cpuctl.inputs.pods import GivenPods
    from cpuctl.operations.plan_inputs import PlanningInputs

FleetSvgOption = Annotated[
    str,
    typer.Option(
        SVG,
        metavar="FILE",
        help="Also draw the fleet as SVG, one strip per node; - writes only this to stdout.",
        rich_help_panel=OUTPUT,
    ),
]


class FleetListOutput(StrEnum):
    """The forms of a list of nodes: those of every list, and one NodeResourceTopology per node."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    JSONL = "jsonl"
    PROM = "prom"
    NRT = "nrt"


_WRITTEN = (FleetListOutput.JSONL, FleetListOutput.NRT)
"""The forms that are not the document from which pictures are drawn."""

app = command_group()

HELP = """List the nodes of a fleet, and find those that differ.

Nodes that look the same to the kubelet form one group: the same CPUs, NUMA nodes, caches, huge pages, kubelet
version and settings, and memory within 1%. Every group but the first is compared with the most similar
one before it. With pods (-f, -T), shows which groups would place them differently.

MACHINE is sockets, NUMA nodes, cores per socket and CPUs per core; POLICIES are those of the CPU, Topology
and Memory Manager; FREE is the number of CPUs that containers can still get exclusively; LARGEST, how many of
them one container can get on a single NUMA node.

Examples:

\b
  cpuctl fleet list recordings/
  cpuctl fleet list 'recordings/**/*.tar.gz' -o wide
  cpuctl fleet list recordings/ -f pods.yaml      # do the differences matter?
  cpuctl fleet list recordings/ --nodes nodes.json    # which kubelet version?
  find /srv -name '*.tar.xz' | cpuctl fleet list - -o jsonl > fleet.jsonl
  cpuctl fleet list recordings/ --resume fleet.jsonl -o json
  cpuctl fleet list recordings/ --html fleet.html
  cpuctl fleet list must-gather/ --kubelet-version 1.37
  cpuctl fleet list recordings/ -o nrt            # as exporters would publish

Exit codes: 0 every recording was read, 2 usage, 4 a recording or another input cannot be used (all others are
processed; with --exit-zero 0 for recordings), 5 a file could not be written, 130 interrupted.
"""


ListingOutputOption = Annotated[
    FleetListOutput,
    typer.Option(
        "-o",
        "--output",
        help="Output format; jsonl is one node per line, written as soon as it is ready, prom is metrics "
        "for Prometheus, nrt is a List of the NodeResourceTopologies that exporters would publish.",
        rich_help_panel=OUTPUT,
    ),
]


@app.command(name="list", help=HELP, cls=KubeletCommand)
def list_nodes(
    context: typer.Context,
    recordings: RecordingsArgument,
    filename: PodFilesOption = [],  # noqa: B006  # typer copies it
    template: TemplateOption = [],  # noqa: B006
    nodes: NodesOption = "",
    jobs: JobsOption = 0,
    resume: ResumeOption = "",
    scheduler: SchedulerOption = "",
    svg: FleetSvgOption = "",
    html: HtmlOption = "",
    force: ForceOption = False,
    publisher: PublisherOption = "rte",
    output: ListingOutputOption = FleetListOutput.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
    exit_zero: ExitZeroOption = False,
) -> None:
    """Read every node, group them and print the answer."""
    from cpuctl.fleet.listing import NodeLister
    from cpuctl.inputs.sources import Sources
    from cpuctl.operations.command_lines import STARTS, fleet_command
    from cpuctl.operations.plan_inputs import PlanningInputs, read_pods

    style = Style(output, color=not no_color, quiet=quiet)
    kubelet = fleet_inputs(context, *recordings, *filename, nodes)
    refuse_publisher(publisher, style)
    pictures, written = Pictures.requested({SVG: svg, HTML: html}, style, replace=force), output in _WRITTEN
    if pictures and written:
        hint = "run it twice: once for the picture, once for this output"
        raise UsageError("cannot be drawn: it is not a list of nodes", where=f"-o {output}", hint=hint)
    pods = PlanningInputs(filenames=filename, templates=template, kubelet=kubelet)
    given, _ = read_pods(pods, Sources(), needed=bool(filename or template))  # not an error of a node
    selection, releases = FleetSelection(recordings, jobs, resume, scheduler), releases_of(nodes)
    if output is FleetListOutput.NRT:
        answers = _published(selection, kubelet, publisher, style, releases)
    else:
        answers = ask_fleet(selection, NodeLister(kubelet, releases), style)
    note_unresumed(resume, style, answers)
    note_assumed(answers.rows, style)
    if not written and not (output is FleetListOutput.PROM and answers.stopped):
        document = _document(answers, pods, given, releases)
        if document["summary"]["wouldNotStart"] or document["summary"]["undetermined"]:
            document["next"] = fleet_command(STARTS, recordings, kubelet, nodes)
        _answer(document, pictures, style)
    if answers.stopped:
        raise typer.Exit(answers.stopped)
    if answers.unreadable and not exit_zero:
        raise typer.Exit(InputError.exit_code)


def _published(
    selection: FleetSelection,
    kubelet: "KubeletInputs",
    publisher: str,
    style: Style,
    releases: "Mapping[str, str]",
) -> "FleetAnswers":
    """Write what exporters would publish, and report problems with it on stderr."""
    from cpuctl.fleet.topologies import TopologyPublisher
    from cpuctl.operations.topology_publishing import Publisher
    from cpuctl.phrases import few

    answers = ask_fleet(selection, TopologyPublisher(kubelet, Publisher.parse(publisher), releases), style)
    notes: dict[str, list[str]] = {}
    errors: dict[str, list[str]] = {}
    for row in answers.rows:
        if row["outcome"] == "Unreadable":
            error = row["error"].removeprefix(f"{row['source']}: ").removeprefix(f"{row['node']}: ")
            errors.setdefault(error, []).append(row["node"])
            continue
        for text in row["notes"]:
            notes.setdefault(text, []).append(row["node"])
    for error, nodes in errors.items():
        complain(f"{few(nodes)}: {error}")
    for text, nodes in notes.items():
        note(f"note: {few(nodes)}: {text}", style)
    objects = [row["object"] for row in answers.rows if row["outcome"] == "Read"]
    emit({"apiVersion": "v1", "kind": "List", "items": objects}, style)
    return answers


def _document(
    answers: "FleetAnswers", pods: "PlanningInputs", given: "GivenPods", releases: "Mapping[str, str]"
) -> "FleetList":
    from cpuctl.fleet.listing import fleet_document

    return fleet_document(
        answers.rows,
        pods,
        given,
        passed_over=answers.passed_over,
        complete=not answers.stopped,
        releases=releases,
    )


def _answer(document: "FleetList", pictures: Pictures, style: Style) -> None:
    from cpuctl.fleet.listing import list_metrics

    if pictures:
        _draw(pictures, document)
    if style.output is FleetListOutput.PROM:
        document["metrics"] = list(list_metrics(document))
    if not pictures.instead:
        emit(document, style)


def _draw(pictures: Pictures, document: "FleetList") -> None:
    from cpuctl.cli.render.layouts.fleetlist import blocks, opening_lines
    from cpuctl.cli.render.page_parts import page_parts, styled_text
    from cpuctl.exports.fleet import fleet_svg
    from cpuctl.exports.page import Figure, Section, page

    verdict = styled_text(next(opening_lines(document)))
    picture = fleet_svg(document, verdict.text)
    sections = [
        Section("Picture", (Figure(picture),)),
        Section("Nodes", tuple(page_parts(blocks(document, wide=True)))),
    ]
    pictures.write(SVG, lambda: picture)
    pictures.write(HTML, lambda: page("Fleet", verdict, sections))
