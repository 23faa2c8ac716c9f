"""Merging as the kubelet does it: every combination, left to right, keeping the better one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

from cpuctl.engine.hints.hints import Hint
from cpuctl.engine.masks import NodeMask

Better = Callable[[int, int], bool]


def narrower(one: int, other: int) -> bool:
    """Return whether *one* fits better: fewer nodes, then the smaller number."""
    return (one.bit_count(), one) < (other.bit_count(), other)


def naive_merge(lists: Sequence[Sequence[Hint]], everything: int, better: Better = narrower) -> Hint:
    """Try every combination of one hint of each list."""
    sizes = [[hint.nodes.bit_count() for hint in hints if hint.nodes is not None] for hints in lists]
    widest = max((min(each) for each in sizes if each), default=0)
    best: Hint | None = None
    for combination in product(*lists):
        candidate = _combine(combination, everything)
        if candidate.nodes and (best is None or _wins(candidate, best, widest, better)):
            best = candidate
    return best or Hint(NodeMask(everything), preferred=False)


def naive_rivals(lists: Sequence[Sequence[Hint]], everything: int) -> set[int]:
    """Return the sets of the winner's size and rank, including the winner: they are compared."""
    winner = naive_merge(lists, everything)
    assert winner.nodes is not None
    combined = [_combine(combination, everything) for combination in product(*lists)]
    return {
        hint.nodes
        for hint in combined
        if hint.nodes
        and hint.preferred == winner.preferred
        and hint.nodes.bit_count() == winner.nodes.bit_count()
    }


def _combine(hints: Sequence[Hint], everything: int) -> Hint:
    nodes = everything
    masks = {hint.nodes for hint in hints if hint.nodes is not None}
    for mask in masks:
        nodes &= mask
    return Hint(NodeMask(nodes), all(hint.preferred for hint in hints) and len(masks) <= 1)


def _wins(candidate: Hint, best: Hint, widest: int, better: Better) -> bool:
    assert candidate.nodes is not None
    assert best.nodes is not None
    if candidate.preferred != best.preferred:
        return candidate.preferred
    if candidate.preferred or best.nodes.bit_count() > widest:
        return better(candidate.nodes, best.nodes)
    size, other = candidate.nodes.bit_count(), best.nodes.bit_count()
    if other == widest:
        return size == widest and better(candidate.nodes, best.nodes)
    if size >= widest:
        return size == widest
    return size > other or (size == other and better(candidate.nodes, best.nodes))
