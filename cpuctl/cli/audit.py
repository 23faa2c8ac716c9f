"""``cpuctl audit``: whether the node is in the state that its kubelet assumes."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from cpuctl.cli.app import EXIT_NO, command_group
from cpuctl.cli.check_option import CheckOption, chosen_checks
from cpuctl.cli.kubelet_options import KubeletCommand, kubelet_inputs
from cpuctl.cli.notes import observe, print_doubts, print_sources
from cpuctl.cli.options import (
    ExitZeroOption,
    NoColorOption,
    NodeMachineOption,
    NodeStateOption,
    PodResourcesOption,
    QuietOption,
    RootOption,
    RunningPodsOption,
)
from cpuctl.cli.output import Style, emit, note
from cpuctl.cli.panels import OUTPUT
from cpuctl.cli.subjects import Subject, about
from cpuctl.inputs.sources import Sources

if TYPE_CHECKING:
    from cpuctl.answers.audit import Audit
    from cpuctl.answers.cgroups import CgroupsPlan
    from cpuctl.answers.values import Metrics
    from cpuctl.audit.snapshot import NodeSnapshot
    from cpuctl.inputs.live_node import LiveNode

app = command_group()

HELP = """Find wrong CPU sets and noisy neighbours on a node, with fixes.

Compares the node with its kubelet's state, container by container and CPU by CPU: expected (exclusive CPUs or
the shared pool), configured in the cgroup, in effect, and where threads may actually run. Then looks for
anything that disturbs exclusive CPUs: other programs, interrupts, siblings, quotas, memory on other NUMA
nodes; and for stale entries.

Findings come with a fix if there is one. Errors break the kubelet's guarantees, warnings are possible
disturbances, notes are informational. Container names come from --pods, otherwise from the kubelet's log
links, or from crictl's output in a sosreport; -o plan leaves out containers whose name is unknown. Nothing is
changed on the node.

Next: run the commands after "fix:" as root, or show how to correct all CPU sets together (--yes writes them):

\b
  sudo cpuctl audit -o plan --exit-zero | sudo cpuctl cgroups apply -f -

Examples:

\b
  sudo cpuctl audit
  kubectl get pods -A -o json | sudo cpuctl audit --pods -
  sudo cpuctl audit --pod-resources=live     # also ask the kubelet
  sudo cpuctl audit --check cpusets,threads -o plan > plan.json
  cpuctl audit -m node7.tar.gz -o json
  sudo cpuctl audit -q -o prom --exit-zero
  cpuctl audit --root /host       # in a debugging pod

Exit codes: 0 everything was checked, without errors or warnings, 3 errors or warnings, or something could not
be checked (with --exit-zero 0), 2 usage, 4 unusable input.
"""


class AuditOutput(StrEnum):
    """The forms of an audit: plan is the input of ``cpuctl cgroups apply``, prom is metrics."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    JSONL = "jsonl"
    PLAN = "plan"
    PROM = "prom"


AuditOutputOption = Annotated[
    AuditOutput,
    typer.Option(
        "-o",
        "--output",
        help="Output format; jsonl is one finding per line, plan is the changes for cpuctl cgroups apply, "
        "prom is metrics for node_exporter.",
        rich_help_panel=OUTPUT,
    ),
]


@app.command(name="audit", help=HELP, cls=about(Subject.MACHINE, KubeletCommand))
def audit(
    context: typer.Context,
    machine: NodeMachineOption = "live",
    root: RootOption = "",
    state: NodeStateOption = "",
    pods: RunningPodsOption = "",
    pod_resources: PodResourcesOption = "",
    check: CheckOption = "",
    output: AuditOutputOption = AuditOutput.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
    exit_zero: ExitZeroOption = False,
) -> None:
    """Read the node, compare and print the answer."""
    from cpuctl.answering.node_checks import audit_node
    from cpuctl.inputs.live_node import NodeInputs, load_node

    kubelet = kubelet_inputs(context)
    checks = chosen_checks(check)
    form = AuditOutput.JSON if output is AuditOutput.PLAN else output
    style, sources = Style(form, color=not no_color, quiet=quiet), Sources()
    inputs = NodeInputs(
        machine=machine, root=root, kubelet=kubelet, state=state, pods=pods, pod_resources=pod_resources
    )
    # A plan is carried out later, so it must record what the kubelet enforces.
    loaded = load_node(inputs, sources, goes_without=output is not AuditOutput.PLAN)
    node, snapshot, _ = observe(loaded, style)
    audited = audit_node(inputs, node, snapshot, checks, sources)
    print_sources(sources, style)
    print_doubts(node, style)
    if output is AuditOutput.PLAN:
        _report_left_out(snapshot, style)
        emit(_plan(node, snapshot, sources), style)
    else:
        emit(_metrics(audited) if output is AuditOutput.PROM else audited, style)
    bad = audited["summary"]["error"] or audited["summary"]["warning"] or audited["unchecked"]
    if not exit_zero and bad:
        raise typer.Exit(EXIT_NO)


def _metrics(audited: "Audit") -> "Metrics":
    from cpuctl.answering.metrics import audit_metrics

    return {"metrics": list(audit_metrics(audited))}


def _plan(node: "LiveNode", snapshot: "NodeSnapshot", sources: Sources) -> "CgroupsPlan":
    """Describe the writes that lead to the expected state."""
    from cpuctl.answering.cgroups_answer import plan_document

    return plan_document(snapshot, node.state_files, sources.entries)


def _report_left_out(snapshot: "NodeSnapshot", style: Style) -> None:
    """Report the wrong CPU sets that the plan does not correct."""
    from cpuctl.audit.plan import left_out
    from cpuctl.phrases import counted, few

    if missing := left_out(snapshot):
        what = f"{counted(len(missing), 'wrong CPU set')} {'is' if len(missing) == 1 else 'are'}"
        shown = few([str(observed.owner) for observed in missing])
        why = "the container's name is unknown" + ("" if snapshot.pods_known else " (use --pods FILE)")
        note(f"warning: {what} not in the plan, because {why}: {shown}", style)
