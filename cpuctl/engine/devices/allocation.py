"""Which devices a container gets: hints on NUMA nodes near them, and the choice among them.

Rule: kubelet v1.36 ``pkg/kubelet/cm/devicemanager``, ``topology_hints.go`` and ``manager.go``
(``devicesToAllocate``). Sets of NUMA nodes are masks of node ids; the device manager goes through the sets
of all nodes of the machine, also those without devices. Hints are a rule instead of a list of up to
2^nodes. It is apart from ``provider`` for start-up: pods without devices do not load it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

from cpuctl.cpuset import CPUSet
from cpuctl.engine.changeable import ByContent
from cpuctl.engine.devices.state import DevicePool
from cpuctl.engine.hints.common_sets import CommonSets
from cpuctl.engine.hints.coverage import Coverage
from cpuctl.engine.hints.hints import Hint
from cpuctl.engine.masks import NO_NODES, NODE_0, NodeMask


class DeviceHints(ByContent):
    """Hints: the sets that have enough devices next to them, and each one that is to be used again.

    ``width`` is the fewest nodes that have enough of all devices next to them, in use and unhealthy ones
    too, 0 if that is never enough; hints that wide are preferred.
    """

    def __init__(self, *, coverage: Coverage, width: int) -> None:
        self.coverage = coverage
        self.width = width

    @classmethod
    def generate(
        cls,
        nodes: NodeMask,
        everywhere: Mapping[NodeMask, int],
        free: Mapping[NodeMask, int],
        reusable: Mapping[NodeMask, int],
        request: int,
    ) -> DeviceHints:
        """Make the hints for *request* devices, counted by the mask of the nodes next to them.

        *nodes* are those of the machine, *everywhere* all devices, of which some are *free* and others,
        in use, *reusable*. Devices without nodes are next to none.
        """
        again = {mask: count for mask, count in reusable.items() if mask and count}
        near = {mask: free.get(mask, 0) + again.get(mask, 0) for mask in (*free, *again)}
        return cls(
            coverage=Coverage.of(nodes, near, again, request),
            width=_narrowest(Coverage.of(nodes, everywhere, (), request)),
        )

    def __bool__(self) -> bool:
        return self.coverage.nodes in self

    def __iter__(self) -> Iterator[Hint]:
        """Yield every hint, by size, then in lexicographic order of node ids."""
        bits = [NODE_0 << node for node in CPUSet(self.coverage.nodes)]
        for size in range(1, len(bits) + 1):
            for chosen in combinations(bits, size):
                if (nodes := sum(chosen, NO_NODES)) in self.coverage:
                    yield Hint(nodes, self.prefers(nodes))

    def __contains__(self, nodes: NodeMask) -> bool:
        return bool(nodes) and not nodes & ~self.coverage.nodes and nodes in self.coverage

    def prefers(self, nodes: NodeMask) -> bool:
        """Return whether a hint for these nodes is preferred."""
        return nodes.bit_count() == self.width

    @cached_property
    def narrowest(self) -> int:
        """Size of the smallest hint, 0 when there is none."""
        return _narrowest(self.coverage)

    @property
    def coverages(self) -> tuple[Coverage, ...]:
        """What a set of nodes has to serve to be a hint."""
        return (self.coverage,)

    @property
    def others(self) -> tuple[NodeMask, ...]:
        """No set is a hint that does not."""
        return ()

    @property
    def socket_rule(self) -> None:
        """Sockets do not count."""


def _narrowest(coverage: Coverage) -> int:
    sizes = range(1, coverage.nodes.bit_count() + 1)
    return next((size for size in sizes if CommonSets.common([coverage], size).possible), 0)


class Chosen(NamedTuple):
    """Some devices (a mask), and whether others would have done as well that lie elsewhere."""

    devices: int
    by_chance: bool


def choose(
    pool: DevicePool, count: int, *, free: int, reusable: int, affinity: NodeMask | None
) -> Chosen | None:
    """Choose *count* of the *free* and *reusable* devices (masks), None if there are too few.

    *affinity* is the mask of NUMA nodes that the Topology Manager chose, None without one.
    """
    taken, by_chance = 0, False
    for tier, alternatives in ((reusable, reusable), *_tiers(pool, free, affinity)):
        missing = count - taken.bit_count()
        if alternatives.bit_count() > missing > 0:
            by_chance = by_chance or len(pool.counts(alternatives)) > 1
        taken |= _first(pool, tier, missing)
    return Chosen(taken, by_chance) if taken.bit_count() == count else None


def _tiers(pool: DevicePool, free: int, affinity: NodeMask | None) -> Iterator[tuple[int, int]]:
    """Yield free devices: near the affinity, elsewhere, nowhere; all at once without an affinity.

    With them comes what a plugin may prefer instead: of those that are not near all are the same to it.
    """
    if affinity is None or not pool.has_topology:
        yield free, free
        return
    near = nowhere = 0
    for nodes, devices in pool.by_nodes.items():
        if nodes & affinity:
            near |= free & devices
        elif not nodes:
            nowhere = free & devices
    yield near, near
    yield free & ~near & ~nowhere, free & ~near
    yield nowhere, nowhere


def _first(pool: DevicePool, devices: int, count: int) -> int:
    """Take some devices, those first that lie where there are the fewest: one choice of many."""
    taken = 0
    for nodes, _ in sorted(pool.counts(devices).items(), key=lambda item: item[::-1]):
        taken |= _lowest(devices & pool.by_nodes[nodes], count - taken.bit_count())
    return taken


def _lowest(devices: int, count: int) -> int:
    taken = 0
    for first, last in CPUSet(devices).runs():
        length = min(last + 1 - first, count)
        if length <= 0:
            break
        taken |= (1 << length) - 1 << first
        count -= length
    return taken
