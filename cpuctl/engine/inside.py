"""What a node's kubelet tells containers of resources: its allocatable, and the CPUs that they have."""

from __future__ import annotations

from collections.abc import Mapping

from cpuctl.cpuset import CPUSet
from cpuctl.engine.node import Node
from cpuctl.pods.downward_api import DownwardContext
from cpuctl.quantity import Quantity


def inside_of(node: Node, held: Mapping[str, int]) -> DownwardContext:
    """Return who tells on *node*; *held* are containers' exclusive CPUs (masks), 0 for those that share."""
    known = node.allocatable
    return DownwardContext(
        minor=node.pod_rules.minor,
        allocatable=None
        if known is None
        else {
            name: Quantity.from_milli(amount) if name == "cpu" else Quantity.from_value(amount)
            for name, amount in known.amounts.items()
        },
        assigned={name: str(CPUSet(cpus)) for name, cpus in held.items()},
    )
