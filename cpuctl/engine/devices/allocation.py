"""Which devices a container gets: hints for the NUMA nodes near them, and the choice among them.

Rule: kubelet v1.36 ``pkg/kubelet/cm/devicemanager``, ``topology_hints.go`` and ``manager.go``
(``devicesToAllocate``). Sets of NUMA nodes are masks of node ids; the device manager tries the sets of all
nodes of the machine, even those without devices. Hints are a rule instead of a list of up to 2^nodes. This
is separate from ``provider`` for faster start-up: pods without devices do not load it.
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
    """Hints: the sets of nodes near enough devices, including all devices that are to be reused.

    ``width`` is the fewest nodes that have enough devices near them, even in use or unhealthy, 0 if there
    are never enough; hints of that width are preferred.
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
        """Make the hints for *request* devices, which are counted by the mask of the nodes near them.

        *nodes* are those of the machine, *everywhere* all devices, of which some are *free* and others,
        although in use, *reusable*. Devices without nodes are near none.
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
        """Size of the smallest hint, 0 without hints."""
        return _narrowest(self.coverage)

    @property
    def coverages(self) -> tuple[Coverage, ...]:
        """The coverages that a set of nodes has to serve to be a hint."""
        return (self.coverage,)

    @property
    def others(self) -> tuple[NodeMask, ...]:
        """Empty: every hint serves the coverages."""
        return ()

    @property
    def socket_rule(self) -> None:
        """None: sockets do not matter for devices."""


def _narrowest(coverage: Coverage) -> int:
    sizes = range(1, coverage.nodes.bit_count() + 1)
    return next((size for size in sizes if CommonSets.common([coverage], size).possible), 0)


class Chosen(NamedTuple):
    """Some devices (a mask), and whether others near other nodes would have been an equal choice."""

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
    """Yield free devices near the affinity, elsewhere, and without nodes; all together without an affinity.

    Each comes with the devices that a plugin may prefer instead: it treats all that are not near the same.
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
    """Take some devices, first those near the nodes with the fewest: one choice of many."""
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
