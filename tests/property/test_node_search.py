"""Searching sets of NUMA nodes finds what trying all of them finds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cpuctl.cpuset import CPUSet
from cpuctl.engine.hints.coverage import SocketRule
from cpuctl.engine.hints.hints import Fit
from cpuctl.engine.hints.node_search import SetsWithCPUs, best_sets
from cpuctl.engine.masks import NodeMask
from tests.support.naive_node_search import all_sets

NODES = 7
FREE = st.dictionaries(st.integers(0, NODES - 1), st.integers(0, 5))
ROWS = st.lists(st.integers(10, 13) | st.integers(10, 30), min_size=NODES, max_size=NODES)
SHORT_ROWS = st.lists(st.integers(10, 13), min_size=3, max_size=NODES)
FITS = st.builds(
    lambda rows: Fit(distances=dict(enumerate(rows))),
    st.lists(ROWS, min_size=NODES, max_size=NODES) | st.lists(SHORT_ROWS, min_size=NODES, max_size=NODES),
) | st.just(Fit())
NESTED = st.integers(1, 4).map(
    lambda per_socket: {node: frozenset({node // per_socket}) for node in range(NODES)}
)
TANGLED = st.fixed_dictionaries(
    {node: st.frozensets(st.integers(0, 3), min_size=1, max_size=3) for node in range(NODES)}
)
RULES = st.none() | st.builds(
    lambda wanted, of_node: SocketRule(wanted=wanted, of_node=of_node), st.integers(0, 4), NESTED | TANGLED
)


@st.composite
def choices(draw: st.DrawFn) -> SetsWithCPUs:
    free = dict(sorted(draw(FREE).items()))
    taken = draw(st.integers(0, (1 << NODES) - 1)) & ~CPUSet.of(free).mask
    return SetsWithCPUs(
        NodeMask(taken), free, draw(st.integers(-1, len(free) + 1)), draw(st.integers(-3, 20)), draw(RULES)
    )


@given(choices(), FITS)
def test_the_best_set_is_the_first_of_all(choice: SetsWithCPUs, fit: Fit) -> None:
    found, tried = best_sets(choice, fit), all_sets(choice)
    assert choice.possible is bool(tried)
    assert found[:1] == sorted(tried, key=fit.key)[:1]


@given(choices(), FITS)
def test_a_second_set_is_found_where_distances_are_unknown(choice: SetsWithCPUs, fit: Fit) -> None:
    found, tried = best_sets(choice, fit), all_sets(choice)
    assert set(found) <= set(tried)
    if found and fit.unknown(found[0]):
        assert len(set(found)) == min(len(tried), 2)
    else:
        assert len(found) <= 1
