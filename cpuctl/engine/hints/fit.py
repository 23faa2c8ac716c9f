"""Which of several sets of NUMA nodes fits best, all else being equal.

Rule: kubelet v1.36 ``pkg/kubelet/cm/topologymanager/numa_info.go``. Sets of NUMA nodes are masks of node ids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cpuctl.cpuset import CPUSet
from cpuctl.engine.masks import NodeMask
from cpuctl.engine.outcome import FaultKind, KubeletFault
from cpuctl.records import Record

_UNKNOWN = -(1 << 80)
"""Stands for a distance that no row holds: less than any sum of real ones, which have 64 bits each."""


class Fit(Record):
    """How sets of equal rank compare: fewer nodes, then closer ones if distance counts, then lower ids.

    ``distances`` holds the row of every node by id; it is empty where distance does not count. A kubelet
    looks nodes up in a row by id, too, so where ids are sparse a row can be too short: sets that need such a
    distance sort before all others of their size.
    """

    distances: Mapping[int, Sequence[int]] = {}

    def key(self, nodes: NodeMask) -> tuple[int, int, int]:
        """Return what sorts sets of nodes, the best first."""
        return nodes.bit_count(), self._distances_within(nodes), nodes

    def distance(self, one: int, other: int) -> int:
        """Return the distance that the row of *one* has for *other*; below zero where it is too short."""
        row = self.distances[one]
        return row[other] if other < len(row) else _UNKNOWN

    def unknown(self, nodes: NodeMask) -> tuple[int, int] | None:
        """Name the first two nodes of a set without a distance between them, None if there are none."""
        members = self._members(nodes)
        pairs = ((one, other) for one in members for other in members)
        return next((pair for pair in pairs if self.distance(*pair) < 0), None)

    def _distances_within(self, nodes: NodeMask) -> int:
        # Only sets of one size are compared, so the sum orders them as the kubelet's average does.
        members = self._members(nodes)
        return sum(self.distance(one, other) for one in members for other in members)

    def _members(self, nodes: NodeMask) -> list[int]:
        return [node for node in CPUSet(nodes) if node in self.distances] if self.distances else []


def no_distance(fit: Fit, one: int, other: int) -> KubeletFault:
    """Name the crash of a Topology Manager whose row of node *one* is too short for node *other*."""
    return KubeletFault(
        kind=FaultKind.CRASH,
        where=f"Topology Manager, looking up the distance from NUMA node {one} to NUMA node {other}",
        why=f"runtime error: index out of range [{other}] with length {len(fit.distances[one])}",
    )
