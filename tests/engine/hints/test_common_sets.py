"""Sets of NUMA nodes that satisfy several requests at once are found without generating them all."""

from __future__ import annotations

import pytest

from cpuctl.engine.hints.common_sets import CommonSets, Constraints
from cpuctl.engine.hints.coverage import Coverage, SocketRule
from cpuctl.engine.masks import NODE_0, NodeMask
from tests.support.costs import seconds_below

CPUS = Coverage.of(
    NodeMask(0b111111), {NODE_0 << node: cpus for node, cpus in enumerate((2, 4, 0, 3, 4, 1))}, (), 8
)
NICS = Coverage.of(
    NodeMask(0b111111),
    {NodeMask(0b000011): 1, NodeMask(0b001100): 1, NodeMask(0b110000): 1, NodeMask(0b000100): 1},
    [NodeMask(0b001100)],
    2,
)
PAGES = Coverage.of(
    NodeMask(0b111011), {NODE_0 << node: pages for node, pages in enumerate((1, 1, 5, 2, 0, 1))}, (), 3
)
NOTHING = Coverage.of(NodeMask(0b111111), {}, (), 0)
BY_TWO = {node: frozenset({node // 2}) for node in range(6)}
REQUESTS = {
    "cpus": [CPUS],
    "nics": [NICS],
    "cpus, nics": [CPUS, NICS],
    "cpus, pages": [CPUS, PAGES],
    "all three": [CPUS, NICS, PAGES],
    "cpus, nothing": [CPUS, NOTHING],
}


@pytest.mark.parametrize("requested", REQUESTS.values(), ids=REQUESTS)
@pytest.mark.parametrize("sockets", [None, 1, 2, 3])
def test_the_lowest_set_is_the_first_of_all(requested: list[Coverage], sockets: int | None) -> None:
    rules = [] if sockets is None else [SocketRule(wanted=sockets, of_node=BY_TWO)]
    for size in range(7):
        serving = [
            nodes
            for nodes in range(64)
            if nodes.bit_count() == size
            and all(not nodes & ~each.nodes and NodeMask(nodes) in each for each in requested)
            and all(rule.allows(NodeMask(nodes)) for rule in rules)
        ]
        choice = CommonSets.common(requested, size, rules)
        assert choice.lowest() == min(serving, default=None)
        assert choice.possible is bool(serving)


def test_nodes_that_add_nothing_are_skipped_for_the_last_missing_amount() -> None:
    """Nodes 0 and 1 would be enough nodes, but the requested amount is only at nodes 2 and 3."""
    assert (
        CommonSets.common(
            [Coverage.of(NodeMask(0b1111), {NodeMask(0b0100): 1, NodeMask(0b1000): 1}, (), 1)], 2
        ).lowest()
        == 0b0101
    )


def test_the_socket_rule_applies_to_nodes_that_are_added_later() -> None:
    """Node 1 is in both sockets, and one socket is wanted."""
    across = {0: frozenset({0}), 1: frozenset({0, 1}), 2: frozenset({1})}
    rule = SocketRule(wanted=1, of_node=across)
    choice = CommonSets.common([Coverage.of(NodeMask(0b111), {}, (), 0)], 1, [rule])
    assert choice.lowest() == 0b001
    assert choice.taking(1).lowest() is None
    assert choice.taking(2).lowest() == 0b100


def opposed(amounts: list[int], most: int, wanted: int, wanted_too: int) -> list[Coverage]:
    """Request two resources: the more a node has of one, the less it has of the other."""
    nodes = (1 << len(amounts)) - 1
    return [
        Coverage.of(
            NodeMask(nodes), {NODE_0 << node: amount for node, amount in enumerate(amounts)}, (), wanted
        ),
        Coverage.of(
            NodeMask(nodes),
            {NODE_0 << node: most - amount for node, amount in enumerate(amounts)},
            (),
            wanted_too,
        ),
    ]


def test_equivalent_choices_are_tried_once() -> None:
    """All amounts are even, but 16 nodes need 81 of one resource and 79 of the other."""
    amounts = [2, 4, 6, 8] * 8
    with seconds_below(10):
        assert not CommonSets.common(opposed(amounts, 10, 81, 79), 16).possible
        assert CommonSets.common(opposed(amounts, 10, 80, 80), 16).possible


@pytest.mark.parametrize("most", [1 << 31, 1 << 34])
def test_requests_that_exclude_each_other_are_detected_at_once(most: int) -> None:
    """No two nodes have the same amounts, and the two requests together are slightly too large."""
    amounts = [(1 << 29) + node * 94_906_267 % (3 << 29) for node in range(40)]
    least, greatest = sum(sorted(amounts)[:20]), sum(sorted(amounts)[20:])
    wanted, little = (least + greatest) // 2, (greatest - least) // 50
    requested = opposed(amounts, most, wanted, 20 * most - wanted + little)
    with seconds_below(10):
        assert all(CommonSets.common([each], 20).possible for each in requested)
        assert not CommonSets.common(requested, 20).possible


def test_taken_nodes_are_the_result_if_no_others_remain() -> None:
    assert Constraints(coverages=()).lowest((), remaining=NodeMask(0), count=0, taken=NodeMask(0b10)) == 0b10
