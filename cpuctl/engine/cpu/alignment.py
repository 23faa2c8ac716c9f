"""Whether a container's CPUs keep together: yes or no first, the evidence after."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import NamedTuple

from cpuctl.engine.cpu.topology import CPUTopology, Masks


class Alignment(NamedTuple):
    """``core``: every core is used whole; the others: all CPUs lie in one such element.

    The mappings show the CPUs (masks) by element id, as the kubelet groups them.
    """

    core: bool
    uncore_cache: bool
    numa_node: bool
    socket: bool
    by_core: Mapping[int, int]
    by_uncore_cache: Mapping[int, int]
    by_numa_node: Mapping[int, int]
    by_socket: Mapping[int, int]


def alignment_of(topology: CPUTopology, cpus: int) -> Alignment:
    """Look at a set of CPUs in its topology; the empty set is aligned."""
    caches, nodes, sockets = (
        _split(elements, cpus) for elements in (topology.uncore_caches, topology.numa_nodes, topology.sockets)
    )
    cores = topology.cores_of(cpus)
    return Alignment(
        core=reduce(or_, cores.values(), 0) == cpus,
        uncore_cache=len(caches) <= 1,
        numa_node=len(nodes) <= 1,
        socket=len(sockets) <= 1,
        by_core=_split(cores, cpus),
        by_uncore_cache=caches,
        by_numa_node=nodes,
        by_socket=sockets,
    )


def _split(elements: Masks, cpus: int) -> dict[int, int]:
    return {element: cpus & mask for element, mask in elements.items() if cpus & mask}
