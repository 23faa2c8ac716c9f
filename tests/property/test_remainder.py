"""What is left after equal shares: every way to deal it, against dealing by hand."""

from __future__ import annotations

from itertools import combinations, combinations_with_replacement

from hypothesis import example, given
from hypothesis import strategies as st

from cpuctl.engine.cpu.picking.balance import Remainder


@st.composite
def remainders(draw: st.DrawFn) -> Remainder:
    """Draw a number of groups, at most what the nodes have, for nodes with at least one group each."""
    group = draw(st.integers(1, 4))
    left = draw(st.lists(st.integers(group, 3 * group + 1), min_size=1, max_size=5))
    groups = draw(st.integers(1, sum(count // group for count in left)))
    return Remainder(left=tuple(left), groups=groups, group=group, whole=draw(st.booleans()))


def change_of(before: tuple[int, ...], after: list[int]) -> int:
    return sum(count**2 for count in after) - sum(count**2 for count in before)


def dealt(dealing: Remainder, subset: tuple[int, ...]) -> int | None:
    """Deal round after round, as the kubelet does; return None if a round deals nothing."""
    left, groups = list(dealing.left), dealing.groups
    while groups:
        before = groups
        for node in subset:
            if groups and left[node] >= dealing.group:
                left[node] -= dealing.group
                groups -= 1
        if groups == before:
            return None
    return change_of(dealing.left, left)


def is_sufficient(dealing: Remainder, subset: tuple[int, ...]) -> bool:
    unit = dealing.group if dealing.whole else 1
    return sum(dealing.left[node] // unit * unit for node in subset) >= dealing.groups * dealing.group


@given(remainders())
def test_a_subset_is_dealt_to_in_rounds(dealing: Remainder) -> None:
    """Larger subsets come first; one that is left out has the same change as an earlier one."""
    known: set[int | None] = set()
    for size in range(len(dealing.left), 0, -1):
        deals = dict(dealing.deals(size))
        assert all(change == dealt(dealing, subset) for subset, change in deals.items())
        for subset in combinations(range(len(dealing.left)), size):
            if is_sufficient(dealing, subset):
                assert subset in deals or dealt(dealing, subset) in known
                known.add(dealt(dealing, subset))
            else:
                assert subset not in deals


@given(remainders())
@example(Remainder(left=(7, 7, 4), groups=3, group=4, whole=False))
def test_no_deal_is_below_its_bounds(dealing: Remainder) -> None:
    for size in range(1, len(dealing.left) + 1):
        for _, change in dealing.deals(size):
            if change is None:
                assert not dealing.ends
            else:
                assert change >= dealing.least_change(size) >= dealing.least_change()


@given(remainders())
def test_a_bound_is_the_best_of_all_ways_to_deal_to_the_fullest(dealing: Remainder) -> None:
    """With a size, that many nodes get at least one group each; a lower bound would exclude less."""
    for size in range(len(dealing.left) + 1):
        each = min(size, dealing.groups)
        fullest = tuple(sorted(dealing.left, reverse=True)[: each or None])
        others = combinations_with_replacement(range(len(fullest)), dealing.groups - each)
        ways = ([(each > 0) + way.count(place) for place in range(len(fullest))] for way in others)
        assert dealing.least_change(size) == min(
            change_of(fullest, [count - dealing.group * n for count, n in zip(fullest, way, strict=True)])
            for way in ways
        )
