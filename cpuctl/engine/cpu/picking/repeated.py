"""Which NUMA nodes give how many CPUs where nodes reach across sockets.

Rule: kubelet v1.36 ``cpu_assignment.go``. With more NUMA nodes than sockets, nodes are listed socket by
socket, so one that reaches across sockets is listed, combined and asked for its share more than once. Its
free CPUs count once a listing in sums, and once in the balance; shares may leave it less than nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property

from cpuctl.engine.cpu.picking.balance import ANY, Deal, Search, endless_loop
from cpuctl.engine.cpu.picking.combining import distinct, effective_combination
from cpuctl.engine.outcome import KubeletFault

MOST_TRIED = 300_000
"""Combinations and sets of a remainder: seconds here, and longer in a kubelet."""


class TooManyError(Exception):
    """More combinations than ``MOST_TRIED``."""


class RepeatedSearch(Search):
    """A search whose positions stand for nodes (``listed``), some of them more than once.

    ``run`` raises TooManyError rather than to try combinations for minutes.
    """

    def _combinations(self, width: int) -> Iterator[tuple[int, ...]]:
        """Combine positions; alike are those of one node, and nodes listed once with as many CPUs free."""
        share = 0 if self.rules.align_by_socket else self._even_share(width)
        times = Counter(self.listed)
        able = [
            (position, self._alike(position) if times[node] == 1 else ("node", node))
            for position, node in enumerate(self.listed)
            if self.free[position] >= share
        ]
        return self._counted(distinct(able, width))

    def _alike(self, position: int) -> Hashable:
        return self.free[position], self.sockets[position] if self.sockets else ()

    def _counted(self, combinations: Iterator[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
        for each in combinations:
            self._budget[0] -= 1
            if self._budget[0] < 0:
                raise TooManyError
            yield each

    @cached_property
    def _budget(self) -> list[int]:
        return [MOST_TRIED]

    def _to_beat(self, width: int) -> int:  # noqa: ARG002  # no bound is known
        return ANY

    def _deal(self, positions: tuple[int, ...], _to_beat: int, /) -> Deal | KubeletFault | None:
        nodes, free = [self.listed[each] for each in positions], [self.free[each] for each in positions]
        group, before = self.group, self._by_node
        whole = group * sum(count // group for count in free)
        if whole < self.need or sum(before[node] for node in set(nodes)) < self.need:
            return None
        share = self._share(free, limited=self.rules.align_by_socket)
        left = {node: before[node] - share * times for node, times in Counter(nodes).items()}
        remainder = self.need - share * len(nodes)
        if not remainder:
            return Deal(self._change(left))
        able = [entry for entry, node in enumerate(nodes) if left[node] >= group]
        best = self._shared_remainder(left, [nodes[entry] for entry in able], remainder)
        if not isinstance(best, Deal):
            return best
        among = best.among if self.rules.copies_combinations else effective_combination(best.among, len(able))
        return Deal(best.change, tuple(able[index] for index in among))

    def _shared_remainder(
        self, left: Mapping[int, int], nodes: Sequence[int], remainder: int
    ) -> Deal | KubeletFault | None:
        """Find the first of the best sets out of *nodes*, which may name a node more than once."""
        best: Deal | None = None
        best_score = 0
        unit = self.group if self.rules.counts_whole_groups else 1
        alike = list(enumerate(nodes))
        for size in range(len(nodes), 0, -1):
            for subset in self._counted(distinct(alike, size)):
                among = [nodes[index] for index in subset]
                if sum(left[node] // unit * unit for node in among) < remainder:
                    continue
                after = self._dealt(left, among, remainder)
                if after is None:
                    return endless_loop(
                        "a set of nodes counts its free CPUs more often than it can give them"
                    )
                change = self._change(after)
                if best is None or change < best.change:
                    score = self._score(change)
                    if best is None or score < best_score:
                        best, best_score = Deal(change, subset), score
        return best

    def _dealt(self, left: Mapping[int, int], among: Sequence[int], remainder: int) -> dict[int, int] | None:
        """Deal round after round; None where a round deals nothing."""
        after = dict(left)
        while remainder:
            before = remainder
            for node in among:
                if remainder and after[node] >= self.group:
                    after[node] -= self.group
                    remainder -= self.group
            if remainder == before:
                return None
        return after

    def _change(self, left: Mapping[int, int]) -> int:
        before = self._by_node
        return sum(count * count - before[node] * before[node] for node, count in left.items())

    @cached_property
    def _by_node(self) -> Mapping[int, int]:
        return dict(zip(self.listed, self.free, strict=True))

    @cached_property
    def _counts(self) -> tuple[int, ...]:
        return tuple(self._by_node.values())
