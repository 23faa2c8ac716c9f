"""``cpuctl report``: a node as a whole, for people who have to assess it for the first time."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cpuctl import option_names
from cpuctl.cli.app import EXIT_NO, command_group
from cpuctl.cli.notes import print_sources
from cpuctl.cli.options import (
    ExitZeroOption,
    ForceOption,
    NoColorOption,
    OutputOption,
    PodResourcesOption,
    QuietOption,
)
from cpuctl.cli.output import Output, Style, emit, note
from cpuctl.cli.panels import INPUT, OUTPUT
from cpuctl.cli.pictures import HTML, Pictures
from cpuctl.cli.planning_options import ReportingCommand, planning_inputs
from cpuctl.cli.progress import ProgressBar
from cpuctl.cli.publishing import node_name
from cpuctl.cli.subjects import Subject, about
from cpuctl.inputs.configuration import LIVE_MACHINE, config_read
from cpuctl.inputs.sources import Sources
from cpuctl.operations.plan_inputs import PlanningInputs
from cpuctl.records import replace

if TYPE_CHECKING:
    from cpuctl.answers.report import Report

app = command_group()

TIMELINE = "--timeline"

HELP = """Write a full report on a node as one HTML page.

Contains the machine, the configuration and its findings, the state files, the owner of each CPU, and the
audit. With pods (-f, -T), also their placement and why some are rejected; with --timeline, also a replay.
What was not recorded is reported as unknown, never as clean.

--html writes one self-contained page, to email, print or attach to a ticket. Hover over a CPU to see its
owner, show a single pod, collapse sections. Everything works from the keyboard, and all content is readable
without scripts. Without --html, prints a summary; -o json has everything.

Nothing is changed on the node.

Examples:

\b
  sudo cpuctl report --html node.html
  cpuctl report node7.tar.xz --html node7.html
  cpuctl report node7.tar.xz --pods running.json -f new.yaml --html node7.html
  cpuctl report node7.tar.xz --timeline timeline.yaml --html - > node7.html
  cpuctl report node7.tar.xz -o json | jq .unknown

Exit codes: 0 no problems and nothing unknown, 3 errors or warnings, the kubelet would not start, a pod is not
admitted, an expectation is not met, or something is unknown (with --exit-zero 0), 2 usage, 4 unusable input,
5 a file could not be written.
"""

PageOption = Annotated[
    str,
    typer.Option(
        HTML,
        metavar="FILE",
        help="Write one self-contained HTML page; - writes only this to stdout.",
        rich_help_panel=OUTPUT,
    ),
]
TimelineOption = Annotated[
    str,
    typer.Option(
        TIMELINE,
        metavar="FILE",
        help="Also replay a timeline (see cpuctl replay).",
        rich_help_panel=INPUT,
    ),
]


@app.command(name="report", help=HELP, cls=about(Subject.MACHINE, ReportingCommand))
def report(
    context: typer.Context,
    pod_resources: PodResourcesOption = "",
    timeline: TimelineOption = "",
    html: PageOption = "",
    force: ForceOption = False,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
    exit_zero: ExitZeroOption = False,
) -> None:
    """Read everything about the node, write the page and print the answer."""
    from cpuctl.answering.report_answer import ReportInputs, report_document
    from cpuctl.exports.report_words import is_clean

    style, sources = Style(output, color=not no_color, quiet=quiet), Sources()
    pictures = Pictures.requested({HTML: html}, style, replace=force)
    planned = planning_inputs(context)
    inputs = ReportInputs(
        name=_node(planned.machine),
        planning=replace(planned, kubelet=config_read(planned.kubelet)),
        pod_resources=pod_resources,
        timeline=timeline,
        now=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    )
    with ProgressBar(style) as progress:
        document = report_document(inputs, sources, progress)
    if command := _next(document, planned, {option_names.POD_RESOURCES: pod_resources, TIMELINE: timeline}):
        document["next"] = command
    print_sources(sources, style)
    _write(document, pictures, style)
    if not exit_zero and not is_clean(document["summary"]):
        raise typer.Exit(EXIT_NO)


def _as_read(planned: PlanningInputs, document: "Report") -> PlanningInputs:
    """Name this host's state files, which others than a report do not read with another configuration."""
    reads = planned.machine != LIVE_MACHINE or planned.state or planned.kubelet.config is None
    if reads or "state" not in document:
        return planned
    files = document["state"]["files"]
    return replace(planned, state=str(Path(files[0]["source"]).parent)) if files else planned


def _node(machine: str) -> str:
    """Name the node: the only one of a must-gather has a name of its own."""
    from cpuctl.machine.sources import nodes_in

    gathered = nodes_in(machine)
    return gathered[0] if len(gathered) == 1 else node_name(machine) or "node"


def _next(document: "Report", planned: PlanningInputs, more: Mapping[str, str]) -> str:
    """Write the command that explains a pod that is not admitted, or shows the notes and fixes."""
    from cpuctl.documents.files import file_argument
    from cpuctl.exports.answer_text import advice, full_name
    from cpuctl.exports.report_words import findings_of, refused_pods
    from cpuctl.operations.command_lines import planning_command

    if "plan" in document and (refused := next(refused_pods(document), None)):
        name = full_name(refused)
        same = [pod for pod in document["plan"]["pods"] if full_name(pod) == name]
        command = planning_command(
            _as_read(planned, document), ("explain", refused["uid"] if same[1:] else name)
        )
        return f"sudo {command}" if planned.machine == LIVE_MACHINE else command
    if any(advice(each.finding) or each.finding["severity"] == "note" for each in findings_of(document)):
        given = {option: file_argument(value) for option, value in more.items() if value}
        words = [word for pair in given.items() for word in pair]
        return f"{planning_command(planned, ('report', *words))} -o wide"
    return ""


def _write(document: "Report", pictures: Pictures, style: Style) -> None:
    if pictures:
        from cpuctl.cli.render.node_page import node_page

        pictures.write(HTML, lambda: node_page(document))
    if pictures.instead:
        return
    emit(document, style)
    if style.for_people and not pictures:
        note("note: write the full report with --html FILE", style)
