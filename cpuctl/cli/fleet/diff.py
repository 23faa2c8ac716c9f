"""``cpuctl fleet diff``: what changed on the nodes of a fleet."""

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from cpuctl import option_names
from cpuctl.cli.app import EXIT_NO, command_group
from cpuctl.cli.fleet.common import (
    FleetSelection,
    ask_fleet,
    fleet_inputs,
    note_assumed,
    note_unmatched_pods,
    note_unresumed,
    pods_of,
    releases_of,
)
from cpuctl.cli.fleet.options import JobsOption, SchedulerOption
from cpuctl.cli.kubelet_options import KubeletCommand
from cpuctl.cli.options import ExitCodeOption, ExitZeroOption, NoColorOption, QuietOption
from cpuctl.cli.output import ListOutput, Style, emit
from cpuctl.cli.panels import INPUT, OUTPUT
from cpuctl.errors import InputError, UsageError
from cpuctl.records import replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpuctl.answers.fleet import FleetCheckName
    from cpuctl.cli.fleet.common import FleetAnswers
    from cpuctl.fleet.asking import Question
    from cpuctl.inputs.configuration import KubeletInputs

app = command_group()

HELP = """Compare two collections of recordings: before and after.

For example, before and after an upgrade. Nodes are matched by name. Shows which nodes are gone or new, and
what changed on the others: the machine, the kubelet's version and settings, whether it would start, and how
many CPUs are free for exclusive use. The same change on many nodes is shown once.

Examples:

\b
  cpuctl fleet diff before/ after/
  cpuctl fleet diff before/ after/ --check config,state    # and findings
  cpuctl fleet diff before/ after/ --nodes-before old.json --nodes new.json
  cpuctl fleet diff 'monday/*.tar.xz' @tuesday.txt -o json
  cpuctl fleet diff before/ after/ --exit-code -q > changes.txt

Exit codes: 0 both were compared, 3 anything differs (with --exit-code), 2 usage, 4 a recording or another
input cannot be used (all others are compared; with --exit-zero 0 for recordings), 130 interrupted.
"""

BeforeArgument = Annotated[
    str,
    typer.Argument(
        metavar="BEFORE",
        help="Recordings before the change: a directory, a pattern, @FILE for a list, or - (list on stdin).",
        show_default=False,
    ),
]
AfterArgument = Annotated[
    str,
    typer.Argument(
        metavar="AFTER", help="Recordings after the change, in the same form.", show_default=False
    ),
]
ComparedChecksOption = Annotated[
    str,
    typer.Option(
        "--check",
        metavar="CHECK,...",
        help="Also compare what these checks find: config, state, audit.",
    ),
]
DiffOutputOption = Annotated[
    ListOutput,
    typer.Option("-o", "--output", help="Output format; jsonl is one node per line.", rich_help_panel=OUTPUT),
]


NodesAfterOption = Annotated[
    str,
    typer.Option(
        option_names.NODES,
        metavar="FILE",
        help="Nodes (kubectl get nodes -o json), for kubelet versions that recordings do not have. Without "
        "--nodes-before, also for BEFORE.",
        rich_help_panel=INPUT,
    ),
]
NodesBeforeOption = Annotated[
    str,
    typer.Option("--nodes-before", metavar="FILE", help="The Nodes of BEFORE.", rich_help_panel=INPUT),
]
PodsAfterOption = Annotated[
    str,
    typer.Option(
        option_names.PODS,
        metavar="FILE",
        help="The pods running on the nodes of AFTER (kubectl get pods -A -o json), for --check state and "
        "audit.",
        rich_help_panel=INPUT,
    ),
]
PodsBeforeOption = Annotated[
    str,
    typer.Option(
        "--pods-before",
        metavar="FILE",
        help="The pods that ran on the nodes of BEFORE.",
        rich_help_panel=INPUT,
    ),
]
ListedResumeOption = Annotated[
    str,
    typer.Option(
        "--resume",
        metavar="FILE",
        help="Reuse the answers in FILE, written by fleet list -o jsonl (with --check, fleet check), "
        "and process only the rest.",
        rich_help_panel=INPUT,
    ),
]


