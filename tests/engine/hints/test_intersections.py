"""Intersections of sets of NUMA nodes that each satisfy one request, found without generating the sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from cpuctl.engine.hints.coverage import Coverage
from cpuctl.engine.hints.hints import Fit
from cpuctl.engine.hints.merge import Intersections
from cpuctl.engine.hints.node_search import best_sets
from cpuctl.engine.masks import NODE_0, NodeMask
from tests.support.costs import seconds_below
from tests.support.naive_cuts import naive_cuts


def requested(wanted: int, amounts: Sequence[int], shared: Mapping[int, int] | None = None) -> Coverage:
    """Return a request for the *wanted* amount, with amounts at each node and amounts *shared* by several."""
    by_node = {NODE_0 << node: amount for node, amount in enumerate(amounts)}
    by_nodes = {NodeMask(nodes): amount for nodes, amount in (shared or {}).items()}
    return Coverage(nodes=NodeMask((1 << len(amounts)) - 1), amounts=by_node | by_nodes, wanted=wanted)


def possible(requests: Sequence[Sequence[Coverage]], size: int) -> bool:
    return Intersections.of(requests, requests[0][0].nodes, size).possible


CASES = [
    [
        [requested(12, [5, 1, 4, 3, 3, 5], {0b101010: 1})],
        [requested(18, [7, 1, 7, 7, 4, 5])],
    ],
    [
        [requested(16, [7, 2, 7, 1], {0b1001: 2}), requested(10, [5, 4, 2, 4])],
        [requested(17, [4, 5, 3, 7], {0b1011: 3})],
    ],
    [
        [requested(7, [1, 2, 7, 2]), requested(11, [3, 7, 7, 2], {0b1101: 2})],
        [requested(6, [1, 5, 7, 4])],
    ],
    [
        [requested(19, [6, 7, 3, 2, 7, 6])],
        [requested(24, [4, 7, 1, 7, 6, 6])],
    ],
    [
        [requested(5, [3, 2, 0, 5, 7, 0])],
        [requested(27, [1, 5, 4, 7, 7, 6], {0b100001: 1})],
    ],
    [
        [requested(17, [5, 7, 2, 4, 4, 7]), requested(18, [7, 2, 2, 6, 4, 1])],
        [requested(21, [7, 3, 1, 5, 4, 7]), requested(14, [5, 4, 4, 1, 5, 0])],
    ],
    [
        [requested(26, [3, 7, 7, 3, 5, 4])],
        [requested(13, [2, 3, 1, 4, 1, 4], {0b1010: 1}), requested(8, [5, 0, 4, 0, 3, 0])],
    ],
]
"""Requests whose omitted nodes cannot be divided by omitting each node where that costs least."""


@pytest.mark.parametrize("requests", CASES, ids=range(len(CASES)))
def test_omitted_nodes_are_divided_among_requests(requests: list[list[Coverage]]) -> None:
    nodes = requests[0][0].nodes
    cuts = sorted(naive_cuts(requests, nodes))
    for size in range(nodes.bit_count() + 1):
        lowest = [cut for cut in cuts if cut.bit_count() == size][:1]
        assert best_sets(Intersections.of(requests, nodes, size), Fit()) == lowest


def test_equivalent_splits_are_tried_once() -> None:
    """All amounts are even, and each request can spare an odd amount, of which one cannot be used."""
    amounts = [2, 4, 6] * 8
    with seconds_below(10):
        assert not possible([[requested(47, amounts)], [requested(49, amounts)]], 0)
        assert possible([[requested(48, amounts)], [requested(48, amounts)]], 0)


def test_the_scarcest_resource_limits_how_many_nodes_a_request_spares() -> None:
    """Each request can spare ten of 64 different nodes for one resource, and all nodes for the other."""
    amounts = [1000 + node for node in range(64)]
    request = [requested(sum(amounts) - 10_500, amounts), requested(0, [1] * 64)]
    with seconds_below(10):
        assert not possible([request, request], 43)
        assert possible([request, request], 44)


def test_the_cost_of_a_node_is_its_fraction_of_the_spare_amount() -> None:
    """With three requests for memory in bytes, no two divisions of 40 nodes are equal, and most fail."""
    amounts = [[(1 << 29) + pow(base, node + 3, 1_610_612_741) for node in range(40)] for base in (3, 5, 7)]
    with seconds_below(10):
        assert possible([[requested(sum(each) - sum(each) * 25 // 100, each)] for each in amounts], 0)
