"""Which other pods are tried, and in what order."""

from __future__ import annotations

from typing import Any

import pytest

from cpuctl.engine.explain.scenario import Replay, SearchBudget
from cpuctl.engine.explain.searches.searches import PAIRED, removals
from cpuctl.pods.model import StoredPod
from cpuctl.records import replace
from tests.engine.explain.scenarios import EIGHT, FOUR_NODES, named, reported, scenario, whole
from tests.support.pods import app


def names(replay: Replay, runs: SearchBudget | None = None) -> list[str]:
    """Name the pods of every removal found."""
    return ["+".join(pod.name for pod in each.pods) for each in removals(replay, runs or SearchBudget())]


def restarted(*pods: StoredPod, ran: tuple[StoredPod, ...]) -> Replay:
    """Restart a kubelet that has admitted pods whose requests have changed since."""
    first = reported(scenario(EIGHT, *ran))

    def start(_kubelet: Any) -> Any:
        node = first.after.copy()
        node.resume(pods)
        return node

    return reported(replace(first.scenario, start=start, pods=pods, position=0, restarted=True))


def test_only_running_pods_can_be_removed() -> None:
    runs = SearchBudget()
    pods = named("a", whole(2)), named("refused", whole(9)), named("asked", whole(6))
    assert names(reported(scenario(EIGHT, *pods)), runs) == ["a"]
    assert runs.made == 1


def test_pairs_that_hold_least_together_come_first() -> None:
    pods = [named(name, whole(1)) for name in "abcde"]
    pairs = names(reported(scenario(EIGHT, *pods, named("asked", whole(4)))))
    assert pairs == ["a+b", "a+c", "a+d", "b+c", "a+e", "b+d", "b+e", "c+d", "c+e", "d+e"]


@pytest.mark.parametrize(("count", "left_out"), [(PAIRED, False), (PAIRED + 1, True)])
def test_pairs_are_limited(count: int, left_out: bool) -> None:
    pods = [named(f"p{number}", whole(1)) for number in range(count)]
    runs = SearchBudget(bound=count)
    assert names(reported(scenario(FOUR_NODES, *pods, named("asked", whole(60)))), runs) == []
    assert bool(runs.left_out) == left_out


def test_pods_are_ordered_by_the_larger_of_held_and_requested_cpus() -> None:
    """After a restart all running pods are offered, for full runs; memory and names break ties."""
    requested = named("asked", app("cpu=1"))
    others = (
        named("most", app("cpu=4001m")),
        named("shrunk", whole(1)),
        named("memory", app("cpu=3 memory=2Gi")),
        named("other", app("cpu=3 memory=1Gi")),
        named("alike", app("cpu=3 memory=1Gi")),
        named("less", app("cpu=2999m memory=8Gi")),
        named("none", app("memory=9Gi")),
    )
    replay = restarted(requested, *others, ran=(named("shrunk", whole(4)),))
    assert names(replay) == ["none", "less", "alike", "other", "memory", "shrunk", "most"]
