"""Pods that are admitted again, or are not, after a restart: what the node keeps and releases."""

from __future__ import annotations

from cpuctl.engine.node import Node
from tests.engine.node.test_life import pool, restarted
from tests.engine.node.test_node import named, started, whole


def holding() -> Node:
    """Start a node on which pod p holds CPUs 1 and 5, and clean it up."""
    node = started()
    node.admit(named("p", whole(2)))
    node.clean_up()
    assert pool(node) == "0,2-4,6-7"
    return node


def test_entries_of_pods_that_are_not_admitted_again_are_released() -> None:
    node = restarted(holding())
    node.clean_up()
    assert pool(node) == "0-7"


def test_pods_that_no_longer_run_at_a_start_lose_their_cpus() -> None:
    node = holding()
    node.resume(())
    node.clean_up()
    assert pool(node) == "0-7"


def test_pods_that_run_at_a_start_keep_their_cpus() -> None:
    node = restarted(holding())
    node.resume([named("p", whole(2))])
    node.clean_up()
    assert pool(node) == "0,2-4,6-7"


def test_each_pod_that_is_admitted_again_sees_those_before_it() -> None:
    node, pods = started(), [named("p", whole(2)), named("q", whole(1)), named("r", whole(1))]
    for pod in pods:
        node.admit(pod)
    assert [list(node.active) for _ in node.readmit(pods)] == [["p"], ["p", "q"], ["p", "q", "r"]]


def test_an_unknown_pod_may_end() -> None:
    node = holding()
    node.remove("unknown")
    assert list(node.active) == ["p"]