class _Side(NamedTuple):
    """One of the two collections, with what is known of its nodes in addition to recordings."""

    selection: FleetSelection
    nodes: str
    pods: str


@app.command(name="diff", help=HELP, cls=KubeletCommand)
def diff(
    context: typer.Context,
    before: BeforeArgument,
    after: AfterArgument,
    checks: ComparedChecksOption = "",
    nodes: NodesAfterOption = "",
    nodes_before: NodesBeforeOption = "",
    pods: PodsAfterOption = "",
    pods_before: PodsBeforeOption = "",
    jobs: JobsOption = 0,
    resume: ListedResumeOption = "",
    scheduler: SchedulerOption = "",
    exit_code: ExitCodeOption = False,
    output: DiffOutputOption = ListOutput.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
    exit_zero: ExitZeroOption = False,
) -> None:
    """Read both collections, compare them and print the answer."""
    from cpuctl.fleet.collection import refuse_missing
    from cpuctl.fleet.diff import fleet_diff_document

    names = _named_checks(checks, pods=pods or pods_before)
    kubelet = fleet_inputs(context, before, after, nodes, nodes_before, pods, pods_before)
    for name in (before, after):
        refuse_missing(name)
    style = Style(output, color=not no_color, quiet=quiet)
    sides = [
        _Side(FleetSelection([name], jobs, resume, scheduler), *objects)
        for name, *objects in ((before, nodes_before or nodes, pods_before), (after, nodes, pods))
    ]
    listed, checked = _requested(sides, kubelet, names, style)
    document = fleet_diff_document(*listed, checked)
    emit(document, style)
    summary = document["summary"]
    if any(row["outcome"] == "Unreadable" for rows in listed for row in rows) and not exit_zero:
        raise typer.Exit(InputError.exit_code)
    if exit_code and (summary["gone"] or summary["new"] or summary["changed"]):
        raise typer.Exit(EXIT_NO)


def _named_checks(checks: str, *, pods: str) -> "Sequence[FleetCheckName]":
    """Return the checks to run; raise UsageError for pods that none of them reads."""
    from cpuctl.fleet.checking import named_checks

    names = named_checks(checks) if checks else ()
    if pods and not {"state", "audit"}.intersection(names):
        hint = "add --check state,audit"
        raise UsageError("requires --check state or audit", where=option_names.PODS, hint=hint)
    return names


_Rows = tuple[list[Any], list[Any]]


def _requested(
    sides: "Sequence[_Side]", kubelet: "KubeletInputs", checks: "Sequence[FleetCheckName]", style: Style
) -> tuple[_Rows, _Rows]:
    """List the nodes of both sides and, if checks are named, check them; return before and after of each."""
    from cpuctl.fleet.checking import NodeChecker
    from cpuctl.fleet.listing import NodeLister

    # All files before any node, so that errors in them are reported first.
    known = [(releases_of(side.nodes), pods_of(side.pods)) for side in sides]
    lists, found = [], []
    for side, (releases, pods) in zip(sides, known, strict=True):
        lists.append(_answers(side, NodeLister(kubelet, releases), style))
        note_unmatched_pods({row["node"] for row in lists[-1].rows}, pods, style)
        if checks:
            checker = NodeChecker(kubelet, checks, releases=releases, pods=pods)
            found.append(_answers(side, checker, replace(style, quiet=True)))
    note_unresumed(sides[0].selection.resume, style, *lists, *found)
    note_assumed((row for each in lists for row in each.rows), style)
    rows = [each.rows for each in (*lists, *found)] + [[], []]
    return (rows[0], rows[1]), (rows[2], rows[3])


def _answers(side: _Side, question: "Question", style: Style) -> "FleetAnswers":
    """Read one side; an interrupt discards everything, because half of a fleet cannot be compared."""
    answers = ask_fleet(side.selection, question, replace(style, output=ListOutput.JSON))
    if answers.stopped:
        raise typer.Exit(answers.stopped)
    return answers
