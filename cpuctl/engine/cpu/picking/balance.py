"""Which NUMA nodes give how many CPUs: the search behind ``distribute-cpus-across-numa``.

Rule: kubelet v1.36 ``cpu_assignment.go``; ``PickerRules`` has what later releases do otherwise. Everything
depends on how many CPUs are free in each node, so this works on counts alone. A split leaves free counts
behind; the split whose counts have the smallest standard deviation wins, the first one on ties. For one
request all splits leave the same sum, so the deviation grows with the sum of squares: that sum is compared
first, and the rounded deviation computed only for a possible winner.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from math import isqrt
from typing import NamedTuple

from cpuctl.engine.cpu.picking.combining import distinct, effective_combination
from cpuctl.engine.cpu.picking.remainder import Remainder
from cpuctl.engine.cpu.picking.rules import PickerRules
from cpuctl.engine.outcome import FaultKind, KubeletFault

ANY = 1
"""More than any change: CPUs that are handed out only lower the sum of squares."""

_FEW = 2
"""So few combinations are tried sooner than a bound is found for them."""


class Split(NamedTuple):
    """``share`` CPUs from each node, then ``remainder`` dealt in groups to the ``extra`` nodes.

    Nodes are positions in the list that was searched.
    """

    positions: tuple[int, ...]
    share: int
    remainder: int
    extra: tuple[int, ...]


class Deal(NamedTuple):
    """What handing out CPUs does to the sum of squares, and which entries get the remainder."""

    change: int
    among: tuple[int, ...] = ()


class _Best(NamedTuple):
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
    """Candidate nodes in the kubelet's order (free CPUs and sockets of each), and what is wanted.

    ``sockets`` may be empty where the rules do not align by socket.
    ``held`` has the CPUs of a resized container on each node, counted as free, and is empty without one:
    the container stays on all of its nodes. ``listed`` names the node of each position where one stands
    there more than once (``RepeatedSearch``), and is empty otherwise.
    """

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
                if not self.rules.align_by_socket:  # inside one socket a worse balance may win, too
                    to_beat = min(to_beat, best.deal.change)
        return best

    def _to_beat(self, width: int) -> int:
        """Bound the change of the best split over so many nodes: it scores no worse than the fullest nodes.

        There is no such bound where the fullest nodes may not be asked, or score is not all that counts.
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
        """Combine positions as the kubelet does, but for those that cannot change its choice.

        A node too small for its share only gets combinations rejected. Nodes alike come to the same split,
        of which only the first counts; their sockets matter where all may be in one.
        """
        if any(self.held):
            return self._around_held(width)
        aligned = self.rules.align_by_socket
        share = 0 if aligned else self._even_share(width)
        if aligned and width <= max(Counter(self.sockets).values()):
            return distinct(list(enumerate(zip(self.free, self.sockets, strict=True))), width)
        return distinct([(position, free) for position, free in enumerate(self.free) if free >= share], width)

    def _around_held(self, width: int) -> Iterator[tuple[int, ...]]:
        """Combine the nodes that hold CPUs, none more than its share, with others."""
        share = self._even_share(width)
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
        """Take the share from every node at these positions and the remainder from some.

        None when too few CPUs are free, or no change can be below *to_beat*.
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
        """Tell the standard deviation of what is left free, in thousandths, rounded as by the kubelet."""
        return (isqrt(4 * (self._deviation + 1_000_000 * change) // len(self._counts)) + 1) // 2

    @cached_property
    def _counts(self) -> tuple[int, ...]:
        """The free CPUs of each node, whose balance is judged."""
        return self.free

    @cached_property
    def _ends(self) -> bool:
        """Whether every remainder can be dealt: all CPUs beside whole groups make no group."""
        return self.rules.counts_whole_groups or sum([count % self.group for count in self.free]) < self.group

    @cached_property
    def _deviation(self) -> int:
        """Squared distances of the free CPUs now from the mean afterwards, in millionths."""
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
    """Name the loop over the remainder that the kubelet never leaves, holding the CPU Manager's lock.

    Kubernetes pull request 140730 mends it where nodes lack whole groups, from 1.38 on.
    """
    return KubeletFault(
        kind=FaultKind.ENDLESS_LOOP, where="CPU Manager, distributing CPUs across NUMA nodes", why=why
    )
