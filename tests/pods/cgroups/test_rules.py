from __future__ import annotations

from dataclasses import dataclass

import pytest

from cpuctl.pods.cgroups.rules import CgroupRules, container_cgroup_rules, pod_cgroup_rules
from cpuctl.pods.cgroups.values import CgroupSettings
from cpuctl.pods.model import Pod
from cpuctl.pods.qos import pod_qos
from tests.support.pods import app, manifest, resources

FULL = ("cpu=2 memory=1Gi", "cpu=2 memory=1Gi")
REQUEST = "the pod's cpu request"
SETTINGS = CgroupSettings()
OFF = SETTINGS._replace(cfs_quota=False)
OLD = SETTINGS._replace(minor=32, lifts_quota=False)
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
        CgroupRules("BestEffort pods have least", *["BestEffort pods have none"] * 2),
    ),
    Case(
        "no limits",
        manifest(app("cpu=1")),
        CgroupRules(REQUEST, NONE_OF.format("cpu"), NONE_OF.format("memory")),
    ),
    Case("exclusive", manifest(app(*FULL)), POD_LIMITS._replace(quota=LIFTED), exclusive=True),
    Case("exclusive, up to 1.32", manifest(app(*FULL)), POD_LIMITS, OLD, exclusive=True),
    Case("switched off", manifest(app(*FULL)), POD_LIMITS._replace(quota=SWITCHED_OFF), OFF),
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
    Case("exclusive", manifest(app(*FULL)), OWN._replace(quota=LIFTED), exclusive=True),
    Case("switched off", manifest(app(*FULL)), OWN._replace(quota=SWITCHED_OFF), OFF, exclusive=True),
]


@pytest.mark.parametrize("case", CONTAINERS, ids=lambda case: case.name)
def test_containers(case: Case) -> None:
    (container,) = case.pod.containers
    assert container_cgroup_rules(case.pod, container, case.settings, exclusive=case.exclusive) == case.want
