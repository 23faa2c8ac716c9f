"""Topology hints: sets of NUMA nodes that can serve a request, and whether they are as narrow as possible.

Hints are listed, or given as a rule instead of a list of up to 2^nodes of them.

Rule: kubelet v1.36 ``pkg/kubelet/cm/topologymanager``. Sets of NUMA nodes are masks of node ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from cpuctl.cpuset import CPUSet
from cpuctl.engine.masks import NodeMask
from cpuctl.engine.outcome import FaultKind, KubeletFault
from cpuctl.records import Record

if TYPE_CHECKING:
    from cpuctl.engine.hints.coverage import Coverage, SocketRule


class Hint(NamedTuple):
    """A set of NUMA nodes, None for "no constraint", and whether it is preferred."""

    nodes: NodeMask | None
    preferred: bool


DONT_CARE = Hint(None, preferred=True)
"""Stands for a provider without preference."""
IMPOSSIBLE = Hint(None, preferred=False)
"""Stands for a resource without any hint: nothing that is merged with it is preferred."""


class HintRule(Protocol):
    """The hints for one resource: all sets of NUMA nodes that serve its coverages, and some others."""

    def __bool__(self) -> bool:
        """Return whether there is any hint: if some nodes are a hint, so are all nodes together."""

    def __iter__(self) -> Iterator[Hint]:
        """Yield every hint."""

    def __contains__(self, nodes: NodeMask) -> bool:
        """Return whether a set of nodes is a hint."""

    def prefers(self, nodes: NodeMask) -> bool:
        """Return whether a hint for these nodes is preferred."""

    @property
    def coverages(self) -> tuple[Coverage, ...]:
        """The coverages that a set must serve to be a hint; all are over the same nodes."""

    @property
    def others(self) -> tuple[NodeMask, ...]:
        """Sets that are hints although they do not serve the coverages."""

    @property
    def width(self) -> int:
        """The size of the hints that are preferred."""

    @property
    def socket_rule(self) -> SocketRule | None:
        """The rule that makes hints of other sizes preferred as well."""

    @property
    def narrowest(self) -> int:
        """The size of the smallest hint, 0 if there are no hints."""


class DirectRule:
    """A rule that finds its best sets on its own, faster than the search that handles any number of rules."""

    def best_preferred(self, fit: Fit) -> list[NodeMask]:
        """Find the best preferred hint, like ``node_search.best_sets``."""
        raise NotImplementedError

    def best_cut(self, nodes: NodeMask, sizes: Iterable[int], fit: Fit) -> list[NodeMask]:
        """Find the best intersections of hints with *nodes*, of the first size that has any."""
        raise NotImplementedError


HintList = Sequence[Hint] | HintRule
"""The hints for one resource, listed or as a rule."""


# Which of several sets of NUMA nodes fits best, all else being equal: ``numa_info.go``.

_UNKNOWN = -(1 << 80)
"""Stands for a distance that no row contains: less than any sum of real ones, which have 64 bits each."""


class Fit(Record):
    """How sets of equal rank compare: fewer nodes, then closer ones if distance counts, then lower ids.

    ``distances`` holds the row of each node by id; it is empty if distance does not count. A kubelet also
    indexes rows by node id, so with sparse ids a row can be too short: sets that need a missing distance
    sort before all others of their size.
    """

    distances: Mapping[int, Sequence[int]] = {}

    def key(self, nodes: NodeMask) -> tuple[int, int, int]:
        """Return the sort key of a set of nodes; the best set sorts first."""
        return nodes.bit_count(), self._distances_within(nodes), nodes

    def distance(self, one: int, other: int) -> int:
        """Return the distance that the row of *one* has for *other*; below zero if the row is too short."""
        row = self.distances[one]
        return row[other] if other < len(row) else _UNKNOWN

    def unknown(self, nodes: NodeMask) -> tuple[int, int] | None:
        """Return the first two nodes of a set without a distance between them, None if all have one."""
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
    """Return the crash of a Topology Manager whose row of node *one* is too short for node *other*."""
    return KubeletFault(
        kind=FaultKind.CRASH,
        where=f"Topology Manager, looking up the distance from NUMA node {one} to NUMA node {other}",
        why=f"runtime error: index out of range [{other}] with length {len(fit.distances[one])}",
    )
