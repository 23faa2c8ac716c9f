"""Which intersections can be reached by taking one set out of every list."""

from __future__ import annotations

from collections.abc import Sequence

from cpuctl.cpuset import CPUSet

LARGEST_PRODUCT = 1 << 17
"""Intersections made one by one before all sets of nodes are counted at once."""


def reachable_sets(lists: Sequence[Sequence[int]], everything: int) -> set[int]:
    """Intersect one mask of every list in all ways; without lists that is *everything*."""
    reached = {everything}
    shortest_first = sorted(map(set, lists), key=len)
    for index, masks in enumerate(shortest_first):
        if len(reached) * len(masks) > LARGEST_PRODUCT:
            return _counted([reached, *shortest_first[index:]], everything)
        reached = {one & other for one in reached for other in masks}
    return reached


def _counted(lists: Sequence[set[int]], everything: int) -> set[int]:
    """Count by inclusion and exclusion how many combinations intersect to exactly each set.

    The work grows with lists * nodes * 2^nodes, never with the product of the lists.
    """
    bits = list(CPUSet(everything))
    product = [1] * (1 << len(bits))
    for masks in lists:
        counts = [0] * len(product)
        for mask in masks:
            counts[_packed(mask, bits)] += 1
        _over_supersets(counts, len(bits), 1)
        product = [one * other for one, other in zip(product, counts, strict=True)]
    _over_supersets(product, len(bits), -1)
    return {_unpacked(index, bits) for index, count in enumerate(product) if count}


def _over_supersets(counts: list[int], width: int, sign: int) -> None:
    """Add to every set (or take away again) the counts of all sets that contain it."""
    for bit in range(width):
        step = 1 << bit
        for start in range(0, len(counts), step << 1):
            for index in range(start, start + step):
                counts[index] += sign * counts[index + step]


def _packed(mask: int, bits: list[int]) -> int:
    return sum(1 << index for index, bit in enumerate(bits) if mask >> bit & 1)


def _unpacked(index: int, bits: list[int]) -> int:
    return sum(1 << bit for position, bit in enumerate(bits) if index >> position & 1)
