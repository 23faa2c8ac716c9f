"""The requests that resource managers of 1.27 to 1.34 read from the status of a running pod."""

from __future__ import annotations

import pytest

from cpuctl.engine.pod_rules import node_rules
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.pods.model import Container, ContainerKind, Pod
from cpuctl.pods.running import ContainerStatus, ReportedResources, RunState
from tests.support.pods import resources

ASKED = resources("cpu=2 memory=2Gi vendor/device=1")
GRANTED = resources("cpu=1 memory=1Gi").requests


def status(name: str, *, recorded: bool = True) -> ContainerStatus:
    reported = ReportedResources(granted=GRANTED if recorded else None)
    return ContainerStatus(name, RunState.RUNNING, resources=reported)


def running(*statuses: ContainerStatus) -> Pod:
    return Pod(
        "p",
        (Container("app", resources=ASKED),),
        init_containers=(
            Container("setup", kind=ContainerKind.INIT, resources=ASKED),
            Container("proxy", kind=ContainerKind.SIDECAR, resources=ASKED),
        ),
        statuses=statuses,
    )


def read(minor: int, pod: Pod, *, gate: bool = True) -> dict[str, str]:
    rules = node_rules(FeatureGates(minor, {"InPlacePodVerticalScaling": gate}))
    return {
        each.name: " ".join(f"{name}={amount}" for name, amount in sorted(each.resources.requests.items()))
        for each in rules.managed(pod).all_containers
    }


WHOLE, PART = "cpu=2 memory=2Gi vendor/device=1", "cpu=1 memory=1Gi vendor/device=1"
ALL = (status("setup"), status("proxy"), status("app"))


@pytest.mark.parametrize(
    ("minor", "gate", "reported"),
    [
        (34, True, {"setup": WHOLE, "proxy": PART, "app": PART}),
        (32, True, {"setup": WHOLE, "proxy": WHOLE, "app": PART}),
        (32, False, {"setup": WHOLE, "proxy": WHOLE, "app": WHOLE}),
        (35, True, {"setup": WHOLE, "proxy": WHOLE, "app": WHOLE}),
    ],
)
def test_a_status_replaces_the_spec(minor: int, *, gate: bool, reported: dict[str, str]) -> None:
    assert read(minor, running(*ALL), gate=gate) == reported


def test_an_empty_status_counts_as_no_request() -> None:
    assert read(34, running(status("app", recorded=False)))["app"] == "vendor/device=1"


def test_a_pod_without_a_status_has_its_requests() -> None:
    assert set(read(34, running()).values()) == {WHOLE}
