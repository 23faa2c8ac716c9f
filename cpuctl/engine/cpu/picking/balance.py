"""Which NUMA nodes give how many CPUs: the search behind ``distribute-cpus-across-numa``.

Everything depends on how many CPUs are free in each node, so this works on counts alone. A split leaves
free counts behind; the split whose counts have the smallest standard deviation wins, the first one on
ties. For one request all splits leave the same sum, so the deviation grows with the sum of squares: that
sum is compared first, and the rounded deviation computed only for a possible winner.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isqrt

from cpuctl.engine.cpu.picking.rules import PickerRules
from cpuctl.engine.outcome import FaultKind, KubeletFault


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """``share`` CPUs from each node, then ``remainder`` dealt in groups to the ``extra`` nodes.

    Nodes are positions in the list that was searched.
    """

    positions: tuple[int, ...]
    share: int
    remainder: int
    extra: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Deal:
    """What handing out CPUs does to the sum of squares, and which entries get the remainder."""

    change: int
    among: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Best:
    positions: tuple[int, ...]
    deal: _Deal
    score: int
    in_socket: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Candidate nodes in the kubelet's order (free CPUs and sockets of each), and what is wanted.

    ``held`` has the CPUs of a resized container on each node, counted as free, and is empty without one:
    the container stays on all of its nodes.
    """

    free: tuple[int, ...]
    sockets: tuple[frozenset[int], ...]
    need: int
    group: int
    rules: PickerRules
    held: tuple[int, ...] = ()

    def run(self, fewest: int, most: int) -> Split | KubeletFault | None:
        """Find the split over the fewest nodes of these numbers; None when no number of nodes fits."""
        for width in range(fewest, most + 1):
            best = self._best_of_width(width)
            if isinstance(best, _Best):
                return self._split(best)
            if best is not None:
                return best
        return None

    def _best_of_width(self, width: int) -> _Best | KubeletFault | None:
        best: _Best | None = None
        for positions in self._combinations(width):
            if best is not None and self._final(best):
                break
            deal = self._deal(tuple([self.free[position] for position in positions]))
            if isinstance(deal, KubeletFault):
                return deal
            if deal is not None:
                best = self._better(best, positions, deal)
        return best

    def _combinations(self, width: int) -> Iterator[tuple[int, ...]]:
        """Combine positions as the kubelet does, but for those that cannot change its choice.

        A node too small for its share only gets combinations rejected. Nodes alike come to the same split,
        of which only the first counts; their sockets matter where all may be in one.
        """
        if any(self.held):
            return self._around_held(width)
        aligned = self.rules.align_by_socket
        share = 0 if aligned else self.need // width // self.group * self.group
        if aligned and width <= max(Counter(self.sockets).values()):
            return _distinct(list(enumerate(zip(self.free, self.sockets, strict=True))), width)
        return _distinct(
            [(position, free) for position, free in enumerate(self.free) if free >= share], width
        )

    def _around_held(self, width: int) -> Iterator[tuple[int, ...]]:
        """Combine the nodes that hold CPUs, none more than its share, with others."""
        share = self.need // width // self.group * self.group
        kept = tuple(position for position, held in enumerate(self.held) if held)
        if (
            width < len(kept)
            or max(self.held) > share
            or min(self.free[position] for position in kept) < share
        ):
            return iter(())
        others = [
            # The remainder is dealt in order, so where a node stands among those kept matters, too.
            (position, (free, bisect(kept, position)))
            for position, free in enumerate(self.free)
            if position not in kept and free >= share
        ]
        return (tuple(sorted(kept + rest)) for rest in _distinct(others, width - len(kept)))

    def _final(self, best: _Best) -> bool:
        return best.score == 0 and (best.in_socket or not self.rules.align_by_socket)

    def _better(self, best: _Best | None, positions: tuple[int, ...], deal: _Deal) -> _Best:
        in_socket = self.rules.align_by_socket and self._in_one_socket(positions)
        if best is None or in_socket > best.in_socket:
            return _Best(positions, deal, self._score(deal.change), in_socket)
        if in_socket < best.in_socket or deal.change >= best.deal.change:
            return best
        score = self._score(deal.change)
        return _Best(positions, deal, score, in_socket) if score < best.score else best

    def _in_one_socket(self, positions: tuple[int, ...]) -> bool:
        return len(frozenset[int]().union(*(self.sockets[position] for position in positions))) == 1

    def _share(self, free: Iterable[int], width: int, *, limited: bool) -> int:
        share = self.need // width // self.group * self.group
        return min(share, *(count // self.group * self.group for count in free)) if limited else share

    def _deal(self, free: tuple[int, ...]) -> _Deal | KubeletFault | None:
        """Take the share from every node and the remainder from some; None when too few CPUs are free."""
        if self.group * sum(count // self.group for count in free) < self.need:
            return None
        share = self._share(free, len(free), limited=self.rules.align_by_socket)
        change = sum(share * (share - 2 * count) for count in free)
        remainder = self.need - share * len(free)
        if not remainder:
            return _Deal(change)
        able = [entry for entry, count in enumerate(free) if count - share >= self.group]
        left = [free[entry] - share for entry in able]
        best: tuple[int, int, tuple[int, ...]] | None = None
        whole = self.rules.counts_whole_groups
        for subset, extra in _remainders(left, remainder // self.group, self.group, whole=whole):
            if extra is None:
                return endless_loop(
                    "a set of nodes has enough free CPUs for the remainder, but too few whole groups"
                )
            if best is None or extra < best[1]:
                score = self._score(change + extra)
                if best is None or score < best[0]:
                    best = (score, extra, subset)
        if best is None:
            return None
        among = best[2] if self.rules.copies_combinations else effective_combination(best[2], len(able))
        return _Deal(change + best[1], tuple(able[index] for index in among))

    def _score(self, change: int) -> int:
        """Tell the standard deviation of what is left free, in thousandths, rounded as by the kubelet."""
        count, total = len(self.free), sum(self.free) - self.need
        mean = (2000 * total + count) // (2 * count)
        squares = sum(free * free for free in self.free) + change
        deviation = 1_000_000 * squares - 2000 * mean * total + count * mean * mean
        return (isqrt(4 * deviation // count) + 1) // 2

    def _split(self, best: _Best) -> Split:
        width, kept = len(best.positions), best.positions
        if not self.rules.copies_combinations:
            kept = effective_combination(kept, len(self.free), stopped=self._final(best))
        free = (self.free[position] for position in kept)
        share = self._share(free, width, limited=self.rules.limits_share)
        return Split(
            positions=kept,
            share=share,
            remainder=self.need - share * width,
            extra=tuple(best.positions[entry] for entry in best.deal.among),
        )


def _distinct(nodes: Sequence[tuple[int, object]], size: int) -> Iterator[tuple[int, ...]]:
    """Combine positions in lexicographic order, once for every sequence of what the nodes there are like."""
    if not size or len({like for _, like in nodes}) == len(nodes):
        yield from combinations([position for position, _ in nodes], size)
        return
    seen = set()
    for index, (position, like) in enumerate(nodes[: len(nodes) - size + 1], 1):
        if like not in seen:
            seen.add(like)
            for others in _distinct(nodes[index:], size - 1):
                yield position, *others


def _remainders(
    left: list[int], groups: int, group: int, *, whole: bool
) -> Iterator[tuple[tuple[int, ...], int | None]]:
    """Yield the subsets that can take the remainder, with the change to the sum of squares.

    Largest subsets first, each size in lexicographic order; a subset that scores as one before it is left
    out, since only a strictly better one counts. A change of None is the kubelet's endless loop, which
    comes from counting free CPUs instead of *whole* groups.
    """
    unit = group if whole else 1
    counted = [count // unit * unit for count in left]
    for size in range(len(left), 0, -1):
        for subset in _subsets(left, size, groups):
            given = subset[:groups]
            if size >= groups or sum([counted[index] for index in given]) >= groups * group:
                yield subset, _change(tuple([left[index] for index in given]), groups, group)


def _subsets(left: list[int], size: int, groups: int) -> Iterator[tuple[int, ...]]:
    """Subsets of one size, one for every sequence of counts; only the first *groups* entries get anything."""
    spare = max(size - groups, 0)
    starts = _distinct(list(enumerate(left[: len(left) - spare])), size - spare)
    return (start + tuple(range(start[-1] + 1, start[-1] + 1 + spare)) for start in starts)


def _change(counts: tuple[int, ...], groups: int, group: int) -> int | None:
    """Deal *groups* round after round, skipping nodes without a whole group; None if it never ends."""
    rounds, extra = divmod(groups, len(counts))
    if min(counts) >= (rounds + 1) * group:
        dealt = [(rounds + 1) * group] * extra + [rounds * group] * (len(counts) - extra)
        return sum(taken * (taken - 2 * count) for taken, count in zip(dealt, counts, strict=True))
    if sum(count // group for count in counts) < groups:
        return None
    left = list(counts)
    while groups:
        for index, count in enumerate(left):
            if groups and count >= group:
                left[index] -= group
                groups -= 1
    return sum(after * after - count * count for after, count in zip(left, counts, strict=True))


def effective_combination(
    positions: tuple[int, ...], total: int, *, stopped: bool = False
) -> tuple[int, ...]:
    """Tell what the kubelet's stored combination holds once enumeration has gone on.

    Up to v1.37 it keeps a slice whose later entries share memory with the combinations that follow, so
    they end as the last ones of the list, or as the next combination's when enumeration *stopped* there.
    """
    size = len(positions)
    own = (1 << (size - 1).bit_length() - 1) + 1 if size > 1 else size
    if not stopped:
        return positions[:own] + tuple(range(total - size + own, total))
    following = _successor(positions, total)
    return following if following is not None and following[:own] == positions[:own] else positions


def _successor(positions: tuple[int, ...], total: int) -> tuple[int, ...] | None:
    size = len(positions)
    for index in range(size - 1, -1, -1):
        if positions[index] < total - size + index:
            start = positions[index] + 1
            return positions[:index] + tuple(range(start, start + size - index))
    return None


def endless_loop(why: str) -> KubeletFault:
    """Name the loop over the remainder that the kubelet never leaves, holding the CPU Manager's lock."""
    return KubeletFault(
        kind=FaultKind.ENDLESS_LOOP, where="CPU Manager, distributing CPUs across NUMA nodes", why=why
    )
