"""Weighing two requests against each other shows that no set of NUMA nodes satisfies both."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from cpuctl.engine.hints.coverage import Coverage, balances
from cpuctl.engine.masks import NODE_0, NodeMask

CASES = [
    ([5, 0, 6], 7, [0, 6, 1], 6, 2),
    ([5, 5, 1], 9, [2, 0, 5], 3, 2),
    ([2, 4, 5, 6], 10, [6, 1, 2, 0], 3, 2),
    ([2, 0, 5], 6, [0, 5, 4], 7, 2),
    ([4, 0, 1, 0], 3, [0, 2, 4, 2], 5, 2),
    ([5, 3, 4], 9, [2, 3, 0], 3, 2),
    ([5, 1, 6], 8, [5, 5, 4], 10, 2),
    ([0, 5, 4, 4], 7, [5, 4, 3, 4], 9, 2),
    ([5, 4, 5, 6], 16, [1, 3, 3, 1], 6, 3),
    ([1, 0, 2, 2], 4, [2, 1, 0, 1], 2, 2),
]
"""For two requests, the amounts at each node and the wanted amount; and the allowed number of nodes.

Each request alone fits on that many nodes, but a few weights of one against the other show that both do not.
"""


def request(amounts: Sequence[int], wanted: int) -> Coverage:
    by_node = {NODE_0 << node: amount for node, amount in enumerate(amounts)}
    return Coverage(nodes=NodeMask((1 << len(amounts)) - 1), amounts=by_node, wanted=wanted)


def within_reach(coverage: Coverage, size: int) -> bool:
    return coverage.within_reach(coverage.start, coverage.nodes, size)


@pytest.mark.parametrize(("one", "wanted", "other", "wanted_too", "size"), CASES)
def test_weights_show_that_no_set_satisfies_both(
    one: list[int], wanted: int, other: list[int], wanted_too: int, size: int
) -> None:
    requested = [request(one, wanted), request(other, wanted_too)]
    assert all(within_reach(each, size) for each in requested)
    for pair in (requested, requested[::-1]):
        (balance,) = balances(pair, size)
        assert not within_reach(balance, size)


def test_only_nodes_of_both_requests_are_weighed() -> None:
    everywhere, elsewhere = (
        request([1, 1, 9], 2),
        Coverage(nodes=NodeMask(0b110), amounts={NodeMask(2): 1, NodeMask(4): 9}, wanted=9),
    )
    for pair in ([everywhere, elsewhere], [elsewhere, everywhere]):
        (balance,) = balances(pair, 1)
        assert balance.nodes == 0b110


def test_a_node_weighs_by_its_fraction_of_the_wanted_amount() -> None:
    """One request is for two CPUs, the other for two pages of memory in bytes: a node has half of either."""
    for pages in (1, 4096):
        (balance,) = balances([request([1, 0, 0], 2), request([0, pages, 0], 2 * pages)], 1)
        assert [4 * balance.amounts[NODE_0 << node] for node in range(3)] == [balance.wanted] * 2 + [0]


def test_a_request_for_nothing_is_not_weighed() -> None:
    nothing, one, more = (request([1, 2], wanted) for wanted in (0, 1, 2))
    assert not list(balances([nothing, one], 1))
    assert len(list(balances([nothing, one, more], 1))) == 1
    assert len(list(balances([one, one, more], 1))) == 3


def test_only_as_many_nodes_as_allowed_are_counted() -> None:
    """Two nodes would satisfy both requests, the best single node does not."""
    (balance,) = balances([request([3, 1], 3), request([1, 3], 3)], 1)
    assert not within_reach(balance, 1)
    assert within_reach(balance, 2)
