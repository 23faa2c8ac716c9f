"""The fewest additional huge pages: which numbers are tried."""

from __future__ import annotations

from collections.abc import Container

import pytest

from cpuctl.engine.explain.searches.huge_pages import ONE_BY_ONE, fewest

THOUSAND = 1000


@pytest.mark.parametrize("least", [3, 4, 66, 67, 68, 131, 500, 999, 1002])
def test_the_fewest_are_found_with_few_trials(least: int) -> None:
    tried: list[int] = []

    def works(number: int) -> bool:
        tried.append(number)
        return number >= least

    assert fewest(works, 2, 2 + THOUSAND) == least
    assert len(tried) <= ONE_BY_ONE + 20


@pytest.mark.parametrize(
    ("working", "want"),
    [({3, *range(5, 1003)}, 3), ({50}, 50), (range(1002, 1003), 1002), ((), None)],
    ids=["more would not help at first", "exactly one", "the most", "none"],
)
def test_low_numbers_and_the_highest_are_tried(working: Container[int], want: int | None) -> None:
    assert fewest(working.__contains__, 2, 2 + THOUSAND) == want


def test_nothing_is_tried_if_there_is_no_room() -> None:
    assert fewest(lambda _number: True, 2, 2) is None
