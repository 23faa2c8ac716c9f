"""What two requests ask of a set of NUMA nodes together, where a node good for one is bad for the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from cpuctl.cpuset import CPUSet
from cpuctl.engine.hints.coverage import Coverage

_STEPS = 16


def balances(coverages: Sequence[Coverage], size: int) -> Iterator[Coverage]:
    """Weigh every two of the coverages against each other, as hard to meet with *size* nodes as may be.

    Whoever serves both serves the outcome as well: it only shows earlier that there is no such set.
    """
    for one, other in combinations([each for each in coverages if each.wanted > 0], 2):
        yield _balance(one, other, size)


def _balance(one: Coverage, other: Coverage, size: int) -> Coverage:
    low, high = 0, 1 << _STEPS
    balance = one
    for _ in range(_STEPS):
        weight = (low + high) // 2
        weights = weight * other.wanted, ((1 << _STEPS) - weight) * one.wanted
        balance = _weighed(one, other, weights)
        best = _largest(balance, size)
        enough = [sum(each.amounts_at(node) for node in best) >= each.wanted for each in (one, other)]
        if enough[0] == enough[1]:
            break
        low, high = (low, weight) if enough[0] else (weight, high)
    return balance


def _weighed(one: Coverage, other: Coverage, weights: tuple[int, int]) -> Coverage:
    amounts: dict[int, int] = {}
    for each, weight in zip((one, other), weights, strict=True):
        for mask, amount in each.amounts.items():
            # More than is wanted must not make up for what the other one lacks.
            amounts[mask] = amounts.get(mask, 0) + weight * min(amount, each.wanted)
    wanted = weights[0] * one.wanted + weights[1] * other.wanted
    return Coverage(nodes=one.nodes & other.nodes, amounts=amounts, wanted=wanted)


def _largest(coverage: Coverage, size: int) -> list[int]:
    return sorted(CPUSet(coverage.nodes), key=coverage.amounts_at, reverse=True)[:size]
