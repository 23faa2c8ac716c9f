"""The order in which pods come."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cpuctl.engine.ordering import exclusive_count, ordered, unknown_priority_classes
from cpuctl.engine.pod_order import PodOrder
from cpuctl.pods.model import Pod
from tests.support.capacity_nodes import named, shared, whole
from tests.support.pods import init, resources, sidecar


def names(*pods: Pod, order: str) -> str:
    return " ".join(pod.name for pod in ordered(pods, PodOrder(order), pod_level=True))


def prioritized(name: str, priority: int | None = None, class_name: str = "") -> Pod:
    return replace(shared(name), priority=priority, priority_class_name=class_name)


PODS = (
    shared("burst"),
    named("three", whole(3)),
    replace(shared("best", ""), priority=7),
    named("five", whole(2, "a"), whole(3, "b")),
    named("rich", whole(3, memory="2Gi")),
)


@pytest.mark.parametrize(
    ("order", "want"),
    [
        ("given", "burst three best five rich"),
        ("priority", "best burst three five rich"),
        ("qos", "three five rich burst best"),
        ("largest-first", "five rich three burst best"),
    ],
)
def test_pods_are_sorted_and_equals_stay_as_they_were_given(order: str, want: str) -> None:
    assert names(*PODS, order=order) == want


def test_priority_is_that_of_the_spec_or_of_a_class_that_every_cluster_has() -> None:
    pods = (
        prioritized("low", -5),
        prioritized("none"),
        prioritized("node", None, "system-node-critical"),
        prioritized("high", 1000),
        prioritized("own", None, "gold"),
        prioritized("cluster", None, "system-cluster-critical"),
        prioritized("set", 3, "system-node-critical"),
    )
    assert names(*pods, order="priority") == "node cluster high set none own low"
    assert unknown_priority_classes(
        [*pods, prioritized("other", None, "gold"), prioritized("x", 1, "y")]
    ) == ("gold",)


def test_size_is_what_a_pod_needs_at_once() -> None:
    both = "cpu=4 memory=1Gi"
    pod = named("p", init(both, both, "i"), sidecar("cpu=1 memory=1Gi", "cpu=1 memory=1Gi"), whole(2))
    assert exclusive_count(pod, pod_level=True) == 4
    assert exclusive_count(named("q", whole(2), whole(3, "b")), pod_level=True) == 5
    assert exclusive_count(shared("s"), pod_level=True) == 0


@pytest.mark.parametrize(("pod_level", "want"), [(True, ["limited", "plain"]), (False, ["plain", "limited"])])
def test_pod_level_resources_count_where_the_gate_is_on(pod_level: bool, want: list[str]) -> None:
    limited = replace(shared("limited", "memory=1Gi"), resources=resources("memory=8Gi", "memory=8Gi"))
    pods = [shared("plain", "memory=2Gi"), limited]
    assert [pod.name for pod in ordered(pods, PodOrder.LARGEST_FIRST, pod_level=pod_level)] == want
