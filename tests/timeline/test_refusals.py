"""Steps of a timeline that are refused: which component refuses, why, and what stays unchanged."""

from __future__ import annotations

from typing import Any

import pytest

from cpuctl.errors import InputError
from cpuctl.state_names import MEMORY_FILE
from cpuctl.timeline import simulation as simulating
from cpuctl.timeline.world.entries import EntryKind
from tests.timeline.replaying import config, container, document, play, read, replay, reported, seen, small

ADMIT = {"at": "0s", "admit": "dpdk"}
STOP = {"at": "1s", "kubelet": "stop"}
OLDER = {"kubelet": {"version": "1.36", "config": config(cpuManagerPolicyOptions={}, featureGates={})}}
NOT_PINNED = {"kubelet": {"version": "1.36", "config": {}}, "apiServer": {}}

IGNORED = [
    ("a pod that never came", [{"at": "1s", "remove": "dpdk"}], "pod default/dpdk does not exist"),
    (
        "a resize of a pod that is deleted without a kubelet",
        [ADMIT, STOP, {"at": "2s", "remove": "dpdk"}, {"at": "3s", "resize": {"pod": "dpdk", "cpu": 4}}],
        "pod default/dpdk does not exist",
    ),
    ("a container that ended before", [ADMIT, *[{"at": "1s", "exit": "dpdk/app"}] * 3], "is not running"),
    ("a container that runs already", [ADMIT, {"at": "1s", "start": "dpdk/app"}], "is already running"),
    (
        "a container that cannot start",
        [ADMIT, {"at": "1s", "exit": "dpdk/app"}, STOP, {"at": "2s", "start": "dpdk/app"}],
        "no kubelet is running to start it",
    ),
    (
        "a container of a pod that was refused",
        [{"at": "0s", "admit": "big"}, {"at": "1s", "start": "big/big"}],
        "its pod is not admitted",
    ),
    (
        "a resize of a pod that was refused",
        [{"at": "0s", "admit": "big"}, {"at": "1s", "resize": {"pod": "big", "cpu": 2}}],
        "cannot be resized: it is not running",
    ),
    ("a second kubelet", [{"at": "1s", "kubelet": "start"}], "the kubelet is already running"),
    (
        "a change to a missing state file",
        [
            STOP,
            {"at": "2s", "stateFile": {"delete": True}},
            {"at": "3s", "stateFile": {"defaultCpuSet": "1"}},
        ],
        "cpu_manager_state does not exist or cannot be read, so it is unchanged",
    ),
]
PODS = [small(), "other=2,1Gi", "big=30,1Gi"]


@pytest.mark.parametrize(("events", "why"), [case[1:] for case in IGNORED], ids=[case[0] for case in IGNORED])
def test_impossible_events_are_reported_and_ignored(events: list[dict[str, Any]], why: str) -> None:
    simulation = play(*events, pods=PODS)
    assert [entry.text for entry in reported(simulation, EntryKind.IGNORED)] == [why]


def test_a_name_can_be_used_only_once() -> None:
    simulation = play(ADMIT, {"at": "1s", "admit": "dpdk"})
    (refused,) = reported(simulation, EntryKind.FORBIDDEN)
    assert refused.details["message"] == 'pods "dpdk" already exists'


def test_an_older_api_server_rejects_an_update_with_the_field() -> None:
    simulation = play(
        ADMIT,
        {"at": "1s", "apiServer": {"version": "1.36"}},
        {"at": "2s", "update": {"pod": "dpdk", "assignedCPUSet": ["app"]}},
    )
    (refused,) = reported(simulation, EntryKind.FORBIDDEN)
    assert str(refused.details["message"]).startswith(
        'resourceFieldRef.resource: Unsupported value: "assigned.cpuset": supported values: "limits.cpu"'
    )
    assert container(simulation)["downward"] == "1,11"


def test_an_api_server_rejects_a_change_of_the_qos_class() -> None:
    request = {"requests": {"cpu": 2}, "limits": {"cpu": 3}}
    simulation = play(ADMIT, {"at": "1s", "resize": {"pod": "dpdk", **request}})
    (refused,) = reported(simulation, EntryKind.FORBIDDEN)
    assert "QOS" in refused.text.upper()
    assert container(simulation)["desired"] == "2"


def test_an_api_server_keeps_fields_in_use_even_if_it_drops_them_from_new_pods() -> None:
    """``DropDisabledPodFields``: pod-level resources in use outlive the gate."""
    own = {"requests": {"cpu": 2}, "limits": {"cpu": 4}}
    containers = [{"name": "app", "resources": {"requests": {"cpu": 1}}}]
    whole = {"metadata": {"name": "whole"}, "spec": {"resources": own, "containers": containers}}
    simulation = play(
        {"at": "0s", "admit": "whole"},
        {"at": "1s", "apiServer": {"version": "1.33", "featureGates": {"PodLevelResources": False}}},
        {"at": "2s", "resize": {"pod": "whole", "cpu": "500m"}},
        pods=[whole],
    )
    assert reported(simulation, EntryKind.FORBIDDEN) == []
    assert reported(simulation, EntryKind.RESIZE_ACCEPTED)[0].text == "resize is accepted: app 1 to 500m CPUs"


