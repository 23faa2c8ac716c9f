"""The device manager's topology hints for one resource, as a rule instead of a list of up to 2^nodes hints.

Rule: kubelet v1.36 ``pkg/kubelet/cm/devicemanager/topology_hints.go``. Sets of NUMA nodes are masks of node
ids; the device manager goes through the sets of all nodes of the machine, also those without devices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import combinations

from cpuctl.cpuset import CPUSet
from cpuctl.engine.changeable import ByContent
from cpuctl.engine.hints.common_sets import CommonSets
from cpuctl.engine.hints.coverage import Coverage
from cpuctl.engine.hints.hints import Hint
from cpuctl.engine.masks import NodeMask


class DeviceHints(ByContent):
    """Hints: the sets that have enough devices next to them, and each one that is to be used again.

    ``width`` is the fewest nodes that have enough of all devices next to them, in use and unhealthy ones
    too, 0 where that is never enough; hints that wide are preferred.
    """

    def __init__(self, *, coverage: Coverage, width: int) -> None:
        self.coverage = coverage
        self.width = width

    @classmethod
    def generate(
        cls,
        nodes: int,
        everywhere: Mapping[int, int],
        free: Mapping[int, int],
        reusable: Mapping[int, int],
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
        bits = [1 << node for node in CPUSet(self.coverage.nodes)]
        for size in range(1, len(bits) + 1):
            for chosen in combinations(bits, size):
                if (nodes := sum(chosen)) in self.coverage:
                    yield Hint(NodeMask(nodes), self.prefers(nodes))

    def __contains__(self, nodes: int) -> bool:
        return bool(nodes) and not nodes & ~self.coverage.nodes and nodes in self.coverage

    def prefers(self, nodes: int) -> bool:
        """Tell whether a hint for these nodes is preferred."""
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
    def others(self) -> tuple[int, ...]:
        """No set is a hint that does not."""
        return ()

    @property
    def socket_rule(self) -> None:
        """Sockets do not count."""


def _narrowest(coverage: Coverage) -> int:
    sizes = range(1, coverage.nodes.bit_count() + 1)
    return next((size for size in sizes if CommonSets.common([coverage], size).possible), 0)
