"""``cpuctl fleet report``: a page for every node of a fleet, and an index that lists unusual nodes first."""

import zlib
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from cpuctl.cli.app import EXIT_NO, command_group
from cpuctl.cli.fleet.common import (
    FleetSelection,
    ask_fleet,
    fleet_inputs,
    note_unmatched_pods,
    pods_of,
    releases_of,
)
from cpuctl.cli.fleet.options import FleetPodsOption, JobsOption, NodesOption, RecordingsArgument
from cpuctl.cli.kubelet_options import KubeletCommand
from cpuctl.cli.options import (
    ExitZeroOption,
    ForceOption,
    NoColorOption,
    OutputOption,
    PodFilesOption,
    QuietOption,
    TemplateOption,
)
from cpuctl.cli.output import Output, Style, emit, note, remember_written
from cpuctl.cli.panels import OUTPUT
from cpuctl.cli.pictures import umask
from cpuctl.errors import InputError, UsageError, unwritable
from cpuctl.fleet.asking import KubeletFiles
from cpuctl.fleet.facts import content_digest
from cpuctl.inputs.sources import Sources
from cpuctl.operations.plan_inputs import PastPods, PlanningInputs, read_pods
from cpuctl.records import replace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpuctl.answers.fleet import NodeFinding
    from cpuctl.answers.report import FleetReport, ReportedNode
    from cpuctl.cli.fleet.common import FleetAnswers
    from cpuctl.fleet.collection import Recording
    from cpuctl.inputs.configuration import KubeletInputs
    from cpuctl.inputs.pods import GivenPods
    from cpuctl.pods.model import Pod

app = command_group()

_INDEX = "index.html"

HELP = """Write a page for each node, and an index with the most urgent first.

Each page is a cpuctl report of one node. The index lists the most urgent nodes first: those that cannot be
read or whose kubelet would not start, those with errors, those that differ (see cpuctl fleet list), and the
rest; below that, each finding once.

Without --html, prints the index and writes no pages. Nothing is changed on the nodes.

Examples:

\b
  cpuctl fleet report recordings/ --html reports    # reports/index.html
  cpuctl fleet report recordings/ --nodes nodes.json --pods pods.json
  cpuctl fleet report recordings/ -f new.yaml --html reports --force
  cpuctl fleet report recordings/ -o json | jq '.nodes[].verdict'

Exit codes: 0 no problems on any node and nothing unknown, 3 otherwise (with --exit-zero 0), 2 usage, 4 a
recording or another input cannot be used (all others are reported; with --exit-zero 0 for recordings), 5 a
file could not be written, 130 interrupted.
"""

DirectoryOption = Annotated[
    str,
    typer.Option(
        "--html",
        metavar="DIR",
        help="Write index.html and a page for every node to this directory (created if missing).",
        rich_help_panel=OUTPUT,
    ),
]


class NodeReporter(KubeletFiles):
    """Reports on one node after the other, with the text of its page if one is requested."""

    def __init__(
        self,
        kubelet: "KubeletInputs",
        releases: "Mapping[str, str]",
        pods: "Mapping[str, Sequence[Pod]] | None",
        incoming: "tuple[GivenPods, PastPods] | None",
        *,
        paged: bool,
    ) -> None:
        self._kubelet, self._releases = kubelet, releases
        self._pods, self._coming, self._paged = pods or {}, incoming, paged

    def asks(self, name: str) -> str:
        """Identify the question: a page has its node's name, so that no two nodes share an answer."""
        there = content_digest(self._pods.get(name))
        return f"report {name} {self._asks_kubelet(name)} {there} {self._asks_coming} {self._paged}"

    @cached_property
    def _asks_coming(self) -> str:
        return content_digest(self._coming)

    def __call__(self, recording: "Recording") -> "dict[str, Any]":
        """Read a recording and report on it; raise CpuctlError if it cannot be used."""
        from cpuctl.answering.report_answer import ReportInputs, report_document
        from cpuctl.exports.report_words import verdict
        from cpuctl.fleet.listing import NodeLister
        from cpuctl.fleet.report_answer import node_findings

        name, source = recording.name, recording.source
        inputs = ReportInputs(
            name=name,
            planning=PlanningInputs(machine=source, kubelet=self._inputs_of(name)),
            incoming=self._coming,
            listed=tuple(self._pods[name]) if name in self._pods else None,
        )
        report = report_document(inputs, Sources(), lambda *_: None)
        row: dict[str, Any] = {
            "node": name,
            "source": source,
            "answerKey": None,
            "outcome": "Read",
            "verdict": verdict(report).text,
            "summary": report["summary"],
            "page": _page_name(name) if self._paged else None,
            "listed": NodeLister(self._kubelet, self._releases)(recording),
            "findings": list(node_findings(report)),
        }
        if self._paged:
            from cpuctl.cli.render.node_page import node_page
            from cpuctl.exports.page import as_bytes

            # The text stays here until the index is made: for a thousand nodes, that is a lot of text.
            row["text"] = zlib.compress(as_bytes(node_page(report, index=_INDEX)))
        return row


