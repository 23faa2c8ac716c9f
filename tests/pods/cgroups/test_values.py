from __future__ import annotations

from dataclasses import dataclass

import pytest

from cpuctl.pods.cgroups.values import (
    CgroupRules,
    CgroupSettings,
    CgroupValues,
    container_cgroup,
    container_cgroup_rules,
    pod_cgroup,
    pod_cgroup_rules,
)
from cpuctl.pods.model import Container, Pod
from cpuctl.pods.qos import pod_qos
from cpuctl.records import replace
from tests.support.pods import app, init, manifest, resources, sidecar

MI, GI = 1 << 20, 1 << 30
FULL = ("cpu=2 memory=1Gi", "cpu=2 memory=1Gi")


def of_pod(given: Pod, settings: CgroupSettings | None = None, *, exclusive: bool = False) -> CgroupValues:
    return pod_cgroup(given, pod_qos(given).qos_class, settings or CgroupSettings(), exclusive=exclusive)


def of_container(
    given: Pod, container: Container, settings: CgroupSettings | None = None, *, exclusive: bool = False
) -> CgroupValues:
    qos = pod_qos(given).qos_class
    return container_cgroup(given, container, qos, settings or CgroupSettings(), exclusive=exclusive)


@dataclass(frozen=True)
class Limited:
    """Whether the pod cgroup of a Burstable pod has a CPU limit, and which."""

    name: str
    pod: Pod
    quota: int | None


LIMITED = [
    Limited("every container", manifest(app("", "cpu=1"), init("", "cpu=2")), 200_000),
    Limited("not the init container", manifest(app("", "cpu=1"), init()), None),
    Limited(
        "the sidecar before it counts", manifest(sidecar("", "cpu=1"), init(), app("", "cpu=1")), 200_000
    ),
    Limited("the sidecar after it does not", manifest(init(), sidecar("", "cpu=1"), app("", "cpu=1")), None),
    Limited("not every app container", manifest(app("", "cpu=1", name="a"), app("cpu=1", name="b")), None),
    Limited("the pod", manifest(app(), pod_level=resources("cpu=1", "cpu=3")), 300_000),
    Limited("overhead is on top", manifest(app("", "cpu=1"), overhead="cpu=500m"), 150_000),
]


@pytest.mark.parametrize("case", LIMITED, ids=lambda case: case.name)
def test_pod_quota(case: Limited) -> None:
    values = of_pod(case.pod)
    assert values.quota == case.quota
    assert values.period == (None if case.quota is None else 100_000)


def test_best_effort_has_least_shares_and_no_limits() -> None:
    assert of_pod(manifest(app())) == CgroupValues(shares=2)


@dataclass(frozen=True)
class Quota:
    """The quota of a Guaranteed pod (pod's, container's) with two CPUs."""

    name: str
    settings: CgroupSettings
    exclusive: bool
    want: tuple[int | None, int | None]


QUOTAS = [
    Quota("shared", CgroupSettings(), False, (200_000, 200_000)),
    Quota("exclusive", CgroupSettings(), True, (-1, -1)),
    Quota("exclusive, up to 1.32", CgroupSettings(minor=32, lifts_quota=False), True, (200_000, 200_000)),
    Quota("switched off", CgroupSettings(cfs_quota=False), False, (-1, None)),
    Quota("switched off, exclusive", CgroupSettings(cfs_quota=False), True, (-1, None)),
    Quota("a shorter period", CgroupSettings(period=10_000), False, (20_000, 20_000)),
]


@pytest.mark.parametrize("case", QUOTAS, ids=lambda case: case.name)
def test_quota(case: Quota) -> None:
    given = manifest(app(*FULL))
    found = of_pod(given, case.settings, exclusive=case.exclusive)
    inside = of_container(given, given.containers[0], case.settings, exclusive=case.exclusive)
    assert (found.quota, inside.quota) == case.want
    assert found.period == case.settings.period


