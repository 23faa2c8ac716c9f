"""What an explanation is based on: the node at the time of the decision, and every round."""

from __future__ import annotations

from typing import Any

import pytest

from cpuctl.engine.explain.decision import Rule, bytes_text, nodes_text
from cpuctl.engine.explain.explanation import explain
from cpuctl.engine.masks import NodeMask
from cpuctl.phrases import counted
from tests.engine.explain.scenarios import (
    EIGHT,
    TWO_NODES,
    explained,
    memory_config,
    named,
    reported,
    scenario,
    whole,
    with_memory,
)

BEST_EFFORT: dict[str, Any] = {"topology_manager_policy": "best-effort"}


def test_a_rejected_pod_is_explained_on_the_node_that_it_left() -> None:
    replay = reported(scenario(EIGHT, named("a", whole(2), whole(9, "no"))))
    explanation = explain(replay)
    assert explanation.replay is replay
    assert explanation.node is replay.after
    assert explanation.unaligned == ()


def test_an_admitted_pod_is_explained_on_the_cleaned_up_node_before_it() -> None:
    replay = reported(scenario(EIGHT, named("a", whole(2), whole(9, "no")), named("b", whole(2))))
    explanation = explain(replay)
    assert explanation.node.cpu.state.assignments == {}
    assert explanation.replay.before.cpu.state.assignments != {}, "the replay stays what it was"


def test_memory_on_more_nodes_than_needed_is_reported_for_an_admitted_pod() -> None:
    """A group of nodes is used as a whole or not at all."""
    pods = named("a", whole(9, memory="12Gi")), named("b", whole(1, memory="2Gi"))
    config = {**BEST_EFFORT, **memory_config(), "topology_manager_scope": "pod"}
    explanation = explained(with_memory(TWO_NODES, 10), *pods, **config)
    assert explanation.decision.rule is Rule.ADMITTED
    (unmet,) = explanation.unaligned
    assert (unmet.rule, unmet.provider, unmet.container) == (Rule.GROUP_RULE, "memory", "")
    assert unmet.why.startswith("2Gi of memory fit into 1 NUMA node when empty")


@pytest.mark.parametrize(
    ("nodes", "text"), [(0b1, "NUMA node 0"), (0b100, "NUMA node 2"), (0b111, "NUMA nodes 0-2")]
)
def test_nodes(nodes: int, text: str) -> None:
    assert nodes_text(NodeMask(nodes)) == text


@pytest.mark.parametrize(("count", "text"), [(0, "0 CPUs"), (1, "1 CPU"), (2, "2 CPUs")])
def test_counts(count: int, text: str) -> None:
    assert counted(count, "CPU") == text


@pytest.mark.parametrize(
    ("amount", "text"),
    [(9 << 30, "9Gi"), (512 << 20, "512Mi"), ((3 << 20) - 1, "2Mi"), ((1 << 20) - 1, "0")],
)
def test_amounts_of_memory_are_written_in_whole_mi(amount: int, text: str) -> None:
    assert bytes_text(amount) == text
