"""Weighing two requests against each other excludes nothing that satisfies both."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpuctl.engine.hints import common_sets
from cpuctl.engine.hints.common_sets import CommonSets
from cpuctl.engine.hints.coverage import Coverage, balances
from cpuctl.engine.hints.hints import Fit
from cpuctl.engine.hints.node_search import best_sets
from cpuctl.engine.masks import NODE_0, NodeMask
from tests.property.test_device_hints import any_coverage


def serving(requested: list[Coverage], size: int) -> list[int]:
    return [
        nodes
        for nodes in range(64)
        if nodes.bit_count() == size
        and all(not nodes & ~each.nodes and NodeMask(nodes) in each for each in requested)
    ]


@given(st.lists(any_coverage, min_size=2, max_size=3), st.integers(1, 6))
def test_what_satisfies_all_satisfies_their_balances(requested: list[Coverage], size: int) -> None:
    for balance in balances(requested, size):
        assert all(NodeMask(nodes) in balance for nodes in serving(requested, size))


@given(st.lists(any_coverage, min_size=2, max_size=3), st.integers(0, 6))
def test_the_search_with_balances_finds_every_set(requested: list[Coverage], size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(common_sets, "_FEW_NODES", 0)
        assert best_sets(CommonSets.common(requested, size), Fit()) == serving(requested, size)[:1]


def test_a_balance_shows_what_neither_request_shows() -> None:
    """Four of eight nodes have enough of each kind, but those with much of one have little of the other."""
    low, high = ({NODE_0 << node: 3 + ((node < 4) == first) for node in range(8)} for first in (True, False))
    requested = [Coverage.of(NodeMask(255), amounts, (), 15) for amounts in (low, high)]
    assert all(CommonSets.common([each], 4).possible for each in requested)
    (balance,) = balances(requested, 4)
    assert not CommonSets.common([balance], 4).possible
