"""``cpuctl fleet check``: what is wrong on the nodes of a fleet."""

from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

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
from cpuctl.cli.fleet.options import (
    FleetOutput,
    FleetOutputOption,
    FleetPodsOption,
    JobsOption,
    NodesOption,
    RecordingsArgument,
    ResumeOption,
    SchedulerOption,
    TopologiesOption,
)
from cpuctl.cli.kubelet_options import KubeletCommand
from cpuctl.cli.notes import print_sources
from cpuctl.cli.options import ExitZeroOption, NoColorOption, QuietOption, StrictOption
from cpuctl.cli.output import Style, emit, note
from cpuctl.errors import InputError, UsageError
from cpuctl.inputs.sources import Sources
from cpuctl.phrases import few

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpuctl.answers.fleet import CheckedNode, FleetCheckName
    from cpuctl.cli.fleet.common import FleetAnswers
    from cpuctl.fleet.topology_check import PublishedNodes
    from cpuctl.pods.model import Pod

app = command_group()

HELP = """Check the nodes of a fleet, and show each finding once.

Checks config (as cpuctl config check), state (the kubelet's state files, as cpuctl checkpoint verify) and
audit (as cpuctl audit). Findings that differ only in names and numbers are shown once, with ... in place of
these, an example, and the fix for one node if it differs as well. What a recording does not contain is listed
as not checked. --pods names the owners of CPUs and memory for state and audit, and shows which pods no longer
exist.

With --nrt, also checks nrt: whether the NodeResourceTopology of each node, which the scheduler's plugin uses,
is correct. Policies, zones and quantities are compared with what an exporter would publish for the recording,
and the fingerprint with the running pods (--pods).

Examples:

\b
  cpuctl fleet check recordings/
  cpuctl fleet check recordings/ --kubelet-version 1.37    # before an upgrade
  kubectl get nodes -o json > nodes.json
  kubectl get pods -A -o json > pods.json
  cpuctl fleet check recordings/ --nodes nodes.json --pods pods.json
  cpuctl fleet check recordings/ --check config --kubelet-config new.yaml
  kubectl get noderesourcetopologies -o json > nrt.json
  cpuctl fleet check recordings/ --check nrt --nrt nrt.json
  cpuctl fleet check recordings/ -o json | jq '.findings[] | .code, .nodes'
  cpuctl fleet check recordings/ -q -o prom > fleet.prom.new

Exit codes: 0 everything was checked, every kubelet would start and there are no errors, 3 otherwise (with
--strict also for warnings; with --exit-zero 0), 2 usage, 4 a recording or another input cannot be used (all
others are checked; with --exit-zero 0 for recordings), 130 interrupted.
"""

FleetChecksOption = Annotated[
    str,
    typer.Option("--check", metavar="CHECK,...", help="Run only these checks: config, state, audit, nrt."),
]


@app.command(name="check", help=HELP, cls=KubeletCommand)
def check(
    context: typer.Context,
    recordings: RecordingsArgument,
    checks: FleetChecksOption = "",
    nrt: TopologiesOption = "",
    pods: FleetPodsOption = "",
    nodes: NodesOption = "",
    strict: StrictOption = False,
    jobs: JobsOption = 0,
    resume: ResumeOption = "",
    scheduler: SchedulerOption = "",
    output: FleetOutputOption = FleetOutput.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
    exit_zero: ExitZeroOption = False,
) -> None:
    """Check every node, merge equal findings and print the answer."""
    from cpuctl.fleet.checking import NodeChecker, is_clean, named_checks
    from cpuctl.operations.command_lines import PUBLISHES, fleet_command

    kubelet = fleet_inputs(context, *recordings, nrt, pods, nodes)
    style, names = Style(output, color=not no_color, quiet=quiet), named_checks(checks, published=bool(nrt))
    _refuse_unread(names, nrt=nrt, pods=pods)
    published = _published(nrt, pods, style) if nrt else None
    there = pods_of(pods)
    checker = NodeChecker(kubelet, names, published, releases_of(nodes), there)
    clean, names_checked = True, set[str]()

    def look(row: "Mapping[str, Any]") -> None:
        nonlocal clean
        names_checked.add(row["node"])
        clean = clean and row["outcome"] == "Read" and is_clean(cast("CheckedNode", row), strict=strict)

    answers = ask_fleet(FleetSelection(recordings, jobs, resume, scheduler), checker, style, look)
    note_unresumed(resume, style, answers)
    note_assumed(answers.rows, style, ["kubeletVersion"])  # everything else is reported as not checked
    if not answers.stopped:
        _note_unknown(names_checked, published, there, style)
    # Metrics of half a fleet would be mistaken for those of the whole fleet.
    if output is not FleetOutput.JSONL and not (output is FleetOutput.PROM and answers.stopped):
        _answer(answers, names, style, fleet_command(PUBLISHES, recordings, kubelet, nodes))
    if answers.stopped:
        raise typer.Exit(answers.stopped)
    if exit_zero:
        return
    if answers.unreadable:
        raise typer.Exit(InputError.exit_code)
    if not clean:
        raise typer.Exit(EXIT_NO)


def _refuse_unread(checks: "Sequence[FleetCheckName]", *, nrt: str, pods: str) -> None:
    """Raise UsageError for files that none of the checks reads."""
    if nrt and "nrt" not in checks:
        raise UsageError("requires --check nrt", where="--nrt", hint="add it to --check")
    if pods and not {"nrt", "state", "audit"}.intersection(checks):
        message = "requires one of the checks state, audit, nrt"
        raise UsageError(message, where="--pods", hint="add one of these to --check, or omit it")


def _note_unknown(
    names: "set[str]",
    published: "PublishedNodes | None",
    pods: "Mapping[str, Sequence[Pod]] | None",
    style: Style,
) -> None:
    """Report inputs for nodes that are not in the fleet."""
    if unknown := sorted(set(published.topologies if published else ()) - names):
        note(f"note: ignored NodeResourceTopologies without a recording: {few(unknown)}", style)
    note_unmatched_pods(names, pods, style)


def _published(nrt: str, pods: str, style: Style) -> "PublishedNodes":
    from cpuctl.fleet.plan_inputs import load_published

    sources = Sources()
    published = load_published(nrt, pods, sources)
    print_sources(sources, style)
    return published


def _answer(answers: "FleetAnswers", names: "Sequence[FleetCheckName]", style: Style, published: str) -> None:
    """Print the answer; *published* is the command that shows what exporters would publish."""
    from cpuctl.fleet.checking import check_metrics, fleet_check_document

    document = fleet_check_document(
        answers.rows, names, passed_over=answers.passed_over, complete=not answers.stopped
    )
    if any(finding["check"] == "nrt" for finding in document["findings"]):
        document["next"] = published
    if style.output is FleetOutput.PROM:
        document["metrics"] = list(check_metrics(document))
    emit(document, style)
