"""What is left after equal shares, dealt in groups to some of the nodes."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapreplace
from typing import NamedTuple

from cpuctl.engine.cpu.picking.combining import distinct


class Remainder(NamedTuple):
    """So many ``groups`` of ``group`` CPUs, for nodes with ``left`` CPUs each, a whole group or more.

    ``whole`` tells that nodes count with their whole groups: dealing always ends then.
    """

    left: tuple[int, ...]
    groups: int
    group: int
    whole: bool

    @property
    def ends(self) -> bool:
        """Whether no subset makes the kubelet deal for ever: the CPUs beside whole groups make no group."""
        return self.whole or sum([count % self.group for count in self.left]) < self.group

    def least_change(self, size: int = 0) -> int:
        """Bound the change to the sum of squares by subsets of a size, or of any.

        The fullest nodes get a group each where the size is given, and the fullest then get the others.
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

        They come in lexicographic order, and after all larger ones: a subset that scores as one before it
        is left out, since only a strictly better one counts. A change of None is the kubelet's endless
        loop, which comes from counting free CPUs instead of whole groups.
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
        """Subsets of which only the first entries get a group, the last of them as late as it can be.

        Where it comes earlier, a larger subset gives to the same entries.
        """
        last = len(self.left) - 1 - (size - self.groups)
        rest = tuple(range(last, len(self.left)))
        return (start + rest for start in distinct(list(enumerate(self.left[:last])), self.groups - 1))

    def _change(self, counts: list[int]) -> int | None:
        """Deal round after round, skipping nodes without a whole group; None if it never ends."""
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
