"""``cpuctl cgroups show``: the kubelet's control groups, and what they should say."""

from typing import TYPE_CHECKING

import typer

from cpuctl.cli.app import EXIT_NO, command_group
from cpuctl.cli.kubelet_options import KubeletCommand, kubelet_words
from cpuctl.cli.node_options import NodeMachineOption, NodeStateOption, RootOption
from cpuctl.cli.options import (
    NoColorOption,
    QuietOption,
    RunningPodsOption,
)
from cpuctl.cli.output import Document, ListOutput, Style, emit
from cpuctl.cli.pods.options import ExitCodeOption, PodsOutputOption, RuntimeOption
from cpuctl.inputs.sources import Sources

if TYPE_CHECKING:
    from cpuctl.audit.group_rules import Room, Rules
    from cpuctl.inputs.live_node import LiveNode

app = command_group()

HELP = """Show the tree of kubepods: CPUs, memory nodes, weights and quotas, expected beside actual.

CPUs are expected as the kubelet's state gives them, the other values as they follow from the pods' resources
(--pods; cpuctl pods show explains them), for kubepods and QoS classes from what the kubelet reserves. What
differs is marked; -o wide lists memory and huge pages, too. Without --pods, pods are known by their UID and
containers by their id, or by the kubelet's links to their logs.

Examples:

\b
  cpuctl cgroups show
  cpuctl cgroups show --pods running.json --oci-runtime runc-1.2.6
  cpuctl cgroups show -m node7.tar.gz -o wide
  cpuctl cgroups show --root /host --exit-code       # in a debugging pod

Exit codes: 0 shown, 3 with --exit-code where something differs, 2 usage, 4 unusable input.
"""


@app.command(name="show", help=HELP, cls=KubeletCommand)
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
    from cpuctl.inputs.live_node import PictureWords, load_node, tell_unreadable
    from cpuctl.inputs.settled_picture import tell_recent_change

    style, sources = Style(output, color=not no_color, quiet=quiet), Sources()
    words = PictureWords(machine=machine, root=root, kubelet=kubelet_words(context), state=state, pods=pods)
    node = load_node(words, sources)
    document = _shown(node, _rules(node, oci_runtime, sources), sources, style)
    sources.tell(style)
    tell_unreadable(node, style)
    tell_recent_change(node, style)
    emit(document, style)
    if exit_code and document["summary"]["differing"]:
        raise typer.Exit(EXIT_NO)


def _shown(node: "LiveNode", rules: "Rules", sources: Sources, style: Style) -> Document:
    from cpuctl.cli.answers.cgroups.show_answer import show_document
    from cpuctl.inputs.settled_picture import settled_picture

    node, picture = settled_picture(node, style)
    return show_document(picture, rules, {"sources": sources.entries}, node.files.unreadable)


def _rules(node: "LiveNode", runtime: str, sources: Sources) -> "Rules":
    """Work out by what rules this kubelet writes the values of groups."""
    from cpuctl.audit.group_rules import Rules
    from cpuctl.engine.pod_rules import cgroup_settings, node_rules
    from cpuctl.inputs.component_gates import kubelet_gates
    from cpuctl.operations.pods.view import allocatable_of_node, page_sizes, runtime_formula

    gates = kubelet_gates(node.kubelet, sources)
    allocatable = allocatable_of_node(node.source, node.kubelet.config, sources)
    memory = allocatable.get("memory") if allocatable else None
    return Rules(
        node=node_rules(gates),
        settings=cgroup_settings(
            node.kubelet.config,
            gates,
            allocatable_memory=memory.value if memory else None,
            page_sizes=page_sizes(node.source),
        ),
        formula=runtime_formula(runtime, sources),
        room=_room(node, sources),
        qos_reserved=gates.enabled("QOSReserved") and bool(node.kubelet.config.qos_reserved),
    )


def _room(node: "LiveNode", sources: Sources) -> "Room | None":
    """Work out what all pods may take; None where nobody tells what the kubelet keeps from them."""
    from cpuctl.audit.group_rules import Room
    from cpuctl.engine.node_resources import node_capacity, node_reservations
    from cpuctl.engine.reservation_summary import left_for_pods
    from cpuctl.golang.text import GoError

    if sources.entries["kubeletConfiguration"]["from"] == "default":
        return None
    config, capacity = node.kubelet.config, node_capacity(node.source.info)
    try:
        kept = node_reservations(node.source.info, config)
    except GoError:
        return None
    cpus, memory = (left_for_pods(config, kept, name, capacity[name]) for name in ("cpu", "memory"))
    known = node.source.machine.memory_bytes is not None
    return Room(milli_cpu=cpus.milli_value, memory=memory.value if known else None)
