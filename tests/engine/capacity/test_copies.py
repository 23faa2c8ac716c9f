"""How many more copies of a pod fit, and what stops the next one."""

from __future__ import annotations

import pytest

from cpuctl.engine.capacity.capacity import Copies, equivalent, more_copies
from cpuctl.engine.capacity.probe import no_progress
from cpuctl.engine.outcome import Rejected
from cpuctl.pods.model import QosClass, StoredPod
from tests.support.capacity_nodes import exclusive, kubelet, named, node_with, shared, whole
from tests.support.pods import app, init, sidecar


def count(
    *running: StoredPod, requested: StoredPod, policy: str = "none", max_pods: int = 20
) -> tuple[int, str]:
    node = node_with(*running, reported=kubelet(policy, max_pods=max_pods))
    found = more_copies(node, (requested,), no_progress)
    return found.fits, found.stop.reason if isinstance(found.stop, Rejected) else str(found.stop)


@pytest.mark.parametrize(
    ("policy", "cpus", "want"),
    [
        ("none", 4, (3, "UnexpectedAdmissionError")),
        ("single-numa-node", 3, (4, "TopologyAffinityError")),
        ("single-numa-node", 4, (3, "TopologyAffinityError")),
        ("single-numa-node", 5, (0, "TopologyAffinityError")),
        ("restricted", 5, (3, "TopologyAffinityError")),
    ],
)
def test_copies_are_counted_until_one_is_rejected(policy: str, cpus: int, want: tuple[int, str]) -> None:
    assert count(requested=exclusive("a", cpus), policy=policy) == want


def test_running_pods_count() -> None:
    assert count(exclusive("r", 9), requested=exclusive("a", 2)) == (3, "UnexpectedAdmissionError")
    assert count(shared("r"), requested=exclusive("a", 1), max_pods=5) == (4, "OutOfpods")
    assert count(shared("r"), requested=shared("a", "cpu=2 memory=1Gi")) == (7, "OutOfcpu")


def test_the_pod_itself_may_already_run_there() -> None:
    pod = exclusive("a", 4)
    assert count(pod, requested=pod) == (2, "UnexpectedAdmissionError")


def test_counting_changes_nothing() -> None:
    node = node_with(exclusive("r", 2))
    before = node.copy()
    more_copies(node, (exclusive("a", 4),), no_progress)
    assert (node.state, node.active) == (before.state, before.active)


def test_the_limit_is_reported() -> None:
    reported = kubelet(max_pods=1000)
    pods = (shared("a", "memory=1Mi"), shared("b", "memory=1Mi"))
    assert more_copies(node_with(reported=reported), pods, no_progress) == Copies(pods, 500, None)


def test_progress_is_reported_before_every_copy() -> None:
    """The total is not known."""
    reported = []
    pods = (exclusive("a", 5),)
    found = more_copies(node_with(), pods, lambda *words: reported.append(words))
    assert (found.pods, found.fits) == (pods, 3)
    assert reported == [("admitting copies", done, 0) for done in range(4)]


def test_pods_are_equal_if_only_names_differ() -> None:
    base = named("a", whole(2, "main"))
    same = [
        base,
        base._replace(name="b", uid="b", namespace="other", priority=5, owner="Deployment/b"),
        named("c", whole(2, "other")),
        named("d", app("cpu=2000m memory=1024Mi", "cpu=2 memory=1Gi")),
    ]
    others = [
        named("e", whole(3)),
        named("f", whole(2), whole(2, "second")),
        named("g", init("cpu=2 memory=1Gi", "cpu=2 memory=1Gi"), whole(2)),
        named("h", sidecar("cpu=2 memory=1Gi", "cpu=2 memory=1Gi"), whole(2)),
        base._replace(qos_class=QosClass.BURSTABLE),
        base._replace(overhead={"cpu": base.containers[0].resources.requests["cpu"]}),
        base._replace(resources=base.containers[0].resources),
    ]
    groups = equivalent([*same, *others])
    assert [len(group) for group in groups] == [len(same), *([1] * len(others))]
    assert groups[0] == tuple(same)
