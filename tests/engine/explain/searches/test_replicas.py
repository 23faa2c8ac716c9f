"""Requests of pods that are made from one template: they change together, and only so can they be changed."""

from __future__ import annotations

from typing import Any

import pytest

from cpuctl.engine.explain.explanation import Explanation, explain
from cpuctl.engine.explain.searches.changes import RequestChange, SettingChange
from cpuctl.pods.model import Container, StoredPod
from cpuctl.records import replace
from tests.engine.explain.scenarios import (
    CORES,
    EIGHT,
    SINGLE,
    TWO_NODES,
    cards,
    found,
    memory_config,
    named,
    reported,
    scenario,
    whole,
    with_memory,
)
from tests.support.pods import app

TEN = with_memory(TWO_NODES, 10)
OWNER = "Deployment/web"


def replicas(count: int, *containers: Container) -> list[StoredPod]:
    return [named(f"web-{number}", *containers)._replace(owner=OWNER) for number in range(count)]


def searched(*pods: StoredPod, info: Any = EIGHT, position: int = -1, **more: Any) -> Explanation:
    """Explain a pod, the last one by default, of workloads."""
    templates = {pod.uid: pod.owner for pod in pods if pod.owner}
    one = scenario(info, *pods, **more)
    return explain(reported(replace(one, templates=templates, position=range(len(pods))[position])))


def settings(explanation: Explanation) -> list[tuple[str, str, int]]:
    """Return the settings that are suggested, and with how many replicas still rejected."""
    searches = found(explanation, "setting")
    changes = [(each.change, len(each.left)) for each in searches.found]
    return [(each.setting, each.after, left) for each, left in changes if isinstance(each, SettingChange)]


def requests(*pods: StoredPod, **more: Any) -> list[dict[str, str]]:
    """Return the requests that are suggested, by container and resource."""
    searches = found(searched(*pods, **more), "request")
    changes = [suggestion.change for suggestion in searches.found]
    assert all(isinstance(change, RequestChange) and change.template_of == OWNER for change in changes)
    return [
        {f"{each.container} {each.resource}": str(each.after) for each in change.amounts}
        for change in changes
        if isinstance(change, RequestChange)
    ]


@pytest.mark.parametrize(("count", "each"), [(2, "3"), (3, "2"), (7, "1")])
def test_all_replicas_get_fewer_exclusive_cpus(count: int, each: str) -> None:
    """Seven CPUs are not reserved; the first replica takes all of them."""
    assert requests(*replicas(count, whole(7))) == [{"main cpu": each}]


def test_replicas_do_not_change_other_pods() -> None:
    others = [named("a", whole(1)), named("b", whole(1))._replace(owner="Deployment/other")]
    explanation = searched(*others, *replicas(2, whole(5)))
    (suggestion,) = found(explanation, "request").found
    sizes = [each.containers[0].resources.requests["cpu"] for each in suggestion.replayed.scenario.pods]
    assert list(map(str, sizes)) == ["1", "1", "2", "2"]


def test_a_replica_with_other_requests_is_of_another_template() -> None:
    old = named("web-old", whole(3))._replace(owner=OWNER)
    assert requests(old, *replicas(2, whole(4))) == [{"main cpu": "2"}]


def test_all_replicas_get_less_memory() -> None:
    """Each NUMA node has 9 GiB for pods: one replica fits there now, and two do then."""
    settings = SINGLE | memory_config()
    assert requests(*replicas(4, whole(1, memory="6Gi")), info=TEN, **settings) == [{"main memory": "4608Mi"}]


@pytest.mark.parametrize("cpus", ["3", "3500m"])
def test_replicas_share_what_the_node_is_short_of(cpus: str) -> None:
    pods = replicas(3, app(f"cpu={cpus} memory=1Gi"))
    assert requests(*pods, fit=True) == [{"main cpu": "2333m"}]


@pytest.mark.parametrize("position", [1, 2, 3])
def test_the_first_suggestion_serves_all_replicas(position: int) -> None:
    """A request with which only the explained replica is admitted names those that are not."""
    searches = found(searched(*replicas(4, whole(5)), position=position), "request")
    left = [len(each.left) for each in searches.found]
    assert left == {1: [0, 2], 2: [0, 1], 3: [0]}[position]
    assert requests(*replicas(4, whole(5)), position=position)[0] == {"main cpu": "1"}


def test_a_late_replica_of_many_gets_an_answer_within_the_bound() -> None:
    """Each trial admits all replicas again; odd sizes of whole cores need one more CPU, and never all."""
    pods = replicas(150, whole(3))
    searches = found(searched(*pods, info=with_memory(EIGHT, 300), **CORES), "request")
    assert (searches.complete, searches.found) == (True, ())
    assert searches.runs < 30 * 150


def test_enough_pods_are_allowed_for_all() -> None:
    pods = replicas(6, app("cpu=100m"))
    assert settings(searched(*pods, position=3, fit=True, max_pods=3)) == [("maxPods", "6", 0)]


def test_pods_per_core_are_the_lower_limit() -> None:
    pods = [named(name, app("cpu=100m")) for name in "abcdefghi"]
    explanation = searched(*pods, fit=True, pods_per_core=1)
    assert settings(explanation) == [("podsPerCore", "2", 0)]
    assert "allows 8 (podsPerCore)" in explanation.decision.why


def test_replicas_share_devices() -> None:
    pods = replicas(2, whole(1, more="example.com/card=3"))
    assert requests(*pods, fit=True, devices=cards(node0=4)) == [{"main example.com/card": "2"}]


def test_no_change_is_suggested_twice() -> None:
    """Less of one container of a pod is not enough; both searches end with the same whole cores."""
    pods = replicas(2, whole(3, "one"), whole(1, "two"))
    found_here = requests(*pods, position=0, **CORES)
    assert len(found_here) == len({str(each) for each in found_here})
    duplicates = requests(*replicas(2, whole(2, "one"), whole(1, "two")), position=0, **CORES)
    assert duplicates == [{"two cpu": "2"}]


def test_every_kind_of_change_names_the_replicas_that_it_leaves() -> None:
    """With another pod gone or later, one replica more is admitted, not all of them."""
    explanation = searched(named("other", whole(3)), *replicas(4, whole(2)), position=3)
    for kind in ("removal", "order"):
        assert [[pod.name for pod in each.left] for each in found(explanation, kind).found][-1] == ["web-3"]
