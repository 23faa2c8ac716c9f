"""What a pod and its containers request, as the managers count it."""

from __future__ import annotations

from typing import Any

import pytest

from cpuctl.engine.explain.offers import memory_requested, whole_cpus
from cpuctl.engine.node import Node
from tests.engine.explain.scenarios import GIB, TWO_NODES, divided, named, reported, scenario, whole
from tests.support.pods import app, init, resources

DIVIDING: dict[str, Any] = {
    "topology_manager_policy": "restricted",
    "feature_gates": {"PodLevelResources": True, "PodLevelResourceManagers": True},
}
SHARED = app("memory=1Gi", name="shared")


def node(**config: Any) -> Node:
    return reported(scenario(TWO_NODES, named("a", whole(1)), **config)).before


def test_a_pod_requests_what_its_containers_need_at_the_same_time() -> None:
    pod = named("a", init("memory=5Gi"), whole(1), app("memory=3Gi hugepages-2Mi=4Mi", name="other"))
    assert memory_requested(node(), pod, None) == {"memory": 5 * GIB, "hugepages-2Mi": 4 << 20}
    assert memory_requested(node(), pod, pod.init_containers[0]) == {"memory": 5 * GIB}


def test_a_divided_pod_requests_its_own_resources() -> None:
    pod = divided("a", "cpu=4 memory=8Gi", whole(1, memory="2Gi"), SHARED)
    assert memory_requested(node(**DIVIDING), pod, None) == {"memory": 8 * GIB}
    assert memory_requested(node(), pod, None) == {"memory": 3 * GIB}


def test_in_a_divided_pod_only_a_guaranteed_container_has_its_own_memory() -> None:
    pod = divided("a", "cpu=4 memory=8Gi", whole(1, memory="2Gi"), SHARED)
    exclusive, shared = pod.containers
    assert memory_requested(node(**DIVIDING), pod, exclusive) == {"memory": 2 * GIB}
    assert memory_requested(node(**DIVIDING), pod, shared) == {}
    assert memory_requested(node(), pod, shared) == {"memory": GIB}


def test_memory_that_is_not_a_whole_number_is_not_reported() -> None:
    pod = named("a", whole(1, memory="1.5Gi"), static=True)
    assert memory_requested(node(), pod, None) is None
    assert memory_requested(node(), pod, pod.containers[0]) is None


@pytest.mark.parametrize(
    ("requests", "count"), [("cpu=3", 3), ("cpu=2000m", 2), ("cpu=2500m", 0), ("cpu=0", 0), ("memory=1Gi", 0)]
)
def test_whole_cpus(requests: str, count: int) -> None:
    assert whole_cpus(resources(requests).requests) == count
