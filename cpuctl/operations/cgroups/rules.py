"""The rules by which a node's kubelet writes the values of control groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpuctl.audit.group_values import Room, Rules

if TYPE_CHECKING:
    from cpuctl.inputs.live_node import LiveNode
    from cpuctl.inputs.sources import Sources


def group_rules(node: LiveNode, runtime: str, sources: Sources) -> Rules:
    """Work out by what rules this kubelet writes the values of groups."""
    from cpuctl.engine.pod_rules import cgroup_settings, node_rules
    from cpuctl.inputs.component_gates import kubelet_gates
    from cpuctl.operations.pod_view import allocatable_of_node, page_sizes, runtime_formula

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


def _room(node: LiveNode, sources: Sources) -> Room | None:
    """Work out what all pods may take; None where nobody tells what the kubelet keeps from them."""
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
