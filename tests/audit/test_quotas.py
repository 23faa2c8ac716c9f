"""Quotas of containers with exclusive CPUs: lifted since 1.33, before that those of the limits."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from cpuctl.audit.checks import Verdict, audit, verdicts
from cpuctl.audit.group_values import ValueRules, group_values
from cpuctl.cgroups.container_logs import LogName
from cpuctl.cpuset import CPUSet
from cpuctl.pods.cgroups.values import CgroupSettings
from cpuctl.pods.model import ResourceRequirements, StoredPod
from cpuctl.pods.rules import PodRules
from cpuctl.pods.stored import stored_pod
from cpuctl.quantity import Quantity
from cpuctl.records import replace
from tests.audit.node_tree import DATABASE, OWN, SERVER, NodeTree, clean_node, entries, resized_pods
from tests.audit.test_faults import keeping_quotas
from tests.support.manifests import read_pods

HELPER = "7e" * 32
NAMES = {SERVER: LogName("database-0", "shop", "server", SERVER)}
"""What the container runtime knows if no pods are given."""


def pod_of(node: NodeTree) -> str:
    """Return the cgroup of the database's pod."""
    return node.server.rpartition("/")[0]


def found(node: NodeTree, pods: Mapping[str, StoredPod] | None = None) -> list[tuple[str, str, str]]:
    """Return the findings about quotas: code, expected value, and the container or the group above it."""
    return [
        (each.code, each.expected, "server" if each.place.path == node.server else each.place.path)
        for each in audit(node.snapshot(pods), ["quota"])
    ]


def resized(desired: float, allocated: int, condition: str) -> dict[str, StoredPod]:
    """Return the pods while a resize of the database's CPUs is pending or in progress."""
    pods = read_pods(json.dumps(resized_pods(desired, allocated, condition)), "pods.json").pods
    return {pod.uid: stored_pod(pod, PodRules()) for pod in pods}


def with_two_containers() -> NodeTree:
    """Make a node whose database has a second container, with the exclusive CPUs 2 and 6."""
    node = keeping_quotas(clean_node())
    helper = node.container(DATABASE, HELPER)
    entries(node, DATABASE, server=OWN, helper="2,6")
    node.cpuset(helper, cpus="2,6", mems="0")
    node.quota(helper, 200_000)
    node.named = False
    node.runtime = {**NAMES, HELPER: LogName("database-0", "shop", "helper", HELPER)}
    return node


def with_helper(pods: dict[str, StoredPod]) -> dict[str, StoredPod]:
    """Give the database's pod 3 CPUs, and a container that shares them."""
    (server,) = pods[DATABASE].containers
    limits = {"cpu": Quantity.parse("500m"), "memory": Quantity.parse("1Gi")}
    whole = {"cpu": Quantity.parse("3"), "memory": Quantity.parse("2Gi")}
    helper = replace(server, name="helper", resources=ResourceRequirements(requests=limits, limits=limits))
    resources = ResourceRequirements(requests=whole, limits=whole)
    return pods | {DATABASE: pods[DATABASE]._replace(containers=(server, helper), resources=resources)}


def test_quotas_that_the_kubelet_keeps_are_no_finding() -> None:
    """Before 1.33, or with the gate off: they do not throttle."""
    node = keeping_quotas(clean_node())
    assert node.findings() == ()
    node.quota(node.server, 300_000)
    assert node.findings("quota") == ()


@pytest.mark.parametrize("version", [2, 1])
def test_quotas_below_the_limit_are_found_that_of_the_pod_first(version: int) -> None:
    """On cgroup v1 the container's quota can only be raised after the pod's."""
    node = keeping_quotas(clean_node(version))
    for group in (node.server, pod_of(node)):
        node.quota(group, 150_000)
    want = "200000 us per 100000 us"
    assert found(node) == [("quota-too-low", want, pod_of(node)), ("quota-too-low", want, "server")]
    finding = node.findings("quota")[1]
    assert finding.message == "the container has exclusive CPUs 1,5, but it is throttled at 1.5 CPUs"
    assert verdicts(node.snapshot())[node.server] is Verdict.QUOTA


def test_a_container_below_a_throttled_group_is_throttled() -> None:
    node = keeping_quotas(clean_node())
    node.quota(pod_of(node), 150_000)
    decided = verdicts(node.snapshot())
    assert decided.pop(node.server) is Verdict.QUOTA
    assert Verdict.QUOTA not in decided.values()


def test_the_expected_quota_is_that_of_cgroups_show() -> None:
    node = keeping_quotas(clean_node())
    node.quota(node.server, 150_000)
    snapshot, configured = node.snapshot(), node.configured
    rules = ValueRules(configured.rules, configured.cgroups)
    value = group_values(snapshot, snapshot.groups[node.server], rules)["cpu.max"]
    ((_, expected, _),) = found(node)
    assert value.expected == (expected.replace(" us per", "").removesuffix(" us"),)


