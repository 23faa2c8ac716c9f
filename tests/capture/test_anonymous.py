"""An anonymized capture contains no names, and is still consistent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cpuctl.capture.anonymous import Pseudonyms, anonymized, anonymous_state
from cpuctl.capture.archive import make_capture
from cpuctl.capture.collected import Collected, Unreadable
from tests.capture.node_texts import CONTAINER_ID, POD, SYSTEMD_UID, UID, node_texts, recorded

NAMES = (UID, SYSTEMD_UID, CONTAINER_ID, "trading", "acme", "db7")
UID_1 = "00000000-0000-4000-8000-000000000001"
STATE = "var/lib/kubelet/cpu_manager_state"


def everything(collected: Collected) -> str:
    """Return everything that would be written: names, links and texts."""
    return repr(make_capture(collected, cpuctl="test"))


def test_no_name_is_left_anywhere() -> None:
    before, after = everything(recorded()), everything(anonymized(recorded()))
    assert [name for name in NAMES if name not in before] == []
    assert [name for name in NAMES if name in after] == []


def test_nothing_else_changes() -> None:
    before, after = recorded(), anonymized(recorded())
    assert len(after.members) == len(before.members)
    assert [thread.cpus for each in after.processes for thread in each.threads] == [
        thread.cpus for each in before.processes for thread in each.threads
    ]
    topology = {path for path in before.members if path.startswith("sys/devices")}
    assert {path: after.members[path] for path in topology} == {
        path: before.members[path] for path in topology
    }


def test_state_groups_and_processes_still_name_the_same_pod() -> None:
    after = anonymized(recorded())
    state = json.loads(str(after.members[STATE]))
    assert state["entries"] == {UID_1: {"container1": "1-2"}}
    assert state["checksum"] == 0
    pod = POD.replace(SYSTEMD_UID, UID_1.replace("-", "_"))
    (group,) = (path for path in after.members if path.endswith(".scope/cpuset.cpus"))
    assert group.startswith(f"sys/fs/cgroup/{pod}/cri-containerd-")
    assert after.processes[-1].cgroup == "/" + group.removeprefix("sys/fs/cgroup/").rpartition("/")[0]


def test_the_manifest_says_that_the_capture_is_anonymized() -> None:
    manifest = make_capture(anonymized(recorded()), cpuctl="test").manifest
    assert (manifest["anonymized"], manifest["stateChecksumsValid"]) == (True, False)
    assert "--hostname-override=node1" in (manifest["kubelet"]["flags"] or ())


def test_the_groups_that_the_kubelet_is_configured_with_are_the_groups_of_the_node() -> None:
    texts = node_texts()
    texts["proc/90/status"] = texts["proc/1/status"]
    texts["proc/90/cgroup"] = "0::/acme.slice\n"
    after = anonymized(recorded(texts))
    config = json.loads(str(after.members["var/lib/kubelet/config.yaml"]))
    assert config["kubeletCgroups"] == after.processes[-1].cgroup == "/group1.slice"


def test_unreadable_paths_are_anonymized_too() -> None:
    closed = f"sys/fs/cgroup/{POD}/cpu.max"
    (refused,) = anonymized(recorded(node_texts(), closed)).unreadable
    assert refused.path == closed.replace(SYSTEMD_UID, UID_1.replace("-", "_"))


def test_an_unknown_state_file_is_left_out() -> None:
    texts = node_texts() | {STATE: f'{{"entries":{{"{UID}":'}
    after = anonymized(recorded(texts))
    assert STATE not in after.members
    assert after.unreadable == (Unreadable(STATE, "the file is not JSON, so names in it cannot be replaced"),)
    area = {area.name: area for area in after.areas}["kubelet"]
    assert (area.entries, area.counts["stateFiles"]) == (1, 0)


def replaced(value: Any) -> Any:
    return json.loads(anonymous_state(json.dumps(value), Pseudonyms()))


V2 = {"policyName": "static", "entries": {UID: {"app": "1-2"}}}

STATES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "CPU, by container ID": (
        {"entries": {CONTAINER_ID: "1-2"}},
        {"entries": {"0" * 63 + "1": "1-2"}},
    ),
    "CPU, by pod": (V2, {"policyName": "static", "entries": {UID_1: {"container1": "1-2"}}}),
    "pods as a whole": (
        {"podEntries": {UID: {"cpuSet": "1-4"}}},
        {"podEntries": {UID_1: {"cpuSet": "1-4"}}},
    ),
    "baselines": (
        {"baselines": {UID: {"app": {"baseline": "1"}}}},
        {"baselines": {UID_1: {"container1": {"baseline": "1"}}}},
    ),
    "memory": (
        {"machineState": {"0": {"cells": [0]}}, "entries": {UID: {"app": [{"numaAffinity": [0]}]}}},
        {
            "machineState": {"0": {"cells": [0]}},
            "entries": {UID_1: {"container1": [{"numaAffinity": [0]}]}},
        },
    ),
    "allocations": (
        {"data": json.dumps({"entries": {UID: {"ContainerResources": {"app": {}}, "PodLevelResources": 1}}})},
        {
            "data": f'{{"entries":{{"{UID_1}":'
            '{"ContainerResources":{"container1":{}},"PodLevelResources":1}}}'
        },
    ),
    "resizes up to 1.31": (
        {"allocationEntries": {UID: {"app": {"cpu": "2"}}}, "resizeStatusEntries": {UID: "InProgress"}},
        {
            "allocationEntries": {UID_1: {"container1": {"cpu": "2"}}},
            "resizeStatusEntries": {UID_1: "InProgress"},
        },
    ),
    "devices": (
        {
            "Data": {
                "PodDeviceEntries": [
                    {
                        "PodUID": UID,
                        "ContainerName": "app",
                        "ResourceName": "x/y",
                        "DeviceIDs": {"0": ["serial-7"]},
                        "AllocResp": "CgM=",
                    }
                ],
                "RegisteredDevices": {"x/y": ["serial-7", "serial-8"]},
            }
        },
        {
            "Data": {
                "PodDeviceEntries": [
                    {
                        "PodUID": UID_1,
                        "ContainerName": "container1",
                        "ResourceName": "x/y",
                        "DeviceIDs": {"0": ["device1"]},
                        "AllocResp": None,
                    }
                ],
                "RegisteredDevices": {"x/y": ["device1", "device2"]},
            }
        },
    ),
    "claims up to 1.30": (
        {"entries": [{"ClaimName": "gpu", "PodUIDs": {UID: {}}, "ResourceHandles": [{"data": "s"}]}]},
        {"entries": [{"ClaimName": "claim1", "PodUIDs": {UID_1: {}}, "ResourceHandles": None}]},
    ),
    "claims": (
        {
            "Data": json.dumps(
                {
                    "ClaimInfoStateList": [
                        {"Namespace": "shop", "DriverState": {"d": {"Devices": [{"PoolName": "node-7"}]}}}
                    ]
                }
            )
        },
        {
            "Data": '{"ClaimInfoStateList":[{"Namespace":"namespace1",'
            '"DriverState":{"d":{"Devices":[{"PoolName":"pool1"}]}}}]}'
        },
    ),
    "any case, as Go reads it": ({"Entries": {UID: {"app": "1"}}}, {"Entries": {UID_1: {"container1": "1"}}}),
    "no UUID": ({"entries": {"pod-a": {"app": "1"}}}, {"entries": {UID_1: {"container1": "1"}}}),
    "elsewhere": ({"later": [f"of {UID}"]}, {"later": [f"of {UID_1}"]}),
    "empty": ({}, {}),
    "odd": ({"entries": 5, "podEntries": None, "data": ""}, {"entries": 5, "podEntries": None, "data": ""}),
    "odd inside": ({"entries": {UID: [1]}}, {"entries": {UID_1: [1]}}),
}


@pytest.mark.parametrize(("state", "want"), STATES.values(), ids=STATES.keys())
def test_every_format_of_state_files(state: dict[str, Any], want: dict[str, Any]) -> None:
    assert replaced(state) == want


def test_one_pod_has_one_pseudonym_in_all_parts_of_a_file() -> None:
    inner = {"entries": {UID: {"app": "1"}}, "baselines": {UID: {"app": {"baseline": "1"}}}}
    after = replaced({**V2, "data": json.dumps(inner)})
    data = json.loads(after["data"])
    assert set(after["entries"]) == set(data["entries"]) == set(data["baselines"]) == {UID_1}


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"data": "{"}'])
def test_invalid_json_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match=r"^the file is not JSON"):
        anonymous_state(text, Pseudonyms())
