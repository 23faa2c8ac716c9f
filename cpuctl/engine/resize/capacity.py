"""What a kubelet compares a resize with before it looks at other pods: the whole node.

Rule: up to 1.33 ``status.allocatable`` of the node, in 1.34 and 1.35 ``GetNodeAllocatableAbsolute``, which
leaves eviction thresholds out of account; from 1.36 on it does not compare at all.
"""

from __future__ import annotations

from collections.abc import Mapping

from cpuctl.engine.node_fit import Allocatable
from cpuctl.engine.node_resources import node_capacity, node_reservations
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.releases.behaviours import Behaviours
from cpuctl.machine.cadvisor.machine_info import MachineInfo
from cpuctl.quantity import Quantity

_NOTHING = Quantity()


def whole_node(
    info: MachineInfo, config: KubeletConfiguration, allocatable: Allocatable, release: Behaviours
) -> Mapping[str, int]:
    """Return what the node has for pods, CPU in milli, as a kubelet that has come up counts it."""
    if not release.compares_resizes_with_absolute_allocatable:
        return allocatable.amounts
    kept, capacity = node_reservations(info, config), node_capacity(info)
    left = {
        name: capacity[name] - kept.kube.get(name, _NOTHING) - kept.system.get(name, _NOTHING)
        for name in ("cpu", "memory")
        if capacity[name].sign
    }
    return {name: amount.milli_value if name == "cpu" else amount.value for name, amount in left.items()}