def test_a_container_without_its_own_limit_has_the_pods() -> None:
    given = manifest(app(), pod_level=resources("cpu=1", "cpu=3 memory=1Gi"))
    values = of_container(given, given.containers[0])
    assert (values.shares, values.quota, values.memory) == (3072, 300_000, GI)


@pytest.mark.parametrize(("request_", "shares"), [("", 1024), ("cpu=0", 2), ("cpu=500m", 512)])
def test_shares_follow_the_request_even_one_of_zero(request_: str, shares: int) -> None:
    given = manifest(app(request_, "cpu=1"))
    assert of_container(given, given.containers[0]).shares == shares


def test_huge_pages() -> None:
    """The pod's cgroup uses requests, a container's uses limits; other page sizes are limited to 0."""
    settings = CgroupSettings(page_sizes=(2 * MI, GI))
    given = manifest(
        app("hugepages-2Mi=4Mi", "hugepages-2Mi=4Mi", name="a"),
        app(name="b"),
        pod_level=resources("hugepages-2Mi=8Mi cpu=1", "hugepages-2Mi=8Mi"),
    )
    assert of_pod(given, settings).hugetlb == {2 * MI: 8 * MI, GI: 0}
    assert of_container(given, given.containers[0], settings).hugetlb == {2 * MI: 4 * MI, GI: 0}
    assert of_container(given, given.containers[1], settings).hugetlb == {2 * MI: 8 * MI, GI: 0}


def test_process_ids() -> None:
    assert of_pod(manifest(app()), CgroupSettings(pids_limit=500)).pids == 500
    assert of_pod(manifest(app()), CgroupSettings(pids_limit=-1)).pids is None


QOS = CgroupSettings(memory_qos=True)
TIERED = replace(QOS, tiered=True)
BURSTABLE = manifest(app("memory=1Gi", "memory=2Gi"))
GUARANTEED = manifest(app(*FULL))


@dataclass(frozen=True)
class Protected:
    """Protected memory in bytes: hard and soft, of the pod and of its container."""

    name: str
    settings: CgroupSettings
    pod: Pod
    of_pod: tuple[int | None, int | None]
    of_container: tuple[int | None, int | None]


PROTECTED = [
    Protected("off", CgroupSettings(tiered=True), GUARANTEED, (None, None), (None, None)),
    Protected("by class, Guaranteed", TIERED, GUARANTEED, (GI, None), (GI, None)),
    Protected("by class, Burstable", TIERED, BURSTABLE, (None, GI), (None, GI)),
    Protected("no policy", QOS, BURSTABLE, (None, None), (0, 0)),
    Protected("nothing requested", TIERED, manifest(app("cpu=1")), (None, None), (0, 0)),
    Protected("up to 1.35", replace(QOS, minor=35), BURSTABLE, (GI, None), (GI, None)),
]


@pytest.mark.parametrize("case", PROTECTED, ids=lambda case: case.name)
def test_protected_memory(case: Protected) -> None:
    found = of_pod(case.pod, case.settings)
    inside = of_container(case.pod, case.pod.containers[0], case.settings)
    assert (found.memory_min, found.memory_low) == case.of_pod
    assert (inside.memory_min, inside.memory_low) == case.of_container


@dataclass(frozen=True)
class High:
    """The threshold above which the memory of one container is reclaimed."""

    name: str
    settings: CgroupSettings
    amounts: tuple[str, str]
    want: int | None


HIGHS = [
    High("nine tenths of the way", QOS, ("memory=100Mi", "memory=200Mi"), 190 * MI),
    High("down to a page", QOS, ("memory=100Mi", f"memory={200 * MI - 1}"), 190 * MI - 4096),
    High("request is limit", QOS, ("memory=1Gi", "memory=1Gi"), None),
    High("neither", QOS, ("", ""), None),
    High("no factor", replace(QOS, throttling_factor=None), ("memory=1Gi", "memory=2Gi"), None),
    High("without a limit", replace(QOS, allocatable_memory=10 * GI), ("memory=5Gi", ""), 9728 * MI),
    High("never below the request", replace(QOS, throttling_factor=0.0), ("memory=1Gi", "memory=2Gi"), None),
]


