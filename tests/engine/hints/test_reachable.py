"""Intersections of lists of sets of NUMA nodes, found by trying all or by counting."""

from __future__ import annotations

from itertools import combinations

from cpuctl.engine.hints.merge import reachable_sets
from cpuctl.engine.masks import NodeMask
from tests.support.costs import seconds_below


def of_size(size: int, nodes: int) -> list[NodeMask]:
    return [NodeMask(sum(1 << node for node in chosen)) for chosen in combinations(range(nodes), size)]


def test_long_lists_reach_sets_of_all_possible_sizes() -> None:
    """Two sets of 8 of 13 nodes have 3 or more nodes in common, and three have any number."""
    nodes, lists = 13, [of_size(8, 13)] * 3
    everything = (1 << nodes) - 1
    with seconds_below(10):
        assert {each.bit_count() for each in reachable_sets(lists[:2], NodeMask(everything))} == set(
            range(3, 9)
        )
        assert reachable_sets(lists, NodeMask(everything)) == {
            each for each in range(everything + 1) if each.bit_count() <= 8
        }


def test_the_order_of_lists_does_not_matter() -> None:
    """Some lists are intersected one by one before the rest is counted; 9 and 8 of 13 have 4 in common."""
    lists, everything = [of_size(8, 13), of_size(9, 13)], (1 << 13) - 1
    for each in (lists, lists[::-1]):
        assert {cut.bit_count() for cut in reachable_sets(each, NodeMask(everything))} == set(range(4, 9))


def test_only_sets_inside_the_given_nodes_are_reached() -> None:
    assert reachable_sets([[NodeMask(0b0110), NodeMask(0b1100), NodeMask(0b0110)]], NodeMask(0b0111)) == {
        0b0110,
        0b0100,
    }
    assert reachable_sets([], NodeMask(0b0111)) == {0b0111}
