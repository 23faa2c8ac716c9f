"""What a node makes of pods that come back, or never come back: after a restart, again, under other pods."""

from __future__ import annotations

from cpuctl.engine.node import Node
from tests.engine.node.test_life import pool, restarted
from tests.engine.node.test_node import named, started, whole


def holding() -> Node:
    """Start a node where p holds CPUs 1 and 5, all cleaned up."""
    node = started()
    node.admit(named("p", whole(2)))
    node.clean_up()
    assert pool(node) == "0,2-4,6-7"
    return node


def test_what_a_file_tells_of_pods_that_never_come_back_is_released() -> None:
    node = restarted(holding())
    node.clean_up()
    assert pool(node) == "0-7"


def test_pods_that_run_no_more_at_a_start_lose_what_they_held() -> None:
    node = holding()
    node.resume(())
    node.clean_up()
    assert pool(node) == "0-7"


def test_pods_that_run_at_a_start_keep_what_they_hold() -> None:
    node = restarted(holding())
    node.resume([named("p", whole(2))])
    node.clean_up()
    assert pool(node) == "0,2-4,6-7"


def test_each_pod_that_is_admitted_again_finds_those_before_it() -> None:
    node, pods = started(), [named("p", whole(2)), named("q", whole(1)), named("r", whole(1))]
    for pod in pods:
        node.admit(pod)
    assert [list(node.active) for _ in node.readmit(pods)] == [["p"], ["p", "q"], ["p", "q", "r"]]


def test_a_pod_that_is_not_there_may_end() -> None:
    node = holding()
    node.remove("nobody")
    assert list(node.active) == ["p"]
