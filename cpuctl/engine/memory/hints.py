"""The Memory Manager's topology hints for one request, as a rule instead of a list of up to 2^nodes hints.

Rule: kubelet v1.36 ``memorymanager/policy_static.go``, ``calculateHints``. NUMA nodes without assigned memory
combine freely. A node in use is a hint only alone or with its group, never with others: these few sets are
listed. Sets of NUMA nodes are masks of node ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain, combinations

from cpuctl.checkpoints.model import MemoryNode
from cpuctl.cpuset import CPUSet
from cpuctl.engine.changeable import ByContent
from cpuctl.engine.hints.common_sets import CommonSets
from cpuctl.engine.hints.coverage import Coverage
from cpuctl.engine.hints.hints import Fit, Hint
from cpuctl.engine.hints.node_search import best_sets
from cpuctl.engine.masks import NO_NODES, NODE_0, NodeMask
from cpuctl.engine.memory.tables import (
    MemoryRequest,
    allocatable_in,
    free_in,
    may_wrap,
    violates_groups,
    wrapped,
)

Reusable = Mapping[tuple[NodeMask, str], int]
"""Bytes that a pod may use again, by nodes and resource."""


class MemoryHints(ByContent):
    """Hints: sets of unused nodes with enough of everything free (``coverages``), and ``others``.

    ``width`` is the smallest number of nodes that would suffice if all memory were free; hints of that
    width are preferred. No hint is narrower, and there are no hints if it is 0.
    """

    def __init__(self, *, coverages: tuple[Coverage, ...], others: tuple[NodeMask, ...], width: int) -> None:
        self.coverages = coverages
        self.others = others
        self.width = width

    @classmethod
    def generate(
        cls, tables: Mapping[int, MemoryNode], request: MemoryRequest, reusable: Reusable
    ) -> MemoryHints:
        """Return the hints for a non-empty request, for resources that every node has a table of."""
        if may_wrap(tables, request):
            return cls._listed(tables, request, reusable)
        unused = [number for number, node in tables.items() if not node.number_of_assignments]
        free = tuple(
            [
                _coverage({node: tables[node].memory_map[name].free for node in unused}, amount)
                for name, amount in request.items()
            ]
        )
        capacity = [
            _coverage({number: node.memory_map[name].allocatable for number, node in tables.items()}, amount)
            for name, amount in request.items()
        ]
        used = [node for node in tables.values() if node.number_of_assignments]
        special = chain(
            (NodeMask(CPUSet.of(node.cells).mask) for node in used),
            (nodes for nodes, _ in reusable),
        )
        return cls(
            coverages=free,
            others=tuple(
                nodes
                for nodes in sorted(set(special))
                if not _covered(free, nodes) and _is_hint(tables, request, reusable, nodes)
            ),
            width=_fewest(capacity),
        )

    @classmethod
    def _listed(
        cls, tables: Mapping[int, MemoryNode], request: MemoryRequest, reusable: Reusable
    ) -> MemoryHints:
        """Check every set: if sums wrap around, more nodes may have less."""
        sets = [
            NodeMask(CPUSet.of(members).mask)
            for size in range(1, len(tables) + 1)
            for members in combinations(sorted(tables), size)
        ]
        wide = (nodes.bit_count() for nodes in sets if _allocatable(tables, request, list(CPUSet(nodes))))
        return cls(
            coverages=(_coverage({}, 1),),
            others=tuple(sorted(nodes for nodes in sets if _is_hint(tables, request, reusable, nodes))),
            width=next(wide, 0),
        )

    def __bool__(self) -> bool:
        return bool(self.others) or self._unused in self

    def __iter__(self) -> Iterator[Hint]:
        """Yield every hint, by size, then in lexicographic order of node ids."""
        unused = [NODE_0 << node for node in CPUSet(self._unused)]
        for size in self._sizes:
            sets = [sum(chosen, NO_NODES) for chosen in combinations(unused, size)]
            found = [nodes for nodes in sets if _covered(self.coverages, nodes)]
            found += [nodes for nodes in self.others if nodes.bit_count() == size]
            for nodes in sorted(found, key=lambda nodes: list(CPUSet(nodes))):
                yield Hint(nodes, self.prefers(nodes))

    def __contains__(self, nodes: NodeMask) -> bool:
        return nodes in self.others or (nodes > 0 and _covered(self.coverages, nodes))

    def prefers(self, nodes: NodeMask) -> bool:
        """Return whether a hint for these nodes is preferred."""
        return nodes.bit_count() == self.width

    @cached_property
    def narrowest(self) -> int:
        """The size of the smallest hint, 0 if there are no hints."""
        sizes = (_fewest(self.coverages), *map(int.bit_count, self.others))
        return min(filter(None, sizes), default=0)

    def best(self, containing: NodeMask = NO_NODES) -> Hint | None:
        """Find the best hint that contains these nodes: narrowest, as preferred ones are, then lowest."""
        required = Coverage.of(self._unused, {}, [NODE_0 << node for node in CPUSet(containing)], 0)
        for size in self._sizes:
            found = [each for each in self.others if each.bit_count() == size and not containing & ~each]
            if not containing & ~self._unused:
                found += best_sets(CommonSets.common([*self.coverages, required], size), Fit())
            if found:
                return Hint(min(found), preferred=size == self.width)
        return None

    @property
    def socket_rule(self) -> None:
        """None: sockets do not count."""

    @property
    def _unused(self) -> NodeMask:
        return self.coverages[0].nodes

    @property
    def _sizes(self) -> range:
        return range(1, max(map(int.bit_count, (self._unused, *self.others))) + 1)


def _coverage(amounts: Mapping[int, int], wanted: int) -> Coverage:
    by_mask = {NODE_0 << node: amount for node, amount in amounts.items()}
    return Coverage(nodes=sum(by_mask, NO_NODES), amounts=by_mask, wanted=wanted)


def _covered(coverages: Iterable[Coverage], nodes: NodeMask) -> bool:
    return all(not nodes & ~each.nodes and nodes in each for each in coverages)


def _fewest(coverages: Sequence[Coverage]) -> int:
    """Return the smallest number of nodes that serve everything, 0 if even all of them do not."""
    least = [_fewest_for(each) for each in coverages]
    if len(coverages) == 1 or not all(least):
        return min(least)
    sizes = range(max(least), coverages[0].nodes.bit_count() + 1)
    return next((size for size in sizes if CommonSets.common(coverages, size).possible), 0)


def _fewest_for(coverage: Coverage) -> int:
    """Return how many of the largest nodes together have enough of one resource."""
    totals = accumulate(sorted(coverage.amounts.values(), reverse=True))
    return next((count for count, total in enumerate(totals, 1) if total >= coverage.wanted), 0)


def _is_hint(
    tables: Mapping[int, MemoryNode], request: MemoryRequest, reusable: Reusable, nodes: NodeMask
) -> bool:
    """Return whether one set of nodes is a hint, as the kubelet determines for each set."""
    members = list(CPUSet(nodes))
    if len(members) == 1:
        grouped_otherwise = len(tables[members[0]].cells) > 1
    else:
        grouped_otherwise = violates_groups(tables, members)
    return (
        not grouped_otherwise
        and all(
            wrapped(free_in(tables, members, name) + reusable.get((nodes, name), 0)) >= amount
            for name, amount in request.items()
        )
        and _allocatable(tables, request, members)
    )


def _allocatable(tables: Mapping[int, MemoryNode], request: MemoryRequest, members: Sequence[int]) -> bool:
    return all(allocatable_in(tables, members, name) >= amount for name, amount in request.items())
