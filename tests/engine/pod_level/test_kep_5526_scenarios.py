"""KEP-5526's test plan: the seven scenarios, the lifecycle of pod-level allocations, and CFS quotas.

If the KEP's text and a kubelet of 1.36 differ, the test follows the kubelet and describes the difference.
"""

from __future__ import annotations

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.admission import Admission
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted, Rejected
from cpuctl.engine.placement import Isolation
from cpuctl.engine.pod_facts import NodeOfPods, pod_facts
from cpuctl.engine.pod_rules import node_rules, server_rules
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.pods.model import StoredPod
from cpuctl.pods.rules import PodRules
from tests.support.pod_level import (
    GATES,
    containers,
    divided,
    free_memory,
    made_of,
    memory,
    pool,
    started,
    undivided,
)
from tests.support.pods import app


def admitted(node: Node, pod: StoredPod) -> Admission:
    admission = node.admit(pod)
    assert admission.verdict == Admitted(), admission.verdict
    return admission


def masks(admission: Admission) -> dict[str, int]:
    return {placement.container.name: placement.cpus for placement in admission.placements}


def test_scenario_1_pod_scope_shared_only() -> None:
    assert len(set(masks(admitted(started(), divided(4, "- - - -"))).values())) == 1


def test_scenario_2_pod_scope_exclusive_only() -> None:
    found = masks(admitted(started(), divided(6, "1 2 3")))
    assert [mask.bit_count() for mask in found.values()] == [1, 2, 3]
    assert sum(found.values()).bit_count() == 6


def test_scenario_3_pod_scope_mixed() -> None:
    admission = admitted(started(), divided(5, "3 -"))
    found = masks(admission)
    assert (found["1"] & found["2"], found["1"] | found["2"]) == (0, admission.pod_cpus)
    assert [each.isolation for each in admission.placements] == [Isolation.CONTAINER, Isolation.POD]


def test_scenario_4_pod_scope_init_containers() -> None:
    """The init container's CPUs are in the pool of the containers after it."""
    found = masks(admitted(started(), divided(4, "i2 - -")))
    assert found["1"] & ~found["2"] == 0
    assert found["2"] == found["3"]
    assert found["2"].bit_count() == 4


def test_scenario_5_pod_scope_sidecar() -> None:
    """The sidecar's CPUs are its own: no later init container, no app container and no pool has them."""
    found = masks(admitted(started(), divided(6, "s2 i2 i- 1 -")))
    others = [found[name] for name in ("2", "3", "4", "5")]
    assert all(not found["1"] & other for other in others)


def test_scenario_6_container_scope_mixed() -> None:
    node = started(topology_manager_scope="container", memory=False)
    admission = admitted(node, divided(4, "2 -"))
    assert [each.isolation for each in admission.placements] == [Isolation.CONTAINER, Isolation.HOST]
    assert masks(admission)["2"] == node.state.default


@pytest.mark.parametrize("words", ["4 2", "s4 2", "i6"])
def test_scenario_7_more_than_the_budget(words: str) -> None:
    """In the text, admission rejects the pod. A kubelet fails when it cuts slices, and loses the pod's CPUs.

    The API server's validation rejects such pods before that.
    """
    node = started(memory=False)
    verdict = node.admit(divided(5, words)).verdict
    assert isinstance(verdict, Rejected)
    assert verdict.reason == "UnexpectedAdmissionError"
    assert "not enough cpus available to satisfy request" in verdict.message
    node.clean_up()
    assert (pool(node), node.state.assignments) == ("0,6-15", {})
    assert set(node.state.pod_entries) == {"pod"}


@pytest.mark.parametrize("scope", ["pod", "container"])
def test_lifecycle_accounting_for_shared_containers(scope: str) -> None:
    """Two pods that need most of the node run together: their containers have no requests to count."""
    node = started(fit=True, topology_manager_scope=scope, memory=scope == "pod")
    first, second = divided(7, "- - -", "first"), divided(8, "- - -", "second")
    for pod in (first, second):
        admitted(node, pod)
    assert pool(node) == ("0" if scope == "pod" else "0-15")
    third = node.admit(divided(1, "-", "third")).verdict
    assert isinstance(third, Rejected)
    assert third.reason == ("TopologyAffinityError" if scope == "pod" else "OutOfcpu")


