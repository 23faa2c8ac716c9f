"""``cpuctl fleet diff``: what changed on the nodes of a fleet."""

from typing import TYPE_CHECKING, Annotated

import typer

from cpuctl.cli.app import EXIT_NO, command_group
from cpuctl.cli.fleet.asking import FleetSelection, ask_fleet, fleet_inputs
from cpuctl.cli.fleet.options import JobsOption, ResumeOption, SchedulerOption
from cpuctl.cli.kubelet_options import KubeletCommand
from cpuctl.cli.options import ExitZeroOption, NoColorOption, QuietOption
from cpuctl.cli.output import ListOutput, Style, emit
from cpuctl.cli.panels import OUTPUT
from cpuctl.errors import InputError

if TYPE_CHECKING:
    from typing import Any

    from cpuctl.fleet.asking import Question

app = command_group()

HELP = """Compare two collections of recordings: before and after.

For example of an upgrade. Nodes go by their names. It is told which are gone and which are new, and what
changed on the others: facts of the machine, the kubelet's release and settings, whether it would start, and
how many CPUs are free for exclusive use. Equal changes of many nodes are told once.

Examples:

\b
  cpuctl fleet diff before/ after/
  cpuctl fleet diff before/ after/ --check config,state    # findings, too
  cpuctl fleet diff 'monday/*.tar.xz' @tuesday.txt -o json
  cpuctl fleet diff before/ after/ --exit-code -q > changes.txt

Exit codes: 0 both were compared, 3 with --exit-code where something differs, 2 usage, 4 a recording or
another input cannot be used (all others are compared; with --exit-zero 0 where recordings are concerned),
130 interrupted.
"""

BeforeArgument = Annotated[
    str,
    typer.Argument(
        metavar="BEFORE",
        help="Recordings as they were: a directory, a pattern, @FILE for a list, or - for a list on stdin.",
        show_default=False,
    ),
]
AfterArgument = Annotated[
    str, typer.Argument(metavar="AFTER", help="Recordings as they are, named alike.", show_default=False)
]
ComparedChecksOption = Annotated[
    str,
    typer.Option(
        "--check",
        metavar="config,state,audit",
        help="Tell what these checks find no more, and what they find anew.",
    ),
]
DifferenceOption = Annotated[bool, typer.Option("--exit-code", help="Exit 3 where something differs.")]
DiffOutputOption = Annotated[
    ListOutput,
    typer.Option("-o", "--output", help="Output format; jsonl is one node a line.", rich_help_panel=OUTPUT),
]


@app.command(name="diff", help=HELP, cls=KubeletCommand)
def diff(
    context: typer.Context,
    before: BeforeArgument,
    after: AfterArgument,
    checks: ComparedChecksOption = "",
    jobs: JobsOption = 0,
    resume: ResumeOption = "",
    scheduler: SchedulerOption = "",
    exit_code: DifferenceOption = False,
    output: DiffOutputOption = ListOutput.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
    exit_zero: ExitZeroOption = False,
) -> None:
    """Ask both collections, compare, answer."""
    from cpuctl.fleet.checking import NodeChecker, named_checks
    from cpuctl.fleet.diff import fleet_diff_document
    from cpuctl.fleet.listing import NodeLister

    kubelet = fleet_inputs(context, before, after)
    style = Style(output, color=not no_color, quiet=quiet)
    collections = [FleetSelection([name], jobs, resume, scheduler) for name in (before, after)]
    listed = _asked(collections, NodeLister(kubelet), style)
    checked: tuple[list[Any], list[Any]] = ([], [])
    if checks:
        checked = _asked(collections, NodeChecker(kubelet, named_checks(checks)), style)
    document = fleet_diff_document(*listed, checked)
    emit(document, style)
    summary = document["summary"]
    if any(row["outcome"] == "Unreadable" for rows in listed for row in rows) and not exit_zero:
        raise typer.Exit(InputError.exit_code)
    if exit_code and (summary["gone"] or summary["new"] or summary["changed"]):
        raise typer.Exit(EXIT_NO)


def _asked(
    collections: "list[FleetSelection]", question: "Question", style: Style
) -> "tuple[list[Any], list[Any]]":
    """Ask both; an interrupt leaves nothing, as half of a fleet compared is none."""
    found = []
    for each in collections:
        asked = ask_fleet(each, question, style._replace(output=ListOutput.JSON))
        if asked.stopped:
            raise typer.Exit(asked.stopped)
        found.append(asked.rows)
    before, after = found
    return before, after