def _page_name(node: str) -> str:
    """Derive a unique page name from a node's name, with characters valid in every file system and URL."""
    from cpuctl.object_names import as_object_name

    plain = as_object_name(node)
    if plain == node and plain != "index":
        return f"{plain}.html"
    return f"{plain}-{sha256(node.encode(errors='surrogateescape')).hexdigest()[:8]}.html"


@app.command(name="report", help=HELP, cls=KubeletCommand)
def report(
    context: typer.Context,
    recordings: RecordingsArgument,
    filename: PodFilesOption = [],  # noqa: B006  # typer copies it
    template: TemplateOption = [],  # noqa: B006
    pods: FleetPodsOption = "",
    nodes: NodesOption = "",
    jobs: JobsOption = 0,
    html: DirectoryOption = "",
    force: ForceOption = False,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
    exit_zero: ExitZeroOption = False,
) -> None:
    """Read every node, write the pages and print the answer."""
    from cpuctl.exports.report_words import is_clean

    style = Style(output, color=not no_color, quiet=quiet)
    kubelet = fleet_inputs(context, *recordings, *filename, pods, nodes)
    directory = _directory(html, force=force) if html else None
    given = PlanningInputs(filenames=filename, templates=template, kubelet=kubelet)
    incoming = read_pods(given, Sources(), needed=True) if filename or template else None
    there = pods_of(pods)
    releases = releases_of(nodes)
    reporter = NodeReporter(kubelet, releases, there, incoming, paged=bool(html))
    answers = ask_fleet(FleetSelection(recordings, jobs), reporter, style)
    if not answers.stopped:
        note_unmatched_pods({row["node"] for row in answers.rows}, there, style)
    document = _document(answers)
    if command := _next(document, given, releases, pods=bool(pods)):
        document["next"] = command
    if directory is not None:
        _write(directory, answers.rows, document, force=force)
    emit(document, style)
    if style.for_people and not html:
        from cpuctl.operations.command_lines import fleet_command

        fixes = f"for fixes, run {fleet_command(('check',), recordings, kubelet, nodes, pods)}"
        note(f"note: {fixes}; write a page for every node with --html DIR", style)
    if answers.stopped:
        raise typer.Exit(answers.stopped)
    if exit_zero:
        return
    if answers.unreadable:
        raise typer.Exit(InputError.exit_code)
    if not all(is_clean(cast("ReportedNode", node)["summary"]) for node in document["nodes"]):
        raise typer.Exit(EXIT_NO)


def _next(
    document: "FleetReport", given: PlanningInputs, releases: "Mapping[str, str]", *, pods: bool
) -> str:
    """Write the command that plans the given pods on the first node that does not admit all of them.

    Its running *pods*, if known, are ``FILE`` in it: the given file has those of all nodes.
    """
    from cpuctl.exports.report_words import refusing_nodes
    from cpuctl.operations.command_lines import planning_command

    node = next(refusing_nodes(document), None)
    if node is None:
        return ""
    release = given.kubelet.version or releases.get(node["node"], "")
    kubelet = replace(given.kubelet, version=release)
    alone = replace(given, machine=node["source"], kubelet=kubelet, pods="FILE" if pods else "")
    return planning_command(alone, ("plan",))


def _directory(name: str, *, force: bool) -> Path:
    """Make the directory; raise UsageError if it contains files and replacing them was not requested."""
    directory = Path(name)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if not force and any(directory.iterdir()):
            raise UsageError(
                "is not empty", where=name, hint="use another directory, or --force to replace pages"
            )
    except OSError as error:
        raise unwritable(error, name) from None
    return directory


def _document(answers: "FleetAnswers") -> "FleetReport":
    from cpuctl.fleet.report_answer import fleet_report_document

    findings: list[tuple[str, NodeFinding]] = [
        (row["node"], each) for row in answers.rows for each in row.get("findings", ())
    ]
    nodes = [{name: row[name] for name in row if name not in ("findings", "text")} for row in answers.rows]
    return fleet_report_document(
        cast("Any", nodes), findings, passed_over=answers.passed_over, complete=not answers.stopped
    )


def _write(
    directory: Path, rows: "Sequence[Mapping[str, Any]]", document: "FleetReport", *, force: bool
) -> None:
    """Write the pages, and the index last: if it exists, so do all pages that it links to."""
    from cpuctl.cli.render.fleet_page import fleet_page
    from cpuctl.exports.page import as_bytes

    for row in rows:
        if row["outcome"] == "Read":
            _save(directory / row["page"], zlib.decompress(row["text"]), force=force)
    _save(directory / _INDEX, as_bytes(fleet_page(document)), force=force)
    remember_written(str(directory / _INDEX))


def _save(path: Path, content: bytes, *, force: bool) -> None:
    from cpuctl.capture.saving import save

    save(path, lambda file: file.write(content), replace=force, mode=0o666 & ~umask())
