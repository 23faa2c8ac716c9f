"""Claims that count as the node's CPUs and memory, in cgroups and OOM scores (KEP-5517).

Pods and values follow kubernetes 1.37, ``test/e2e/common/node`` (DRA Node Allocatable Resources).
"""

from __future__ import annotations

from typing import NamedTuple

import pytest

from cpuctl.engine.pod_rules import node_rules
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.pods.cgroups.values import (
    CgroupSettings,
    container_cgroup,
    container_cgroup_rules,
    pod_cgroup,
    pod_cgroup_rules,
)
from cpuctl.pods.model import Container, CountedClaim, Pod
from cpuctl.pods.out_of_memory import oom_score
from cpuctl.pods.qos import pod_qos
from cpuctl.pods.requests import pod_requests
from tests.support.pods import amounts, app, init, manifest, resources

MI = 1 << 20
MEMORY = 64 << 30
BOTH = ("a", "b")
ONE = ("cpu=1 memory=1Gi", "cpu=2 memory=2Gi")
MAPPED = CountedClaim(BOTH, amounts("cpu=1 memory=1000Mi"))
ON_TOP = CountedClaim(BOTH, {}, amounts("cpu=100m memory=100Mi"), amounts("cpu=100m memory=100Mi"))
PAGES = CountedClaim(BOTH, {}, amounts("hugepages-2Mi=100Mi"), amounts("hugepages-2Mi=50Mi"))


def pair(
    requests: str, limits: str, *claims: CountedClaim, own: tuple[str, str] | None = None, pages: str = ""
) -> Pod:
    first = app(f"{requests} {pages}", f"{limits} {pages}", name="a")
    level = None if own is None else resources(*own)
    return manifest(first, app(requests, limits, name="b"), pod_level=level)._replace(counted_claims=claims)


class Case(NamedTuple):
    """A pod of two equal containers; its shares as milli CPU, its quotas too, and memory in MiB."""

    name: str
    pod: Pod
    whole: tuple[int, int | None, int | None]
    each: tuple[int, int | None, int | None]
    scored: int | None = None


