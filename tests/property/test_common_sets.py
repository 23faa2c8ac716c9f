"""Sets that satisfy several requests: earlier results and bounds change only the amount of work."""

from __future__ import annotations

from itertools import combinations
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from cpuctl.cpuset import CPUSet
from cpuctl.engine.hints.common_sets import CommonSets, Constraints
from cpuctl.engine.hints.coverage import Coverage
from cpuctl.engine.hints.hints import Fit
from cpuctl.engine.hints.node_search import best_sets
from cpuctl.engine.masks import NODE_0, NodeMask
from tests.property.test_device_hints import any_coverage

NODES = 6
_PLENTY = 1 << 80
requests = st.lists(any_coverage, min_size=1, max_size=3)
decisions = st.lists(st.tuples(st.booleans(), st.booleans()), max_size=NODES)


def searched_again(choice: CommonSets) -> int | None:
    """Find the lowest set of a choice without the results of the choices it is derived from."""
    constraints = Constraints(coverages=choice.constraints.coverages, rules=choice.constraints.rules)
    return constraints.lowest(choice.state, choice.remaining, choice.more, choice.taken)


@given(requests, st.integers(0, NODES), decisions)
def test_deciding_on_nodes_finds_what_a_new_search_finds(
    requested: list[Coverage], size: int, decided: list[tuple[bool, bool]]
) -> None:
    choice = CommonSets.common(requested, size)
    for taken, highest in decided:
        if not choice.free:
            break
        node = (max if highest else min)(choice.free)
        choice = choice.taking(node) if taken else choice.without(node)
        assert choice.lowest() == searched_again(choice)


@given(requests, st.integers(1, NODES), st.lists(st.integers(10, 30), min_size=NODES**2, max_size=NODES**2))
def test_the_closest_set_is_the_first_of_all(requested: list[Coverage], size: int, far: list[int]) -> None:
    fit = Fit(distances={node: far[node * NODES : (node + 1) * NODES] for node in range(NODES)})
    sets = [NodeMask(sum(1 << node for node in chosen)) for chosen in combinations(range(NODES), size)]
    serving = [
        nodes for nodes in sets if all(not nodes & ~each.nodes and nodes in each for each in requested)
    ]
    assert best_sets(CommonSets.common(requested, size), fit) == sorted(serving, key=fit.key)[:1]


@given(any_coverage, st.integers(0, 63), st.integers(0, 63), st.integers(-1, NODES))
def test_a_bound_is_the_sum_of_the_largest(coverage: Coverage, taken: int, free: int, count: int) -> None:
    """Equal nodes are taken at once while nothing shared is counted yet, and otherwise one by one."""
    progress, remaining = coverage.start, free & coverage.nodes & ~taken
    for node in CPUSet(taken & coverage.nodes):
        progress = coverage.add(progress, node)
    missing, counted = progress
    brings = [_PLENTY - coverage.add((_PLENTY, counted), node)[0] for node in CPUSet(remaining)]
    largest = sum(sorted(brings, reverse=True)[: max(count, 0)])
    assert coverage.within_reach(progress, NodeMask(remaining), count) == (missing <= 0 or largest >= missing)


def test_one_of_two_choices_needs_no_search() -> None:
    requested = [
        Coverage.of(NodeMask(0xFFFF), {NODE_0 << node: 4 for node in range(16)}, (), wanted)
        for wanted in (13, 14)
    ]
    choice = CommonSets.common(requested, 4)
    assert choice.lowest() == 0b1111
    with patch.object(Constraints, "lowest", side_effect=AssertionError("it was searched again")):
        assert choice.lowest() == choice.without(15).lowest() == choice.taking(0).lowest() == 0b1111
    assert choice.without(0).lowest() == 0b11110
    assert choice.taking(15).lowest() == 0b1000_0000_0000_0111
