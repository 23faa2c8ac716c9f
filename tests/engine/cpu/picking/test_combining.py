"""What the kubelet's memory makes of a stored combination, by example; ``tests/property`` simulates it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from cpuctl.engine.cpu.picking.balance import effective_combination

ENTRIES_KEPT = {1: 1, 2: 2, 3: 3, 4: 3, 5: 5, 6: 5, 7: 5, 8: 5, 9: 9, 10: 9, 16: 9, 17: 17, 18: 17, 33: 33}


@pytest.mark.parametrize(("size", "own"), ENTRIES_KEPT.items())
def test_entries_that_a_combination_keeps(size: int, own: int) -> None:
    """Go's append doubles an array once it is full: what fits into spare room is shared with later ones."""
    total = 100
    want = (*range(own), *range(total - size + own, total))
    assert effective_combination(tuple(range(size)), total) == want


@dataclass(frozen=True)
class Stopped:
    """A combination of 0..7 at which enumeration stops, and what is stored in the end."""

    name: str
    combination: tuple[int, ...]
    want: tuple[int, ...]


@pytest.mark.parametrize(
    "case",
    [
        Stopped("the next one shares the kept entries", (0, 1, 2, 3), (0, 1, 2, 4)),
        Stopped("the next one has a kept entry of its own", (0, 1, 2, 7), (0, 1, 2, 7)),
        Stopped("nothing is overwritten in a kept size", (0, 1, 2), (0, 1, 2)),
        Stopped("two entries move", (0, 1, 2, 3, 4, 5, 7), (0, 1, 2, 3, 4, 6, 7)),
        Stopped("the last one has no next", (4, 5, 6, 7), (4, 5, 6, 7)),
    ],
    ids=lambda case: case.name,
)
def test_a_perfect_balance_stops_the_overwriting(case: Stopped) -> None:
    assert effective_combination(case.combination, 8, stopped=True) == case.want
