"""The order in which pods are admitted."""

from __future__ import annotations

import pytest

from cpuctl.engine.ordering import PodOrder, exclusive_count, ordered, unknown_priority_classes
from cpuctl.pods.model import StoredPod
from tests.support.capacity_nodes import named, shared, whole
from tests.support.pods import init, resources, sidecar


def names(*pods: StoredPod, order: str) -> str:
    return " ".join(pod.name for pod in ordered(pods, PodOrder(order), pod_level=True))


def prioritized(name: str, priority: int | None = None, class_name: str = "") -> StoredPod:
    return shared(name)._replace(priority=priority, priority_class_name=class_name)


PODS = (
    shared("best", "")._replace(priority=7),
    shared("burst"),
    named("three", whole(3)),
    named("five", whole(2, "a"), whole(3, "b"))._replace(priority=9),
    named("rich", whole(3, memory="2Gi")),
)


@pytest.mark.parametrize(
    ("order", "want"),
    [
        ("given", "best burst three five rich"),
        ("priority", "five best burst three rich"),
        ("qos", "three five rich burst best"),
        ("largest-first", "five rich three best burst"),
    ],
)
def test_pods_are_sorted_stably(order: str, want: str) -> None:
    assert names(*PODS, order=order) == want


def test_priority_comes_from_the_spec_or_a_built_in_class() -> None:
    pods = (
        prioritized("low", -5),
        prioritized("zero", 0),
        prioritized("none"),
        prioritized("one", 1),
        prioritized("as node", 2_000_001_000),
        prioritized("node", None, "system-node-critical"),
        prioritized("high", 1000),
        prioritized("own", None, "gold"),
        prioritized("as cluster", 2_000_000_000),
        prioritized("cluster", None, "system-cluster-critical"),
        prioritized("set", 3, "system-node-critical"),
    )
    assert names(*pods, order="priority") == "as node node as cluster cluster high set one zero none own low"
    assert unknown_priority_classes(
        [*pods, prioritized("other", None, "gold"), prioritized("x", 1, "y")]
    ) == ("gold",)


def test_size_is_what_a_pod_needs_at_the_same_time() -> None:
    both = "cpu=4 memory=1Gi"
    pod = named("p", init(both, both, "i"), sidecar("cpu=1 memory=1Gi", "cpu=1 memory=1Gi"), whole(2))
    assert exclusive_count(pod, pod_level=True) == 4
    assert exclusive_count(named("q", whole(2), whole(3, "b")), pod_level=True) == 5
    assert exclusive_count(shared("s"), pod_level=True) == 0


@pytest.mark.parametrize(
    ("order", "pod_level", "want"),
    [
        ("largest-first", True, "level plain"),
        ("largest-first", False, "plain level"),
        ("qos", True, "level plain"),
        ("qos", False, "plain level"),
    ],
)
def test_pod_level_resources_count_if_the_gate_is_on(order: str, pod_level: bool, want: str) -> None:
    own = resources("cpu=500m memory=8Gi", "cpu=500m memory=8Gi")
    pods = [shared("plain", "memory=2Gi"), shared("level", "memory=1Gi")._replace(resources=own)]
    assert " ".join(pod.name for pod in ordered(pods, PodOrder(order), pod_level=pod_level)) == want


def test_with_the_gate_on_pod_level_resources_prevent_exclusive_cpus() -> None:
    """The pod is therefore the largest only for a kubelet that does not know pod-level resources."""
    own = resources("cpu=4 memory=8Gi")
    pods = [named("two", whole(2)), named("level", whole(3))._replace(resources=own)]
    assert exclusive_count(pods[1], pod_level=True) == 0
    for pod_level, want in ((True, ["two", "level"]), (False, ["level", "two"])):
        found = ordered(pods, PodOrder.LARGEST_FIRST, pod_level=pod_level)
        assert [pod.name for pod in found] == want, pod_level
