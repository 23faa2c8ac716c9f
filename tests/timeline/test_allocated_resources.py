"""allocatedResources in pods' statuses, and how kubelets up to 1.34 use it when they start."""

from __future__ import annotations

from typing import Any

import pytest

from tests.timeline.replaying import play, seen

IN_PLACE, REPORTED = "InPlacePodVerticalScaling", "InPlacePodVerticalScalingAllocatedStatus"
ADMIT = {"at": "0s", "admit": "dpdk"}
FORGET: list[dict[str, Any]] = [{"at": "5s", "kubelet": "stop"}, {"at": "6s", "stateFile": {"delete": True}}]
STATUS = {"containerStatuses": [{"name": "app", "state": {"running": {}}}]}
POD: dict[str, Any] = {
    "metadata": {"name": "dpdk"},
    "spec": {"containers": [{"name": "app", "resources": {"limits": {"cpu": 2, "memory": "1Gi"}}}]},
}


def kubelet(version: str, **gates: bool) -> dict[str, Any]:
    return {
        "version": version,
        "config": {"cpuManagerPolicy": "static", "reservedSystemCPUs": "0,10", "featureGates": gates},
    }


def placed_again(minor: str, gates: dict[str, bool]) -> list[str]:
    """Return the pods whose exclusive CPUs a kubelet knows after a start without a state file."""
    simulation = play(
        ADMIT,
        *FORGET,
        {"at": "7s", "kubelet": "start"},
        kubelet=kubelet(minor, **gates),
        apiServer={},
        pods=[POD],
        until="20s",
    )
    return list(seen(simulation, "stateFile")["entries"])


@pytest.mark.parametrize(
    ("minor", "gates", "reported"),
    [
        ("1.31", {IN_PLACE: True}, True),
        ("1.32", {}, True),
        ("1.32", {IN_PLACE: True}, False),
        ("1.32", {IN_PLACE: True, REPORTED: True}, True),
        ("1.33", {REPORTED: False}, True),
        ("1.34", {}, True),
        ("1.35", {}, True),
    ],
)
def test_only_in_1_32_a_separate_gate_determines_the_content_of_statuses(
    minor: str, gates: dict[str, bool], reported: bool
) -> None:
    """Rule: ``convertToAPIContainerStatuses`` of 1.27 to 1.35 (kubernetes 128377, 130880)."""
    assert placed_again(minor, gates) == (["default/dpdk/app"] if reported else [])


def test_a_container_keeps_the_cpus_in_its_state_file_with_any_status() -> None:
    simulation = play(
        ADMIT,
        {"at": "5s", "kubelet": "restart"},
        kubelet=kubelet("1.32", **{IN_PLACE: True}),
        apiServer={},
        pods=[POD],
        until="20s",
    )
    assert seen(simulation, "stateFile")["entries"] == {"default/dpdk/app": "1,11"}
    assert seen(simulation, "containers")["default/dpdk/app"]["cgroup"] == "1,11"


def test_statuses_of_an_older_kubelet_contain_nothing_until_the_new_one_has_written_them() -> None:
    """InPlacePodVerticalScaling is enabled from 1.33 on: the first start after the upgrade finds none."""
    upgrade = {"at": "7s", "kubelet": {"action": "upgrade", "version": "1.33"}}
    members: dict[str, Any] = {"kubelet": kubelet("1.32"), "apiServer": {"version": "1.33"}, "pods": [POD]}
    first = play(ADMIT, *FORGET, upgrade, until="20s", **members)
    assert seen(first, "stateFile")["entries"] == {}
    again = play(ADMIT, *FORGET, upgrade, {"at": "9s", "kubelet": "restart"}, until="20s", **members)
    assert seen(again, "stateFile")["entries"] == {"default/dpdk/app": "1,11"}


def test_an_api_server_without_the_gate_drops_the_fields_of_a_status() -> None:
    """Rule: ``dropDisabledPodStatusFields`` of ``pkg/api/pod/util.go``."""
    members: dict[str, Any] = {"kubelet": kubelet("1.33"), "apiServer": {"version": "1.32"}, "pods": [POD]}
    simulation = play(ADMIT, *FORGET, {"at": "7s", "kubelet": "start"}, until="20s", **members)
    assert seen(simulation, "stateFile")["entries"] == {}


def test_a_container_that_never_ran_has_nothing_in_its_status() -> None:
    waits = {"at": "0s", "admit": {"pod": "dpdk", "start": False}}
    simulation = play(
        waits,
        *FORGET,
        {"at": "7s", "kubelet": "start"},
        kubelet=kubelet("1.34"),
        apiServer={},
        pods=[POD],
        until="20s",
    )
    assert seen(simulation, "stateFile")["entries"] == {}


def test_a_pod_is_created_without_the_status_that_its_manifest_was_saved_with() -> None:
    simulation = play(
        ADMIT, kubelet=kubelet("1.34"), apiServer={}, pods=[POD | {"status": STATUS}], until="2s"
    )
    assert seen(simulation, "stateFile")["entries"] == {"default/dpdk/app": "1,11"}
