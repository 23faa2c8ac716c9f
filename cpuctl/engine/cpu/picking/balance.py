"""How many CPUs each NUMA node gives: the search behind ``distribute-cpus-across-numa``.

Rule: kubelet v1.36 ``cpu_assignment.go``; ``PickerRules`` has the differences of later releases. Everything
depends on how many CPUs are free in each node, so this works on counts alone. A split leaves free counts
behind; the split whose counts have the smallest standard deviation wins, the first one on ties. For one
request all splits leave the same sum, so the deviation grows with the sum of squares: that sum is compared
first, and the rounded deviation is computed only for a possible winner.

With more NUMA nodes than sockets, nodes are listed socket by socket, so one that spans sockets is listed,
combined and must give its share more than once. Its free CPUs count once per listing in sums, but only once
in the balance; shares may leave it a negative number.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from heapq import heapreplace
from itertools import combinations
from math import isqrt
from typing import NamedTuple

from cpuctl.engine.cpu.picking.packed import PickerRules
from cpuctl.engine.outcome import FaultKind, KubeletFault
from cpuctl.records import Record

ANY = 1
"""Larger than any change: handing out CPUs only lowers the sum of squares."""

_FEW = 2
"""Trying this few combinations is faster than computing a bound for them."""

MOST_TRIED = 300_000
"""Limit on combinations and remainder sets: seconds here, and longer in a kubelet."""


class Split(Record):
    """``share`` CPUs from each node, then ``remainder`` dealt in groups to the ``extra`` nodes.

    Nodes are positions in the list that was searched.
    """

    positions: tuple[int, ...]
    share: int
    remainder: int
    extra: tuple[int, ...]


class Deal(NamedTuple):
    """The change of the sum of squares by handing out CPUs, and which entries get the remainder."""

    change: int
    among: tuple[int, ...] = ()


class _Best(Record):
    positions: tuple[int, ...]
    deal: Deal
    score: int
    in_socket: bool


class _Wanted(NamedTuple):
    free: tuple[int, ...]
    sockets: tuple[frozenset[int], ...]
    need: int
    group: int
    rules: PickerRules
    held: tuple[int, ...] = ()
    listed: tuple[int, ...] = ()


class Search(_Wanted):
    """Candidate nodes in the kubelet's order (free CPUs and sockets of each), and the request.

    ``sockets`` may be empty if the rules do not align by socket.
    ``held`` has the CPUs of a resized container on each node, counted as free, and is empty without one:
    the container stays on all of its nodes. ``listed`` names the node of each position if a node appears
    more than once (``RepeatedSearch``), and is empty otherwise.
    """

    def run(self, fewest: int, most: int) -> Split | KubeletFault | None:
        """Find the split over the fewest nodes in this range; None if no number of nodes fits."""
        for width in range(fewest, most + 1):
            best = self._best_of_width(width)
            if isinstance(best, _Best):
                return self._split(best)
            if best is not None:
                return best
        return None

    def _best_of_width(self, width: int) -> _Best | KubeletFault | None:
        best: _Best | None = None
        to_beat = ANY
        for number, positions in enumerate(self._combinations(width)):
            if best is not None and self._final(best):
                break
            if number == _FEW:
                to_beat = min(to_beat, self._to_beat(width))
            deal = self._deal(positions, to_beat)
            if isinstance(deal, KubeletFault):
                return deal
            if deal is not None:
                best = self._better(best, positions, deal)
                if not self.rules.align_by_socket:  # inside one socket even a worse balance may win
                    to_beat = min(to_beat, best.deal.change)
        return best

    def _to_beat(self, width: int) -> int:
        """Bound the change of the best split over *width* nodes: it scores no worse than the fullest nodes.

        There is no such bound if the fullest nodes may be excluded, or the score is not the only criterion.
        """
        if self.rules.align_by_socket or any(self.held):
            return ANY
        fullest = sorted(range(len(self.free)), key=self.free.__getitem__)[-width:]
        deal = self._deal(tuple(sorted(fullest)), ANY)
        if not isinstance(deal, Deal):
            return ANY
        # The smallest change that makes the score larger.
        beyond = 2 * self._score(deal.change) + 1
        return -((4 * self._deviation - len(self.free) * beyond * beyond) // 4_000_000)

    def _combinations(self, width: int) -> Iterator[tuple[int, ...]]:
        """Combine positions as the kubelet does, except those that cannot change its choice.

        Combinations with a node too small for its share are always rejected. Equal nodes lead to equal
        splits, of which only the first counts; their sockets matter if all may be in one.
        """
        if any(self.held):
            return self._around_held(width)
        aligned = self.rules.align_by_socket
        share = 0 if aligned else self._even_share(width)
        if aligned and width <= max(Counter(self.sockets).values()):
            return distinct(list(enumerate(zip(self.free, self.sockets, strict=True))), width)
        return distinct([(position, free) for position, free in enumerate(self.free) if free >= share], width)

    def _around_held(self, width: int) -> Iterator[tuple[int, ...]]:
        """Combine the nodes that hold CPUs, none more than its share, with other nodes."""
        share = self._even_share(width)
        kept = tuple(position for position, held in enumerate(self.held) if held)
        if (
            width < len(kept)
            or max(self.held) > share
            or min(self.free[position] for position in kept) < share
        ):
            return iter(())
        others = [
            # The remainder is dealt in order, so a node's place among those kept matters, too.
            (position, (free, bisect(kept, position)))
            for position, free in enumerate(self.free)
            if position not in kept and free >= share
        ]
        return (tuple(sorted(kept + rest)) for rest in distinct(others, width - len(kept)))

    def _final(self, best: _Best) -> bool:
        return best.score == 0 and (best.in_socket or not self.rules.align_by_socket)

    def _better(self, best: _Best | None, positions: tuple[int, ...], deal: Deal) -> _Best:
        in_socket = self.rules.align_by_socket and self._in_one_socket(positions)
        if best is None or in_socket > best.in_socket:
            return _Best(positions, deal, self._score(deal.change), in_socket)
        if in_socket < best.in_socket or deal.change >= best.deal.change:
            return best
        score = self._score(deal.change)
        return _Best(positions, deal, score, in_socket) if score < best.score else best

    def _in_one_socket(self, positions: tuple[int, ...]) -> bool:
        return len(frozenset[int]().union(*(self.sockets[position] for position in positions))) == 1

    def _even_share(self, width: int) -> int:
        return self.need // width // self.group * self.group

    def _share(self, free: Sequence[int], *, limited: bool) -> int:
        share = self.need // len(free) // self.group * self.group
        return min(share, *(count // self.group * self.group for count in free)) if limited else share

    def _deal(self, positions: tuple[int, ...], to_beat: int, /) -> Deal | KubeletFault | None:
        """Take the share from every node at these positions, and the remainder from some.

        Return None if too few CPUs are free, or no change can be below *to_beat*.
        """
        group, free = self.group, [self.free[position] for position in positions]
        if group * sum([count // group for count in free]) < self.need:
            return None
        share = self._share(free, limited=self.rules.align_by_socket)
        change = sum([share * (share - 2 * count) for count in free])
        remainder = self.need - share * len(free)
        if not remainder:
            return Deal(change)
        # No group lowers the sum by more than the first one from the fullest node.
        if self._ends and change - remainder * (2 * (max(free) - share) - group) >= to_beat:
            return None
        able = [entry for entry, count in enumerate(free) if count - share >= group]
        dealing = Remainder(
            left=tuple([free[entry] - share for entry in able]),
            groups=remainder // group,
            group=group,
            whole=self.rules.counts_whole_groups,
        )
        if dealing.ends and change + dealing.least_change() >= to_beat:
            return None
        best = self._best_remainder(dealing, change, to_beat)
        if not isinstance(best, Deal):
            return best
        among = best.among if self.rules.copies_combinations else effective_combination(best.among, len(able))
        return Deal(best.change, tuple([able[index] for index in among]))

    def _best_remainder(self, dealing: Remainder, shared: int, to_beat: int) -> Deal | KubeletFault | None:
        """Find the first of the best subsets after a change by the shares."""
        best: Deal | None = None
        best_score, ends = 0, dealing.ends
        for size in range(len(dealing.left), 0, -1):
            if ends and shared + dealing.least_change(size) >= to_beat:
                continue
            for subset, extra in dealing.deals(size):
                if extra is None:
                    return endless_loop(
                        "a set of nodes has enough free CPUs for the remainder, but too few whole groups"
                    )
                if best is None or shared + extra < best.change:
                    score = self._score(shared + extra)
                    if best is None or score < best_score:
                        best, best_score = Deal(shared + extra, subset), score
                        to_beat = min(to_beat, best.change)
        return best

    def _score(self, change: int) -> int:
        """Return the standard deviation of the CPUs left free, in thousandths, rounded as by the kubelet."""
        return (isqrt(4 * (self._deviation + 1_000_000 * change) // len(self._counts)) + 1) // 2

    @cached_property
    def _counts(self) -> tuple[int, ...]:
        """The free CPUs of each node, whose balance is scored."""
        return self.free

    @cached_property
    def _ends(self) -> bool:
        """Whether every remainder can be dealt: all CPUs outside whole groups are fewer than a group."""
        return self.rules.counts_whole_groups or sum([count % self.group for count in self.free]) < self.group

    @cached_property
    def _deviation(self) -> int:
        """Sum of the squared distances of the free CPUs now from the mean afterwards, in millionths."""
        count, total = len(self._counts), sum(self._counts) - self.need
        mean = (2000 * total + count) // (2 * count)
        squares = sum([free * free for free in self._counts])
        return 1_000_000 * squares - 2000 * mean * total + count * mean * mean

    def _split(self, best: _Best) -> Split:
        width, kept = len(best.positions), best.positions
        if not self.rules.copies_combinations:
            kept = effective_combination(kept, len(self.free), stopped=self._final(best))
        free = [self.free[position] for position in kept]
        share = self._share(free, limited=self.rules.limits_share)
        return Split(
            positions=kept,
            share=share,
            remainder=self.need - share * width,
            extra=tuple(best.positions[entry] for entry in best.deal.among),
        )


def endless_loop(why: str) -> KubeletFault:
    """Return the fault of an endless remainder loop, in which the kubelet holds the CPU Manager's lock.

    Kubernetes pull request 140730 fixes it for nodes without enough whole groups, from 1.38 on.
    """
    return KubeletFault(
        kind=FaultKind.ENDLESS_LOOP, where="CPU Manager, distributing CPUs across NUMA nodes", why=why
    )


class Remainder(NamedTuple):
    """The CPUs left after equal shares, dealt in groups to some of the nodes.

    There are ``groups`` of ``group`` CPUs each; ``left`` are the CPUs of each node, at least a whole group.
    With ``whole`` only the whole groups of nodes are counted, so dealing always ends.
    """

    left: tuple[int, ...]
    groups: int
    group: int
    whole: bool

    @property
    def ends(self) -> bool:
        """Whether no subset makes the kubelet loop: the CPUs outside whole groups are fewer than a group."""
        return self.whole or sum([count % self.group for count in self.left]) < self.group

    def least_change(self, size: int = 0) -> int:
        """Return a lower bound of the change to the sum of squares for subsets of a size, or of any.

        With a size, the fullest nodes get a group each; then the nodes that are fullest get the others.
        """
        group, each = self.group, min(size, self.groups)
        counts = sorted(self.left, reverse=True)[: each or None]
        change = group * (each * group - 2 * sum(counts[:each]))
        fullest = [group * (each > 0) - count for count in counts]  # ascending, so a heap
        for _ in range(self.groups - each):
            lower = fullest[0] + group
            change += group * (2 * lower - group)
            heapreplace(fullest, lower)
        return change

    def deals(self, size: int) -> Iterator[tuple[tuple[int, ...], int | None]]:
        """Yield the subsets of one size that can take the remainder, with the change to the sum of squares.

        They come in lexicographic order, after all larger ones: a subset with the score of an earlier one
        is left out, since only a strictly better one counts. A change of None is the kubelet's endless
        loop, which results from counting free CPUs instead of whole groups.
        """
        left, groups = self.left, self.groups
        if size >= groups:
            for subset in self._subsets_with_spare(size):
                yield subset, self._change([left[index] for index in subset[:groups]])
            return
        unit = self.group if self.whole else 1
        counted = [count // unit * unit for count in left]
        for subset in distinct(list(enumerate(left)), size):
            if sum([counted[index] for index in subset]) >= groups * self.group:
                yield subset, self._change([left[index] for index in subset])

    def _subsets_with_spare(self, size: int) -> Iterator[tuple[int, ...]]:
        """Yield subsets in which only the first entries get a group, the last of these as late as possible.

        If it came earlier, a larger subset would give to the same entries.
        """
        last = len(self.left) - 1 - (size - self.groups)
        rest = tuple(range(last, len(self.left)))
        return (start + rest for start in distinct(list(enumerate(self.left[:last])), self.groups - 1))

    def _change(self, counts: list[int]) -> int | None:
        """Deal round by round, skipping nodes without a whole group; None if that never ends."""
        groups, group = self.groups, self.group
        rounds, extra = divmod(groups, len(counts))
        low, high = rounds * group, (rounds + 1) * group
        if min(counts) >= high:
            more, fewer = high * (extra * high - 2 * sum(counts[:extra])), len(counts) - extra
            return more + low * (fewer * low - 2 * sum(counts[extra:]))
        if sum([count // group for count in counts]) < groups:
            return None
        left = list(counts)
        while groups:
            for index, count in enumerate(left):
                if groups and count >= group:
                    left[index] -= group
                    groups -= 1
        return sum([after * after - count * count for after, count in zip(left, counts, strict=True)])


class TooManyError(Exception):
    """More combinations than ``MOST_TRIED``."""


class RepeatedSearch(Search):
    """A search whose positions represent nodes (``listed``), some of them more than once.

    ``run`` raises TooManyError instead of trying combinations for minutes.
    """

    def _combinations(self, width: int) -> Iterator[tuple[int, ...]]:
        """Combine positions; those of one node are equal, as are equally free nodes that are listed once."""
        share = 0 if self.rules.align_by_socket else self._even_share(width)
        times = Counter(self.listed)
        able = [
            (position, self._equivalent(position) if times[node] == 1 else ("node", node))
            for position, node in enumerate(self.listed)
            if self.free[position] >= share
        ]
        return self._counted(distinct(able, width))

    def _equivalent(self, position: int) -> Hashable:
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
        equivalent = list(enumerate(nodes))
        for size in range(len(nodes), 0, -1):
            for subset in self._counted(distinct(equivalent, size)):
                among = [nodes[index] for index in subset]
                if sum(left[node] // unit * unit for node in among) < remainder:
                    continue
                after = self._dealt(left, among, remainder)
                if after is None:
                    return endless_loop(
                        "the free CPUs of a set of nodes are counted more often than they can be allocated"
                    )
                change = self._change(after)
                if best is None or change < best.change:
                    score = self._score(change)
                    if best is None or score < best_score:
                        best, best_score = Deal(change, subset), score
        return best

    def _dealt(self, left: Mapping[int, int], among: Sequence[int], remainder: int) -> dict[int, int] | None:
        """Deal round by round; None if a round deals nothing."""
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


def distinct(nodes: Sequence[tuple[int, object]], size: int) -> Iterator[tuple[int, ...]]:
    """Yield combinations of positions in lexicographic order, one for each sequence of kinds of nodes."""
    positions = [position for position, _ in nodes]
    kinds = len({like for _, like in nodes})
    if kinds == 1:
        return combinations(positions[:size], size)
    if kinds == len(nodes) or size in (0, len(nodes)):
        return combinations(positions, size)
    return _by_first(nodes, size)


def _by_first(nodes: Sequence[tuple[int, object]], size: int) -> Iterator[tuple[int, ...]]:
    seen = set()
    for index, (position, like) in enumerate(nodes[: len(nodes) - size + 1], 1):
        if like not in seen:
            seen.add(like)
            for others in distinct(nodes[index:], size - 1):
                yield position, *others


def effective_combination(
    positions: tuple[int, ...], total: int, *, stopped: bool = False
) -> tuple[int, ...]:
    """Return what the kubelet's stored combination holds after enumeration has continued.

    Up to v1.37 it keeps a slice whose later entries share memory with the combinations that follow, so
    they end up as the last ones of the list, or as those of the next combination if enumeration *stopped*
    there (kubernetes issue 141237). *total* is the number of positions to combine.
    """
    size = len(positions)
    own = (1 << (size - 1).bit_length() - 1) + 1 if size > 1 else size
    if not stopped:
        return positions[:own] + tuple(range(total - size + own, total))
    for index in range(size - 1, own - 1, -1):
        if positions[index] < total - size + index:
            start = positions[index] + 1
            return positions[:index] + tuple(range(start, start + size - index))
    return positions
