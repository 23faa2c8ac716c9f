"""The best set of NUMA nodes is the first in order; a second is found if the two cannot be compared."""

from __future__ import annotations

import pytest

from cpuctl.engine.hints.coverage import SocketRule
from cpuctl.engine.hints.hints import Fit
from cpuctl.engine.hints.node_search import SetsWithCPUs, best_sets
from cpuctl.engine.masks import NodeMask
from tests.support.naive_node_search import all_sets

BY_TWO = {node: frozenset({node // 2}) for node in range(6)}
TANGLED = {0: {0, 1}, 1: {1}, 2: {1, 2}, 3: {2}, 4: {0, 3}, 5: {3}}
RULES = [
    None,
    *(SocketRule(wanted=wanted, of_node=BY_TWO) for wanted in (1, 2, 3)),
    *(
        SocketRule(wanted=wanted, of_node={node: frozenset(each) for node, each in TANGLED.items()})
        for wanted in (2, 3)
    ),
]
FREE = {0: 1, 2: 4, 3: 2, 4: 0, 5: 4}
ROWS = [
    (10, 31, 12, 17, 21, 30),
    (31, 10, 14, 25, 11, 19),
    (12, 14, 10, 29, 16, 13),
    (17, 25, 29, 10, 15, 22),
]
NEAR = Fit(distances=dict(enumerate([*ROWS, (21, 11, 16, 15, 10, 27), (30, 18, 13, 22, 27, 10)])))
SHORT = Fit(distances=dict.fromkeys(range(6), (10, 12, 14)))


@pytest.mark.parametrize("rule", RULES, ids=range(len(RULES)))
@pytest.mark.parametrize("fit", [Fit(), NEAR], ids=["any distance", "closest"])
def test_the_best_set_is_the_first_of_all_sets(fit: Fit, rule: SocketRule | None) -> None:
    for taken in (0, 0b10):
        for count in range(-1, 7):
            for missing in (-1, 0, 4, 6, 8, 9, 11, 12):
                choice = SetsWithCPUs(NodeMask(taken), FREE, count, missing, rule)
                tried = all_sets(choice)
                assert choice.possible is bool(tried)
                assert best_sets(choice, fit) == sorted(tried, key=fit.key)[:1]


SECOND_CASES = {
    "all known": (SetsWithCPUs(NodeMask(0), {0: 1, 1: 1, 2: 1}, 2, 2), 1),
    "two rivals": (SetsWithCPUs(NodeMask(0), {2: 1, 3: 1, 5: 1}, 2, 2), 2),
    "one rival": (SetsWithCPUs(NodeMask(0), {2: 2, 3: 1, 5: 1}, 2, 3), 2),
    "no rival": (SetsWithCPUs(NodeMask(0), {2: 2, 3: 1}, 2, 2), 1),
    "no set at all": (SetsWithCPUs(NodeMask(0), {2: 2, 3: 1, 5: 1}, 2, 4), 0),
    "a node taken before": (SetsWithCPUs(NodeMask(1 << 4), {3: 1, 5: 1}, 1, 1), 2),
    "another socket": (SetsWithCPUs(NodeMask(0), {2: 1, 3: 1, 4: 1, 5: 1}, 2, 2, RULES[1]), 2),
    "only without one of its nodes": (SetsWithCPUs(NodeMask(0), {0: 3, 3: 1, 4: 1}, 2, 3), 2),
}


@pytest.mark.parametrize(("choice", "number"), SECOND_CASES.values(), ids=SECOND_CASES)
def test_a_second_set_is_found_if_distances_are_unknown(choice: SetsWithCPUs, number: int) -> None:
    """The kubelet cannot compare the two: no row has distances beyond node 2."""
    found, tried = best_sets(choice, SHORT), all_sets(choice)
    assert len(found) == len(set(found)) == number
    assert found[:1] == sorted(tried, key=SHORT.key)[:1]
    assert set(found) <= set(tried)
