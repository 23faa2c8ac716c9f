"""Requests of pods that are made from one template: they change together, and only so can they be changed."""

from __future__ import annotations

from typing import Any

import pytest

from cpuctl.engine.explain.searches.changes import RequestChange
from cpuctl.pods.model import Container, StoredPod
from tests.engine.explain.scenarios import (
    EIGHT,
    SINGLE,
    TWO_NODES,
    cards,
    explained,
    found,
    memory_config,
    named,
    whole,
    with_memory,
)
from tests.support.pods import app

TEN = with_memory(TWO_NODES, 10)
OWNER = "Deployment/web"


def replicas(count: int, *containers: Container) -> list[StoredPod]:
    return [named(f"web-{number}", *containers)._replace(owner=OWNER) for number in range(count)]


def requests(*pods: StoredPod, info: Any = EIGHT, **more: Any) -> list[dict[str, str]]:
    """Return the requests that are suggested for the last pod, by container and resource."""
    searched = found(explained(info, *pods, **more), "request")
    changes = [suggestion.change for suggestion in searched.found]
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
    explanation = explained(EIGHT, *others, *replicas(2, whole(5)))
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


def test_replicas_share_devices() -> None:
    pods = replicas(2, whole(1, more="example.com/card=3"))
    assert requests(*pods, fit=True, devices=cards(node0=4)) == [{"main example.com/card": "2"}]
