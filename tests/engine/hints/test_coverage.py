"""What a request asks of a set of NUMA nodes, told by hand or by going through all sets."""

from __future__ import annotations

from itertools import product

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.hints.coverage import Coverage
from cpuctl.engine.masks import NodeMask

ALL = 0b1111
_NEXT_TO = ((0b0001, 3), (0b0100, 1), (0b0010, 3), (0b1100, 2), (0b0110, 1), (0b110000, 5))
AMOUNTS = {NodeMask(nodes): amount for nodes, amount in _NEXT_TO}
"""Next to node 0 and 1 as much, next to node 3 only what it shares, next to others what is not looked at."""


def asking(wanted: int, *required: int) -> Coverage:
    return Coverage.of(NodeMask(ALL), AMOUNTS, map(NodeMask, required), wanted)


def brought(nodes: int, counted: int = 0) -> int:
    """Return what a set brings beside what those *counted* have brought, shared things once."""
    return sum(amount for mask, amount in AMOUNTS.items() if mask & nodes and not mask & counted)


@pytest.mark.parametrize("wanted", range(-1, 12))
def test_a_set_serves_that_has_as_much_next_to_it_as_is_wanted(wanted: int) -> None:
    for nodes in range(ALL + 1):
        assert (NodeMask(nodes) in asking(wanted)) == (brought(nodes) >= wanted)


@pytest.mark.parametrize(
    ("required", "wanted"),
    list(product([(0b0001,), (0b1100, 0b0010), (0b1001, 0b1001)], range(12))),
)
def test_a_required_mask_has_to_have_a_node_in_the_set(required: tuple[int, ...], wanted: int) -> None:
    """How much there is makes up for none of them, nor do they make up for what there is."""
    for nodes in range(ALL + 1):
        served = brought(nodes) >= wanted and all(mask & nodes for mask in required)
        assert (NodeMask(nodes) in asking(wanted, *required)) == served


def test_what_a_node_has_to_itself_is_what_a_set_loses_with_it() -> None:
    for node, nodes in product(range(4), range(ALL + 1)):
        if nodes >> node & 1:
            assert asking(0).only_at(node, NodeMask(nodes)) == brought(nodes) - brought(nodes & ~(1 << node))
            assert asking(0).amounts_at(node) == brought(1 << node)


def test_taking_nodes_in_counts_what_they_share_once() -> None:
    for taken, wanted in product(range(ALL + 1), range(12)):
        coverage = asking(wanted)
        progress = coverage.start
        for node in CPUSet(taken):
            progress = coverage.add(progress, node)
        assert progress[0] == max(wanted - brought(taken), 0)


def test_a_bound_is_the_sum_of_the_largest() -> None:
    """Alike nodes are taken at once where nothing that is shared is counted yet; elsewhere one by one."""
    for taken, wanted, free in product(range(ALL + 1), range(12), range(ALL + 1)):
        coverage = asking(wanted)
        progress, remaining = coverage.start, free & ~taken | 0b110000
        for node in CPUSet(taken):
            progress = coverage.add(progress, node)
        brings = sorted((brought(1 << node, taken) for node in CPUSet(remaining & ALL)), reverse=True)
        for count in range(-1, 6):
            enough = sum(brings[: max(count, 0)]) >= progress[0]
            assert coverage.within_reach(progress, NodeMask(remaining), count) == (progress[0] == 0 or enough)


def test_prospects_are_equal_that_differ_in_what_makes_no_difference() -> None:
    coverage = asking(9)
    one, other = coverage.add(coverage.start, 2), coverage.add(coverage.start, 3)
    assert one == (5, 0b11000)
    assert other == (7, 0b01000)
    remembered = {remaining: coverage.forget(one, NodeMask(remaining)) for remaining in range(ALL + 1)}
    for remaining, forgotten in remembered.items():
        kept = (0b01000 if remaining & 0b1100 else 0) | (0b10000 if remaining & 0b0110 else 0)
        assert forgotten == (5, kept)
    assert coverage.forget((0, 0b01000), NodeMask(ALL)) == (0, 0)
    assert coverage.forget((1, 0b01000), NodeMask(ALL)) == (1, 0b01000)


@pytest.mark.parametrize(
    ("amounts", "shared"),
    [
        ({}, 0),
        ({0b0001: 3, 0b0010: 3, 0b0100: 1}, 0),
        ({0b0010: 3, 0b1100: 1}, 0b1100),
        ({0b0110: 3, 0b1100: 1}, 0b1110),
    ],
)
def test_nodes_share_what_lies_next_to_several(amounts: dict[NodeMask, int], shared: int) -> None:
    assert Coverage(nodes=NodeMask(ALL), amounts=amounts, wanted=0).shared_nodes == shared