@pytest.mark.parametrize(
    ("minor", "why"), [(36, "cpu request 1 but limit 3"), (37, "a cpu limit of 3 but no request")]
)
def test_a_static_pod_has_the_defaults_of_its_own_kubelet(minor: int, why: str) -> None:
    """From 1.37 on only the API server applies pod-level defaults, and a static pod never reaches it."""
    static = {
        "metadata": {"name": "whole", "annotations": {"kubernetes.io/config.source": "file"}},
        "spec": {
            "resources": {"limits": {"cpu": 3}},
            "containers": [{"name": "app", "resources": {"requests": {"cpu": 1}}}],
        },
    }
    kubelet = {"version": f"1.{minor}", "config": config(cpuManagerPolicyOptions={}, featureGates={})}
    simulation = play({"at": "0s", "admit": "whole"}, pods=[static], kubelet=kubelet, apiServer={})
    (admitted,) = reported(simulation, EntryKind.ADMITTED)
    assert admitted.text.endswith(why)


def test_an_older_kubelet_cannot_set_up_the_volume() -> None:
    """The operator's error of the KEP: the field is allowed while some kubelets do not know it."""
    server = {"version": "1.37", "featureGates": {"DownwardAPIAssignedResources": True}}
    simulation = play(ADMIT, apiServer=server, **OLDER)
    (waits,) = reported(simulation, EntryKind.CONTAINER_WAITS)
    assert waits.text.endswith("unsupported container resource : assigned.cpuset")
    assert container(simulation)["state"] == "waiting"
    assert seen(simulation, "pods")["default/dpdk"]["phase"] == "Pending"


def test_a_kubelet_with_a_delay_but_without_the_gate_refuses_to_start() -> None:
    """KEP-6122: a delay above 0 without the gate of KEP-5554 is not a valid configuration."""
    simulation = play(
        kubelet={"version": "1.37", "config": config(featureGates={"CPUManagerPolicyAlphaOptions": True})}
    )
    assert seen(simulation, "kubelet")["running"] is False
    assert "must be 0 without" in seen(simulation, "kubelet")["error"]


def test_a_resize_waits_for_a_kubelet() -> None:
    request = {"at": "2s", "resize": {"pod": "dpdk", "cpu": 4}}
    simulation = play(ADMIT, STOP, request, {"at": "3s", "kubelet": "start"}, until="5s")
    (noted,) = reported(simulation, EntryKind.UPDATED)
    assert noted.text == "will be resized once a kubelet runs"
    assert container(simulation)["cgroup"] == "1-2,11-12"


def test_without_a_policy_nothing_is_written_and_nothing_is_shared() -> None:
    simulation = play({"at": "0s", "admit": "other"}, **NOT_PINNED)
    assert seen(simulation, "sharedPool") == ""
    assert container(simulation, "other/other")["cgroup"] == ""
    assert container(simulation, "other/other")["effective"] == "0-19"


def test_a_first_kubelet_that_never_started_reports_nothing_to_the_scheduler() -> None:
    simulation = play({"at": "1s", "schedule": "other"}, kubelet={"version": "1.37", "running": False})
    assert seen(simulation, "scheduler") == {}
    assert seen(simulation, "pods")["default/other"]["phase"] == "Unscheduled"


def test_version_1_keeps_a_set_that_it_cannot_replace() -> None:
    """The kernel rejects offline CPUs; the kubelet tries again with each pass, and logs it once."""
    events: list[dict[str, Any]] = [
        ADMIT,
        {"at": "500ms", "cpus": {"offline": "12"}},
        {"at": "600ms", "resize": {"pod": "dpdk", "cpu": 4}},
        {"at": "5s", "cpus": {"online": "12"}},
    ]
    kubelet = {"version": "1.37", "config": config(failCgroupV1=False)}
    simulation = play(*events, cgroupVersion=1, until="6s", kubelet=kubelet)
    (refused,) = reported(simulation, EntryKind.CPUSET_REFUSED)
    assert refused.text == "keeps CPUs 1,11: CPUs 1-2,11-12 cannot be written while offline"
    assert container(simulation)["cgroup"] == "1-2,11-12"


def test_an_edited_file_counts_only_at_the_next_start() -> None:
    patch = {"entries": {"dpdk/app": None}, "defaultCpuSet": "0-19"}
    events: list[dict[str, Any]] = [
        ADMIT,
        {"at": "1s", "stateFile": patch},
        {"at": "2s", "kubelet": "restart"},
    ]
    running = play(*events[:2])
    assert container(running)["cpus"] == "1,11"
    assert seen(running, "stateFile")["entries"] == {}
    assert container(play(*events))["cpus"] == "1,11", "it is admitted again, and given the same"


def test_an_invalid_memory_state_stops_the_next_kubelet() -> None:
    edit = {"file": MEMORY_FILE, "text": "{}"}
    simulation = play(ADMIT, {"at": "1s", "stateFile": edit}, {"at": "2s", "kubelet": "restart"})
    assert seen(simulation, "kubelet")["running"] is False
    assert container(simulation)["state"] == "running"


def test_a_timeline_without_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulating, "MAX_STEPS", 3)
    with pytest.raises(InputError, match="more than 3 steps"):
        replay(read(document(ADMIT, until="1h")))
