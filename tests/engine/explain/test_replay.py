"""What precedes a kubelet's decision: its start, other pods, files without the pods that have ended."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cpuctl.engine.explain.scenario import Replay, Scenario, SearchBudget, Starter, replay_scenario
from cpuctl.engine.memory.tables import charge
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import StartRefused
from cpuctl.records import replace
from tests.engine.explain.scenarios import (
    EIGHT,
    GIB,
    TWO_NODES,
    memory_config,
    named,
    reported,
    scenario,
    whole,
    with_memory,
)
from tests.support.topologies import mask

A, B = named("a", whole(4)), named("b", whole(3))


def found_as(change: Callable[[Node], None], one: Scenario) -> Starter:
    """Start a kubelet on the node of a scenario, with a change."""
    after = reported(one).after

    def start(_kubelet: object) -> Node:
        node = after.copy()
        change(node)
        return node

    return start


def test_a_kubelet_that_does_not_start_decides_nothing() -> None:
    refused = replay_scenario(scenario(EIGHT, A, topology_manager_policy="no-such-policy"), SearchBudget())
    assert isinstance(refused, StartRefused)
    assert refused.stage == "configValidation"


def forget_a_cpu(node: Node) -> None:
    node.cpu.state.default &= ~mask("15")


def lose_memory(node: Node) -> None:
    charge(node.memory.state.tables, (0,), "memory", GIB)


@pytest.mark.parametrize(
    ("change", "stage"), [(forget_a_cpu, "cpuManagerStart"), (lose_memory, "memoryManagerStart")]
)
def test_a_restart_can_fail_on_files_without_the_removed_pods(
    change: Callable[[Node], None], stage: str
) -> None:
    """The files are read again only if something has been removed from them."""
    one = scenario(with_memory(TWO_NODES, 10), A, B, **memory_config())
    restarted = replace(one, start=found_as(change, one), restarted=True)
    assert isinstance(replay_scenario(restarted, SearchBudget()), Replay)
    refused = replay_scenario(replace(restarted, removed=frozenset({"a"})), SearchBudget())
    assert isinstance(refused, StartRefused)
    assert refused.stage == stage


def test_after_a_restart_a_pod_finds_only_those_before_it() -> None:
    """The others still hold their CPUs: nothing is cleaned up until all pods have been admitted again."""
    one = scenario(EIGHT, A, B, fit=True)
    restarted = replace(
        one, start=found_as(lambda node: node.resume([A, B]), one), restarted=True, position=0
    )
    replay = reported(restarted)
    assert replay.before.active == {}
    assert set(replay.after.active) == {"a"}
    assert set(replay.after.cpu.state.assignments) == {"a", "b"}