CASES = [
    Case("mapped", pair(*ONE, MAPPED), (3000, 5000, 5096), (1000, 3000, 3048), 1524),
    Case("on top", pair(*ONE, ON_TOP), (2300, 4300, 4396), (1000, 2200, 2248), 1174),
    Case("both", pair(*ONE, MAPPED, ON_TOP), (3300, 5300, 5396), (1000, 3200, 3248), 1674),
    Case(
        "not named by any container",
        pair(*ONE, CountedClaim((), {}, ON_TOP.per_pod, ON_TOP.per_container)),
        (2100, 4100, 4196),
        (1000, 2000, 2048),
        1024,
    ),
    Case(
        "the pod's own, containers without limits",
        pair("", "", MAPPED, own=("cpu=2 memory=2Gi", "cpu=4 memory=4Gi")),
        (2000, 4000, 4096),
        (4000, 4000, 4096),
    ),
    Case(
        "the pod's own, containers with limits",
        pair(*ONE, ON_TOP, own=("cpu=2500m memory=2500Mi", "cpu=4 memory=4Gi")),
        (2500, 4000, 4096),
        (1000, 2200, 2248),
        1250,
    ),
    Case("BestEffort", pair("", "", MAPPED), (0, None, None), (0, None, None)),
    Case("no limits", pair(ONE[0], "", MAPPED), (3000, None, None), (1000, None, None), 1524),
    Case("Guaranteed", pair(ONE[0], ONE[0], MAPPED), (3000, 3000, 3048), (1000, 2000, 2024)),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_limits_follow_claims_and_shares_of_the_pod(case: Case) -> None:
    pod, qos = case.pod, pod_qos(case.pod).qos_class
    whole = pod_cgroup(pod, qos, CgroupSettings())
    assert (whole.shares, whole.quota, whole.memory) == _written(*case.whole)
    for each in pod.containers:
        values = container_cgroup(pod, each, qos, CgroupSettings())
        assert (values.shares, values.quota, values.memory) == _written(*case.each)
    if case.scored is not None:
        want = 1000 - 1000 * case.scored * MI // MEMORY
        assert [oom_score(pod, each, qos, MEMORY).value for each in pod.containers] == [want, want]


def _written(shares: int, quota: int | None, memory: int | None) -> tuple[int, int | None, int | None]:
    return (
        max(2, shares * 1024 // 1000),
        None if quota is None else quota * 100,
        None if memory is None else memory * MI,
    )


@pytest.mark.parametrize(
    ("pages", "whole", "each"), [("hugepages-2Mi=2Mi", 202, (152, 150)), ("", 200, (150, 150))]
)
def test_claims_make_limits_of_huge_pages(pages: str, whole: int, each: tuple[int, int]) -> None:
    pod = pair(*ONE, PAGES, pages=pages)
    qos = pod_qos(pod).qos_class
    assert pod_cgroup(pod, qos, CgroupSettings()).hugetlb == {2 * MI: whole * MI}
    found = [container_cgroup(pod, one, qos, CgroupSettings()).hugetlb[2 * MI] for one in pod.containers]
    assert found == [size * MI for size in each]


def test_a_pods_own_request_leaves_its_limit_to_the_containers() -> None:
    pod = pair(*ONE, MAPPED, own=("cpu=6", ""))
    values = pod_cgroup(pod, pod_qos(pod).qos_class, CgroupSettings())
    assert (values.shares, values.quota) == (6144, 500_000)


def test_memory_is_protected_as_requested_and_reclaimed_below_the_raised_limit() -> None:
    """KEP-5517, "Memory QoS Settings with DRA"."""
    claim = CountedClaim(("main",), amounts("memory=5Gi"))
    pod = manifest(app("memory=1Gi", "memory=2Gi"))._replace(counted_claims=(claim,))
    settings = CgroupSettings(minor=37, memory_qos=True, tiered=True)
    qos = pod_qos(pod).qos_class
    inside = container_cgroup(pod, pod.containers[0], qos, settings)
    assert (inside.memory, inside.memory_low) == (7 << 30, 1 << 30)
    assert inside.memory_high == int((1 + 0.9 * 6) * (1 << 30)) // 4096 * 4096
    assert pod_cgroup(pod, qos, settings).memory_low == 6 << 30


def test_overhead_of_an_init_container_counts_while_it_runs() -> None:
    """component-helpers 1.37: only the per-container overhead ends; the device stays allocated."""

    def milli(*containers: Container) -> int:
        claim = CountedClaim(("init",), amounts("cpu=2"), amounts("cpu=1"), amounts("cpu=500m"))
        return pod_requests(manifest(*containers)._replace(counted_claims=(claim,)))["cpu"].milli_value

    assert milli(init("cpu=1"), app("cpu=4")) == 7000
    assert milli(init("cpu=4"), app("cpu=4")) == 7500
    assert milli(app("cpu=4")) == 7500, "it is unknown when such a container runs"


@pytest.mark.parametrize(
    ("minor", "on", "admitted", "written"),
    [(35, False, 1, 1), (36, False, 1, 1), (36, True, 2, 1), (37, False, 1, 1), (37, True, 2, 2)],
)
def test_which_kubelets_count_claims(minor: int, *, on: bool, admitted: int, written: int) -> None:
    gates = FeatureGates.for_minor(minor)
    rules = node_rules(gates.with_overrides({"DRANodeAllocatableResources": True}) if on else gates)
    pod = manifest(app("cpu=1"))._replace(counted_claims=(CountedClaim(("main",), amounts("cpu=1")),))
    assert pod_requests(rules.known(pod))["cpu"].value == admitted
    assert pod_requests(rules.view(pod))["cpu"].value == written


def test_the_rules_name_claims() -> None:
    def rules(pod: Pod) -> tuple[str, ...]:
        qos = pod_qos(pod).qos_class
        whole = pod_cgroup_rules(pod, qos, CgroupSettings(), exclusive=False)
        inside = container_cgroup_rules(pod, pod.containers[0], CgroupSettings(), exclusive=False)
        return whole.shares, whole.quota, inside.shares, inside.quota

    raised = "the pod's cpu request and its claims", "the pod's cpu limit and its claims"
    assert rules(pair(*ONE, MAPPED)) == (*raised, "its cpu request", "its cpu limit and its claims")
    own = pair(*ONE, MAPPED, own=("cpu=4", "cpu=6"))
    assert rules(own)[:2] == ("the pod's cpu request", "the pod's cpu limit")
    assert rules(pair(*ONE))[3] == "its cpu limit"
