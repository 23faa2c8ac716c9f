"""What it costs to replay a scenario, and what is kept: work must not be quadratic in pods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.explain.explanation import explain
from cpuctl.engine.explain.scenario import Replay, SearchBudget, replay_scenario
from cpuctl.engine.node import Node
from tests.engine.explain.scenarios import FOUR_NODES, TWO_NODES, named, reported, scenario, whole

TEN = [named(f"p{number}", whole(1)) for number in range(10)]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count copies of nodes, and how often all admissions are searched for the admitted pods."""
    times: Counter[str] = Counter()
    copied = Node.copy
    admitted: Callable[[Replay], frozenset[str]] = vars(Replay)["admitted"].fget

    def copying(node: Node) -> Node:
        times["copy"] += 1
        return copied(node)

    def asking(replay: Replay) -> frozenset[str]:
        times["admitted"] += 1
        return admitted(replay)

    monkeypatch.setattr(Node, "copy", copying)
    monkeypatch.setattr(Replay, "admitted", property(asking))
    return times


@pytest.mark.parametrize(("remembered", "kept"), [(1, 1), (3, 3), (10, 10), (11, 10)])
def test_a_node_is_copied_only_if_the_copy_is_kept(calls: Counter[str], remembered: int, kept: int) -> None:
    replay = replay_scenario(scenario(FOUR_NODES, *TEN), SearchBudget(), remembered)
    assert isinstance(replay, Replay)
    assert len(replay.nodes_before) == kept
    assert calls["copy"] == kept + 1, "and once to keep the node as the pod leaves it"
    pools = [CPUSet(node.cpu.state.default) for node in reported(scenario(FOUR_NODES, *TEN)).nodes_before]
    assert [CPUSet(node.cpu.state.default) for node in replay.nodes_before] == pools[-kept:]


def test_the_pods_that_a_change_displaces_are_found_in_one_pass(calls: Counter[str]) -> None:
    pods = [named(f"p{number}", whole(1)) for number in range(12)]
    explanation = explain(reported(scenario(TWO_NODES, *pods, named("asked", whole(8)))))
    suggestions = sum(len(search.found) for search in explanation.searches)
    assert 0 < calls["admitted"] < len(pods) * suggestions


def test_a_replay_keeps_only_the_node_that_is_shown() -> None:
    pods = [named(f"p{number}", whole(1)) for number in range(12)]
    explanation = explain(reported(scenario(TWO_NODES, *pods, named("asked", whole(8)))))
    kept = [len(each.replayed.nodes_before) for search in explanation.searches for each in search.found]
    assert set(kept) == {1}
