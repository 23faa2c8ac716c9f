"""How far the free CPUs of a node are scattered.

A figure compares what there is with the best that as many free CPUs could come to. For NUMA nodes and
uncore caches that is the most free CPUs in one of them: at best all of them, or as many as may become
exclusive in the largest one. For cores it is the free CPUs on cores that no container holds a part of: at
best all. A node without containers is not fragmented, whatever its shape.
"""

from __future__ import annotations

from typing import NamedTuple

from cpuctl.engine.capacity.probe import free_cpus
from cpuctl.engine.cpu.topology import Masks
from cpuctl.engine.node import Node


class Scatter(NamedTuple):
    """``reached`` CPUs of a ``possible`` number keep together."""

    reached: int
    possible: int

    @property
    def percent(self) -> int:
        """The part that is lost, in whole percent: 0 only where nothing is, 100 only where everything is."""
        if self.reached == self.possible:
            return 0
        lost = 100 * (self.possible - self.reached) // self.possible
        return max(lost, 1)


class Fragmentation(NamedTuple):
    """The figures of a node's levels; that of uncore caches is None where nothing is recorded of them."""

    core: Scatter
    uncore_cache: Scatter | None
    numa_node: Scatter


def fragmentation_of(node: Node) -> Fragmentation | None:
    """Look at the free CPUs of a node that has cleaned up; None where no CPUs are ever exclusive."""
    if node.policy is None:
        return None
    free, allocatable = free_cpus(node), node.policy.allocatable
    caches, caches_known = node.topology.uncore_caches, node.topology.caches_known
    broken = node.topology.siblings(allocatable & ~free)
    return Fragmentation(
        core=Scatter((free & ~broken).bit_count(), free.bit_count()),
        uncore_cache=_in_one(caches, free, allocatable) if caches_known else None,
        numa_node=_in_one(node.topology.numa_nodes, free, allocatable),
    )


def _in_one(elements: Masks, free: int, allocatable: int) -> Scatter:
    def most(cpus: int) -> int:
        return max((cpus & mask).bit_count() for mask in elements.values())

    return Scatter(most(free), min(free.bit_count(), most(allocatable)))
