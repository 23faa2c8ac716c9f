"""``cpuctl cgroups show``: the kubelet's control groups, and what they should say."""

import typer

from cpuctl.cli.app import EXIT_NO, command_group
from cpuctl.cli.kubelet_options import KubeletCommand, kubelet_inputs
from cpuctl.cli.notes import observe, print_doubts, print_sources
from cpuctl.cli.options import (
    ExitCodeOption,
    NoColorOption,
    NodeMachineOption,
    NodeStateOption,
    PodsOutputOption,
    QuietOption,
    RootOption,
    RunningPodsOption,
    RuntimeOption,
)
from cpuctl.cli.output import ListOutput, Style, emit
from cpuctl.cli.subjects import Subject, about
from cpuctl.inputs.sources import Sources

app = command_group()

HELP = """Show the tree of kubepods, expected beside actual values.

CPUs, memory nodes, weights and quotas. Expected CPUs come from the kubelet's state; other values from the
pods' resources (--pods; see cpuctl pods show) and, for kubepods and QoS classes, from what the kubelet
reserves. Differences are listed below the tree; -o wide also lists memory and huge pages. Without --pods,
pods are shown by UID, and containers by id or by the name in the kubelet's log links.

Examples:

\b
  cpuctl cgroups show
  cpuctl cgroups show --pods running.json --oci-runtime runc-1.2.6
  cpuctl cgroups show -m node7.tar.gz -o wide
  cpuctl cgroups show --root /host --exit-code       # in a debugging pod

Exit codes: 0 shown, 3 with --exit-code where something differs or no group is there, 2 usage, 4 unusable
input.
"""


@app.command(name="show", help=HELP, cls=about(Subject.MACHINE, KubeletCommand))
def show(
    context: typer.Context,
    machine: NodeMachineOption = "live",
    root: RootOption = "",
    state: NodeStateOption = "",
    pods: RunningPodsOption = "",
    oci_runtime: RuntimeOption = "",
    exit_code: ExitCodeOption = False,
    output: PodsOutputOption = ListOutput.TABLE,
    no_color: NoColorOption = False,
    quiet: QuietOption = False,
) -> None:
    """Read the node's groups, and show them."""
    from cpuctl.answering.cgroups_answer import show_document
    from cpuctl.inputs.live_node import NodeInputs, load_node
    from cpuctl.operations.cgroups.rules import group_rules

    style, sources = Style(output, color=not no_color, quiet=quiet), Sources()
    inputs = NodeInputs(machine=machine, root=root, kubelet=kubelet_inputs(context), state=state, pods=pods)
    node = load_node(inputs, sources)
    rules = group_rules(node, oci_runtime, sources)
    node, picture, _ = observe(node, style)
    document = show_document(picture, rules, sources.entries, node.files.unreadable)
    print_sources(sources, style)
    print_doubts(node, style)
    emit(document, style)
    summary = document["summary"]
    if exit_code and (summary["differing"] or not summary["groups"]):
        raise typer.Exit(EXIT_NO)
