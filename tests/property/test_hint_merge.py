"""Merging without the product of the lists gives the same result as with it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cpuctl.engine.cpu.hints import CPUHints
from cpuctl.engine.hints import merge as reachable
from cpuctl.engine.hints.hints import IMPOSSIBLE, Fit, Hint, HintList
from cpuctl.engine.hints.merge import merge
from cpuctl.engine.masks import CPUMask, NodeMask
from cpuctl.engine.outcome import KubeletFault
from tests.support.naive_merge import Better, naive_merge, naive_rivals, narrower
from tests.support.topologies import CoreAt, topology

NODES = 4
EVERYTHING = (1 << NODES) - 1

hints = st.builds(Hint, st.none() | st.integers(1, EVERYTHING), st.booleans())
lists = st.lists(st.lists(hints, min_size=1, max_size=6), max_size=4)
rows = st.lists(st.integers(10, 30), min_size=NODES, max_size=NODES)
short_rows = st.lists(st.integers(10, 30), min_size=1, max_size=NODES)
matrices = st.lists(rows, min_size=NODES, max_size=NODES)
short_matrices = st.lists(short_rows, min_size=NODES, max_size=NODES)


@st.composite
def cpu_rules(draw: st.DrawFn) -> CPUHints:
    """Draw the hints of a CPU request on a machine of four nodes on two sockets, partly taken."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=NODES, max_size=NODES))
    cpus = iter(range(sum(sizes)))
    machine = topology(
        CoreAt(cpus=(next(cpus),), numa_node=node, socket=node // 2)
        for node, size in enumerate(sizes)
        for _ in range(size)
    )
    available = draw(st.integers(0, machine.cpus))
    reusable = draw(st.integers(0, machine.cpus)) & ~available if draw(st.booleans()) else 0
    request = draw(st.integers(1, sum(sizes) + 1))
    return CPUHints.generate(
        machine, CPUMask(available), CPUMask(reusable), request, align_by_socket=draw(st.booleans())
    )


def explicit(hint_list: HintList) -> Sequence[Hint]:
    return list(hint_list) or [IMPOSSIBLE]


def closer(matrix: list[list[int]]) -> Better:
    fit = Fit(distances=dict(enumerate(matrix)))
    return lambda one, other: fit.key(NodeMask(one)) < fit.key(NodeMask(other))


@given(lists, st.integers(1, EVERYTHING))
def test_lists_merge_as_by_hand(given_lists: list[list[Hint]], everything: int) -> None:
    assert merge(given_lists, NodeMask(everything), Fit()) == naive_merge(given_lists, everything)


@given(lists, matrices)
def test_distances_decide_as_by_hand(given_lists: list[list[Hint]], matrix: list[list[int]]) -> None:
    fit = Fit(distances=dict(enumerate(matrix)))
    assert merge(given_lists, NodeMask(EVERYTHING), fit) == naive_merge(
        given_lists, EVERYTHING, closer(matrix)
    )


@given(cpu_rules(), lists, st.none() | matrices)
def test_a_cpu_rule_merges_as_its_list_would(
    rule: CPUHints, others: list[list[Hint]], matrix: list[list[int]] | None
) -> None:
    fit = Fit(distances=dict(enumerate(matrix or ())))
    rules: list[HintList] = [rule] if rule.narrowest else [[IMPOSSIBLE]]
    better = closer(matrix) if matrix else narrower
    assert merge([*rules, *others], NodeMask(EVERYTHING), fit) == naive_merge(
        [explicit(rule), *others], EVERYTHING, better
    )


@given(lists, short_matrices)
def test_sets_that_cannot_be_compared_crash_the_kubelet(
    given_lists: list[list[Hint]], matrix: list[list[int]]
) -> None:
    fit = Fit(distances=dict(enumerate(matrix)))
    merged = merge(given_lists, NodeMask(EVERYTHING), fit)
    rivals = naive_rivals(given_lists, EVERYTHING)
    assert isinstance(merged, KubeletFault) is (
        len(rivals) > 1 and any(fit.unknown(NodeMask(nodes)) is not None for nodes in rivals)
    )


@given(cpu_rules(), lists, short_matrices)
def test_a_cpu_rule_crashes_the_kubelet_as_its_list_would(
    rule: CPUHints, others: list[list[Hint]], matrix: list[list[int]]
) -> None:
    fit = Fit(distances=dict(enumerate(matrix)))
    rules: list[HintList] = [rule] if rule.narrowest else [[IMPOSSIBLE]]
    assert merge([*rules, *others], NodeMask(EVERYTHING), fit) == merge(
        [explicit(rule), *others], NodeMask(EVERYTHING), fit
    )


@given(cpu_rules(), short_matrices)
def test_one_list_crashes_the_kubelet_if_iterating_over_it_would(
    rule: CPUHints, matrix: list[list[int]]
) -> None:
    """With several lists a kubelet may also crash on sets that are not chosen: that depends on chance."""
    assume(rule.socket_rule is None)

    def looked_up(one: int, other: int) -> bool:
        if one.bit_count() != other.bit_count():
            return one.bit_count() < other.bit_count()
        return one != other and far(matrix, one) < far(matrix, other)

    merged = merge(
        [rule if rule.narrowest else [IMPOSSIBLE]],
        NodeMask(EVERYTHING),
        Fit(distances=dict(enumerate(matrix))),
    )
    if isinstance(merged, KubeletFault):
        with pytest.raises(IndexError):
            naive_merge([explicit(rule)], EVERYTHING, looked_up)
    else:
        assert merged == naive_merge([explicit(rule)], EVERYTHING, looked_up)


def far(matrix: list[list[int]], nodes: int) -> tuple[int, int]:
    members = [node for node in range(NODES) if nodes >> node & 1]
    return sum(matrix[one][other] for one in members for other in members), nodes


@given(cpu_rules(), cpu_rules())
def test_two_rules_merge_as_their_lists_would(one: CPUHints, other: CPUHints) -> None:
    rules: list[HintList] = [rule if rule.narrowest else [IMPOSSIBLE] for rule in (one, other)]
    assert merge(rules, NodeMask(EVERYTHING), Fit()) == naive_merge(
        [explicit(one), explicit(other)], EVERYTHING
    )


@given(cpu_rules())
def test_a_rule_knows_its_hints(rule: CPUHints) -> None:
    listed = {hint.nodes: hint.preferred for hint in rule}
    for nodes in map(NodeMask, range(1, EVERYTHING + 1)):
        assert (nodes in rule) == (nodes in listed)
        assert nodes not in listed or listed[nodes] == rule.prefers(nodes)
    assert rule.narrowest == min((nodes.bit_count() for nodes in listed if nodes), default=0)
    assert bool(rule) == bool(listed)


@given(st.lists(st.lists(st.integers(0, EVERYTHING).map(NodeMask), min_size=1, max_size=6), max_size=4))
def test_counting_finds_the_sets_that_trying_finds(masks: list[list[NodeMask]]) -> None:
    tried = reachable.reachable_sets(masks, NodeMask(EVERYTHING))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reachable, "LARGEST_PRODUCT", 0)
        assert reachable.reachable_sets(masks, NodeMask(EVERYTHING)) == tried


def test_sparse_node_numbers_are_also_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reachable, "LARGEST_PRODUCT", 0)
    everything = 1 << 0 | 1 << 8 | 1 << 63
    masks = [list(map(NodeMask, one)) for one in ([everything, 1 << 63], [1 << 63 | 1 << 8, 1 << 0])]
    assert reachable.reachable_sets(masks, NodeMask(everything)) == {1 << 63 | 1 << 8, 1 << 0, 1 << 63, 0}
