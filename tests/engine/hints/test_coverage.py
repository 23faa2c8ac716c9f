"""What a request needs from a set of NUMA nodes, compared with values found by hand or by trying all sets."""

from __future__ import annotations

from itertools import product

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.hints.coverage import Coverage
from cpuctl.engine.masks import NodeMask

ALL = 0b1111
_NEXT_TO = ((0b0001, 3), (0b0100, 1), (0b0010, 3), (0b1100, 2), (0b0110, 1), (0b110000, 5))
AMOUNTS = {NodeMask(nodes): amount for nodes, amount in _NEXT_TO}
"""Nodes 0 and 1 have the same amount, node 3 only shared ones; amounts at nodes above 3 are ignored."""


def coverage_of(wanted: int, *required: int) -> Coverage:
    return Coverage.of(NodeMask(ALL), AMOUNTS, map(NodeMask, required), wanted)


def added(nodes: int, counted: int = 0) -> int:
    """Return what a set adds to what the *counted* nodes have; shared amounts count once."""
    return sum(amount for mask, amount in AMOUNTS.items() if mask & nodes and not mask & counted)


@pytest.mark.parametrize("wanted", range(-1, 12))
def test_a_set_with_the_wanted_amount_satisfies_the_request(wanted: int) -> None:
    for nodes in range(ALL + 1):
        assert (NodeMask(nodes) in coverage_of(wanted)) == (added(nodes) >= wanted)


@pytest.mark.parametrize(
    ("required", "wanted"),
    list(product([(0b0001,), (0b1100, 0b0010), (0b1001, 0b1001)], range(12))),
)
def test_a_set_needs_a_node_of_every_required_mask(required: tuple[int, ...], wanted: int) -> None:
    """The amount does not replace a required mask, and required masks do not replace the amount."""
    for nodes in range(ALL + 1):
        served = added(nodes) >= wanted and all(mask & nodes for mask in required)
        assert (NodeMask(nodes) in coverage_of(wanted, *required)) == served


def test_the_exclusive_amount_of_a_node_is_what_a_set_loses_with_it() -> None:
    for node, nodes in product(range(4), range(ALL + 1)):
        if nodes >> node & 1:
            assert coverage_of(0).only_at(node, NodeMask(nodes)) == added(nodes) - added(nodes & ~(1 << node))
            assert coverage_of(0).amounts_at(node) == added(1 << node)


def test_adding_nodes_counts_shared_amounts_once() -> None:
    for taken, wanted in product(range(ALL + 1), range(12)):
        coverage = coverage_of(wanted)
        progress = coverage.start
        for node in CPUSet(taken):
            progress = coverage.add(progress, node)
        assert progress[0] == max(wanted - added(taken), 0)


def test_a_bound_is_the_sum_of_the_largest_amounts() -> None:
    """Equal nodes are taken together as long as no shared amount is counted, otherwise one by one."""
    for taken, wanted, free in product(range(ALL + 1), range(12), range(ALL + 1)):
        coverage = coverage_of(wanted)
        progress, remaining = coverage.start, free & ~taken | 0b110000
        for node in CPUSet(taken):
            progress = coverage.add(progress, node)
        gains = sorted((added(1 << node, taken) for node in CPUSet(remaining & ALL)), reverse=True)
        for count in range(-1, 6):
            enough = sum(gains[: max(count, 0)]) >= progress[0]
            assert coverage.within_reach(progress, NodeMask(remaining), count) == (progress[0] == 0 or enough)


def test_irrelevant_differences_in_progress_are_forgotten() -> None:
    coverage = coverage_of(9)
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
def test_shared_nodes_are_those_of_amounts_at_several_nodes(
    amounts: dict[NodeMask, int], shared: int
) -> None:
    assert Coverage(nodes=NodeMask(ALL), amounts=amounts, wanted=0).shared_nodes == shared
