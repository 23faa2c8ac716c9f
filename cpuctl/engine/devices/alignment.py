"""Whether a container's devices and exclusive CPUs lie at one NUMA node."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from cpuctl.cpuset import CPUSet

if TYPE_CHECKING:
    from cpuctl.engine.cpu.topology import CPUTopology
    from cpuctl.engine.devices.allocation import DeviceGrant


def devices_aligned(topology: CPUTopology, grants: Iterable[DeviceGrant], cpus: int) -> bool | None:
    """Tell whether one node is next to all devices and has all these CPUs (a mask, 0 for shared ones).

    None where no plugin names a node.
    """
    groups = [nodes for grant in grants for nodes in grant.by_nodes if nodes]
    if not groups:
        return None
    common = -1
    for nodes in groups:
        common &= nodes
    if cpus:
        common &= CPUSet.of(node for node, mask in topology.numa_nodes.items() if not cpus & ~mask).mask
    return common != 0
