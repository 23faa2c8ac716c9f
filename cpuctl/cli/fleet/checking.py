"""``cpuctl fleet check``: what is wrong on the nodes of a fleet."""

from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from cpuctl.cli.app import EXIT_NO, command_group
from cpuctl.cli.fleet.asking import FleetSelection, ask_fleet
from cpuctl.cli.fleet.options import (
    FleetOutputOption,
    JobsOption,
    RecordingsArgument,
    ResumeOption,
    SchedulerOption,
)
from cpuctl.cli.kubelet_options import KubeletCommand, kubelet_words
from cpuctl.cli.options import ExitZeroOption, NoColorOption, QuietOption
from cpuctl.cli.output import FleetOutput, Style, emit
from cpuctl.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpuctl.answers.fleet import CheckedNode, FleetCheckName
    from cpuctl.cli.fleet.asking import FleetAnswers

app = command_group()

HELP = """Check the nodes of a fleet, and tell each finding once, with the nodes that have it.

What is checked: config, as cpuctl config check does; state, the kubelet's state files, as cpuctl checkpoint
verify does; audit, as cpuctl audit does. Findings that differ only in names and numbers are told as one, with
... for these. What was not recorded of a node is named as not checked, never taken for clean.

Examples:

\b
  cpuctl fleet check recordings/
  cpuctl fleet check recordings/ --kubelet-version 1.37    # before an upgrade
  cpuctl fleet check recordings/ --check config --kubelet-config new.yaml
  cpuctl fleet check recordings/ -o json | jq '.findings[] | .code, .nodes'
  cpuctl fleet check recordings/ -q -o prom > fleet.prom.new

Exit codes: 0 all was checked, every kubelet would start and there are no errors, 3 otherwise (with --strict
also where there are warnings; with --exit-zero 0), 2 usage, 4 a recording or another input cannot be used
(all others are checked; with --exit-zero 0 where recordings are concerned), 130 interrupted.
"""

FleetChecksOption = Annotated[
    str,
    typer.Option("--check", metavar="config,state,audit", help="Make only these checks."),
]
StrictOption = Annotated[bool, typer.Option("--strict", help="Exit 3 also where there are warnings.")]


@app.command(name="check", help=HELP, cls=KubeletCommand)
def check(
    context: typer.Context,
    recordings: RecordingsArgument,
    checks: FleetChecksOption = "",
    strict: StrictOption = False,
    jobs: JobsOption = 0,
    resume: ResumeOption = "",
    scheduler: SchedulerOption = "",
    output: FleetOutputOption = FleetOutput.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
    exit_zero: ExitZeroOption = False,
) -> None:
    """Check every node, put equal findings together, answer."""
    from cpuctl.fleet.check_answer import is_clean
    from cpuctl.fleet.checking import NodeChecker, named_checks

    style, names = Style(output, color=not no_color, quiet=quiet), named_checks(checks)
    checker = NodeChecker(kubelet_words(context), names)
    clean = True

    def look(row: "Mapping[str, Any]") -> None:
        nonlocal clean
        clean = clean and row["outcome"] == "Read" and is_clean(cast("CheckedNode", row), strict=strict)

    asked = ask_fleet(FleetSelection(recordings, jobs, resume, scheduler), checker, style, look)
    # Metrics of half a fleet would be taken for those of all of it.
    if output is not FleetOutput.JSONL and not (output is FleetOutput.PROM and asked.stopped):
        _answer(asked, names, style)
    if asked.stopped:
        raise typer.Exit(asked.stopped)
    if exit_zero:
        return
    if asked.unreadable:
        raise typer.Exit(InputError.exit_code)
    if not clean:
        raise typer.Exit(EXIT_NO)


def _answer(asked: "FleetAnswers", names: "Sequence[FleetCheckName]", style: Style) -> None:
    from cpuctl.fleet.check_answer import check_metrics, fleet_check_document

    document = fleet_check_document(
        asked.rows, names, passed_over=asked.passed_over, complete=not asked.stopped
    )
    if style.output is FleetOutput.PROM:
        document["metrics"] = list(check_metrics(document))
    emit(document, style)