def test_lifecycle_clean_up_of_an_unused_pool() -> None:
    node = started()
    admitted(node, divided(6, "1 2"))
    assert (pool(node), free_memory(node)) == ("0,7-15", {0: 9, 1: 16})
    node.remove("pod")
    node.clean_up()
    assert (pool(node), node.state.pod_entries) == ("0-15", {})
    assert (free_memory(node), node.memory.state.pod_blocks) == ({0: 15, 1: 16}, {})


def test_lifecycle_sequential_recycling() -> None:
    """A second pod of the same size gets the same CPUs and memory."""
    node = started()
    results = []
    for name in ("first", "second"):
        admission = admitted(node, divided(7, "3 -", name))
        results.append((masks(admission), memory(admission), free_memory(node)))
        node.remove(name)
    assert results[0] == results[1]


@pytest.mark.parametrize("order", [("1", "2", "3", "4"), ("4", "3", "2", "1"), ("2", "4", "1", "3")])
def test_only_the_last_container_releases_the_pods_allocation(order: tuple[str, ...]) -> None:
    """Slices do not return to the pod's pool either: they stay with the pod until it is removed."""
    node = started()
    found = masks(admitted(node, divided(6, "i2 s1 2 -")))
    left, free = pool(node), free_memory(node)
    for name in order[:-1]:
        node.remove_container("pod", name)
        assert (pool(node), free_memory(node)) == (left, free)
        assert name not in node.state.assignments["pod"]
    assert node.state.assignments["pod"] == {order[-1]: found[order[-1]]}
    node.remove_container("pod", order[-1])
    assert (pool(node), free_memory(node)) == ("0-15", {0: 15, 1: 16})
    assert (node.state.pod_entries, node.memory.state.pod_blocks) == ({}, {})


def test_pod_level_allocations_do_not_overlap_each_other_or_other_pods() -> None:
    node = started()
    whole = admitted(node, divided(4, "2 -", "whole")).pod_cpus
    own = masks(admitted(node, undivided("2", "own")))["1"]
    other = admitted(node, divided(6, "- -", "other")).pod_cpus
    assert (whole & own, whole & other, own & other) == (0, 0, 0)
    assert node.state.default == CPUSet.parse("0-15").mask & ~(whole | own | other)


def quotas(pod: StoredPod) -> tuple[int | None, list[int | None]]:
    """Return the CFS quotas of the pod's cgroup and of its containers' in microseconds, -1 for none."""
    gates = FeatureGates.for_minor(36).with_overrides(GATES)
    rules = PodRules(server=server_rules(gates), node=node_rules(gates))
    facts = pod_facts(pod, NodeOfPods(rules=rules, static=frozenset({"cpu", "memory"})))
    return facts.cgroup.quota, [each.cgroup.quota for each in facts.containers]


def test_quotas_are_lifted_for_exclusive_slices_only() -> None:
    """Isolation level container has no quota; level pod has the pod's limit, or the container's own."""
    half = app("cpu=1500m memory=1Gi", "cpu=1500m memory=1Gi", "half")
    pod = made_of(*containers("3 -"), half, total="cpu=5 memory=5Gi")
    assert quotas(pod) == (500_000, [-1, 500_000, 150_000])


@pytest.mark.parametrize(
    ("words", "quota"), [("3 2", -1), ("i2 s1 2", -1), ("i- 3 2", 500_000), ("3 -", 500_000)]
)
def test_a_pods_quota_is_lifted_if_every_container_has_a_slice(words: str, quota: int) -> None:
    assert quotas(divided(5, words))[0] == quota


def test_one_exclusive_container_lifts_the_quota_of_an_undivided_pod() -> None:
    """The heuristic that the text replaces still applies to pods without pod-level allocations."""
    assert quotas(undivided("3 2"))[0] == -1
    shared = app("cpu=500m memory=1Gi", "cpu=500m memory=1Gi", "shared")
    assert quotas(made_of(*containers("3"), shared)) == (-1, [-1, 50_000])