def test_a_quota_is_compared_with_the_limit_in_its_own_period() -> None:
    node = keeping_quotas(clean_node())
    node.put("cpu", node.server, "cpu.max", "100000 50000")
    assert found(node) == []
    node.put("cpu", node.server, "cpu.max", "99999 50000")
    assert found(node) == [("quota-too-low", "100000 us per 50000 us", "server")]
    node.configured = node.configured._replace(cgroups=CgroupSettings(lifts_quota=False, period=50_000))
    node.put("cpu", node.server, "cpu.max", "150000 100000")
    assert found(node) == [("quota-too-low", "200000 us per 100000 us", "server")]


def test_without_a_manifest_the_quota_is_at_least_the_exclusive_cpus() -> None:
    node = keeping_quotas(clean_node())
    node.named = False
    node.runtime = NAMES
    assert found(node) == []
    node.quota(node.server, 199_999)
    assert found(node) == [("quota-too-low", "200000 us per 100000 us", "server")]


def test_without_a_manifest_a_pods_quota_is_at_least_the_exclusive_cpus_of_all_its_containers() -> None:
    node = with_two_containers()
    want = [("quota-too-low", "400000 us per 100000 us", pod_of(node))]
    for quota, expected in ((150_000, want), (300_000, want), (399_999, want), (400_000, [])):
        node.quota(pod_of(node), quota)
        assert found(node) == expected


def test_an_init_container_that_has_ended_does_not_raise_its_pods_quota() -> None:
    """Its CPUs may still be recorded for it, in addition to those of the others."""
    node = keeping_quotas(clean_node())
    node.named = False
    node.runtime = NAMES
    entries(node, DATABASE, server=OWN, load="2,6")
    assert found(node) == []


@pytest.mark.parametrize("desired", [4, 1])
def test_as_long_as_a_resize_is_pending_quotas_follow_what_the_kubelet_has_allocated(desired: int) -> None:
    node, pods = keeping_quotas(clean_node()), resized(desired, 2, "PodResizePending")
    assert found(node, pods) == []
    for group in (node.server, pod_of(node)):
        node.quota(group, 150_000)
    want = "200000 us per 100000 us"
    assert found(node, pods) == [("quota-too-low", want, pod_of(node)), ("quota-too-low", want, "server")]


def test_a_quota_that_allows_all_exclusive_cpus_is_not_too_low() -> None:
    """Kubelets before 1.38 raise the quota of a resized container, but do not add CPUs."""
    node, pods = keeping_quotas(clean_node()), resized(4, 4, "PodResizeInProgress")
    assert found(node, pods) == []
    node.quota(node.server, 199_999)
    assert found(node, pods) == [("quota-too-low", "400000 us per 100000 us", "server")]


def test_a_quota_that_the_kubelet_has_lowered_below_the_exclusive_cpus_is_its_own() -> None:
    node, pods = keeping_quotas(clean_node()), resized(1, 1, "PodResizeInProgress")
    for group in (node.server, pod_of(node)):
        node.quota(group, 100_000)
    assert found(node, pods) == []


def test_no_kubelet_limits_the_groups_above_pods() -> None:
    node = keeping_quotas(clean_node())
    kubepods = pod_of(node).rpartition("/")[0]
    node.quota(kubepods, 600_000)
    assert found(node) == [("quota-on-exclusive", "no quota", kubepods)]


def test_without_cfs_quotas_every_quota_is_a_finding() -> None:
    node = keeping_quotas(clean_node())
    node.configured = node.configured._replace(cgroups=CgroupSettings(lifts_quota=False, cfs_quota=False))
    assert found(node) == [
        ("quota-on-exclusive", "no quota", pod_of(node)),
        ("quota-on-exclusive", "no quota", "server"),
    ]


def test_containers_that_divide_their_pods_cpus_keep_their_quota() -> None:
    """KEP-5526: only a container with its own CPUs has no quota; the pod's quota stays for the others."""
    node = clean_node()
    node.state = replace(node.state, pod_entries={DATABASE: CPUSet.parse(f"{OWN},2")})
    pods = with_helper(node.pods())
    node.configured = node.configured._replace(rules=replace(node.configured.rules, managers=True))
    node.quota(pod_of(node), 300_000)
    assert found(node, pods) == []
    node.quota(pod_of(node), 200_000)
    assert found(node, pods) == [("quota-too-low", "300000 us per 100000 us", pod_of(node))]
    node.quota(pod_of(node), 300_000)
    node.quota(node.server, 200_000)
    assert found(node, pods) == [("quota-on-exclusive", "no quota", "server")]
    node.named = False
    node.runtime = NAMES
    assert found(node) == []


def test_which_containers_divide_their_pods_cpus_follows_from_what_is_allocated() -> None:
    """Only a container with a whole number of CPUs has its own."""
    node = clean_node()
    node.state = replace(node.state, pod_entries={DATABASE: CPUSet.parse(f"{OWN},2")})
    node.configured = node.configured._replace(rules=replace(node.configured.rules, managers=True))
    node.quota(node.server, 200_000)
    for pods in (node.pods(), resized(1.5, 2, "PodResizePending")):
        assert found(node, with_helper(pods)) == [("quota-on-exclusive", "no quota", "server")]
