"""Combinations of NUMA nodes: those that can matter, and what the kubelet's memory makes of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations


def distinct(nodes: Sequence[tuple[int, object]], size: int) -> Iterator[tuple[int, ...]]:
    """Combine positions in lexicographic order, once for every sequence of what the nodes there are like."""
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
    """Return what the kubelet's stored combination holds once enumeration has gone on.

    Up to v1.37 it keeps a slice whose later entries share memory with the combinations that follow, so
    they end as the last ones of the list, or as the next combination's when enumeration *stopped* there
    (kubernetes issue 141237). *total* is how many positions there are to combine.
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
