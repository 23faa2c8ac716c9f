"""Whether a container's CPUs are aligned: yes or no first, then the evidence."""

from collections.abc import Iterable, Mapping
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.topology import CPUTopology, Masks
from cpuctl.engine.masks import NO_NODES, CPUMask, NodeMask
from cpuctl.records import Record

if TYPE_CHECKING:
    from cpuctl.engine.cpu.topology import CPUTopology
    from cpuctl.engine.placement import DeviceGrant


class Alignment(Record):
    """How CPUs are aligned; ``core``: every core is used whole; the others: all CPUs are in one such element.

    The mappings show the CPUs (masks) by element id, as the kubelet groups them. The fields about uncore
    caches are None if caches are not recorded.
    """

    core: bool
    uncore_cache: bool | None
    numa_node: bool
    socket: bool
    by_core: Mapping[int, int]
    by_uncore_cache: Mapping[int, int] | None
    by_numa_node: Mapping[int, int]
    by_socket: Mapping[int, int]


def alignment_of(topology: "CPUTopology", cpus: CPUMask) -> Alignment:
    """Return how a set of CPUs is aligned in its topology; the empty set is aligned."""
    caches, nodes, sockets = (
        _split(elements, cpus) for elements in (topology.uncore_caches, topology.numa_nodes, topology.sockets)
    )
    cores = topology.cores_of(cpus)
    return Alignment(
        core=reduce(or_, cores.values(), 0) == cpus,
        uncore_cache=len(caches) <= 1 if topology.caches_known else None,
        numa_node=len(nodes) <= 1,
        socket=len(sockets) <= 1,
        by_core=_split(cores, cpus),
        by_uncore_cache=caches if topology.caches_known else None,
        by_numa_node=nodes,
        by_socket=sockets,
    )


def _split(elements: Masks, cpus: int) -> dict[int, int]:
    return {element: cpus & mask for element, mask in elements.items() if cpus & mask}


def devices_aligned(topology: "CPUTopology", grants: Iterable["DeviceGrant"], cpus: CPUMask) -> bool | None:
    """Return whether one node is next to all devices and has all these CPUs (a mask, 0 for shared ones).

    None if no plugin names a node.
    """
    groups = [nodes for grant in grants for nodes in grant.by_nodes if nodes]
    if not groups:
        return None
    common = ~NO_NODES
    for nodes in groups:
        common &= nodes
    if cpus:
        holding = (node for node, mask in topology.numa_nodes.items() if not cpus & ~mask)
        common &= NodeMask(CPUSet.of(holding).mask)
    return common != 0