@pytest.mark.parametrize("case", HIGHS, ids=lambda case: case.name)
def test_reclaim(case: High) -> None:
    given = manifest(app(*case.amounts))
    found = of_container(given, given.containers[0], case.settings)
    assert found.memory_high == case.want
    assert not found.unknown


def test_reclaim_without_a_limit_takes_the_node() -> None:
    given = manifest(app("memory=1Gi"))
    found = of_container(given, given.containers[0], QOS)
    assert found.memory_high is None
    assert found.unknown == {"memory_high": "it depends on the node's allocatable memory"}


REQUEST = "the pod's cpu request"
SETTINGS = CgroupSettings()
OFF = replace(SETTINGS, cfs_quota=False)
OLD = replace(SETTINGS, minor=32, lifts_quota=False)
LIFTED = "none, because of exclusive CPUs"
SWITCHED_OFF = "none, because cpuCFSQuota is false"


@dataclass(frozen=True)
class Case:
    """A pod, its kubelet, whether CPUs are exclusive, and the rules of its cgroup."""

    name: str
    pod: Pod
    want: CgroupRules
    settings: CgroupSettings = SETTINGS
    exclusive: bool = False


NONE_OF = "none, because not every container has a {} limit"
POD_LIMITS = CgroupRules(REQUEST, "the pod's cpu limit", "the pod's memory limit")
PODS = [
    Case("guaranteed", manifest(app(*FULL)), POD_LIMITS),
    Case(
        "best effort",
        manifest(app()),
        CgroupRules("BestEffort pods have the minimum", *["BestEffort pods have none"] * 2),
    ),
    Case(
        "no limits",
        manifest(app("cpu=1")),
        CgroupRules(REQUEST, NONE_OF.format("cpu"), NONE_OF.format("memory")),
    ),
    Case("exclusive", manifest(app(*FULL)), replace(POD_LIMITS, quota=LIFTED), exclusive=True),
    Case("exclusive, up to 1.32", manifest(app(*FULL)), POD_LIMITS, OLD, exclusive=True),
    Case("switched off", manifest(app(*FULL)), replace(POD_LIMITS, quota=SWITCHED_OFF), OFF),
    Case(
        "nothing to switch off",
        manifest(app("cpu=1", "memory=1Gi")),
        CgroupRules(REQUEST, NONE_OF.format("cpu"), "the pod's memory limit"),
        OFF,
    ),
]


@pytest.mark.parametrize("case", PODS, ids=lambda case: case.name)
def test_pods(case: Case) -> None:
    qos = pod_qos(case.pod).qos_class
    assert pod_cgroup_rules(case.pod, qos, case.settings, exclusive=case.exclusive) == case.want


OWN = CgroupRules("its cpu request", "its cpu limit", "its memory limit")
WHOLE = ("the whole pod-level cpu limit", "the whole pod-level memory limit")
NO = ("none, because there is no cpu limit", "none, because there is no memory limit")
CONTAINERS = [
    Case("its own", manifest(app(*FULL)), OWN),
    Case(
        "the pod's",
        manifest(app(), pod_level=resources(*FULL)),
        CgroupRules(f"no request: {WHOLE[0]}", *WHOLE),
    ),
    Case("none", manifest(app()), CgroupRules(f"no request: {NO[0]}", *NO)),
    Case("exclusive", manifest(app(*FULL)), replace(OWN, quota=LIFTED), exclusive=True),
    Case("switched off", manifest(app(*FULL)), replace(OWN, quota=SWITCHED_OFF), OFF, exclusive=True),
]


@pytest.mark.parametrize("case", CONTAINERS, ids=lambda case: case.name)
def test_containers(case: Case) -> None:
    (container,) = case.pod.containers
    assert container_cgroup_rules(case.pod, container, case.settings, exclusive=case.exclusive) == case.want
