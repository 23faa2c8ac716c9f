"""The kind and format of a file, independent of its reader."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cpuctl.checkpoints import cpu_state
from cpuctl.checkpoints.cpu_state import cpu_document, write_cpu_state
from cpuctl.checkpoints.inspection import Inspection, inspect_embedded, inspect_state
from cpuctl.checkpoints.memory_state import write_memory_state
from cpuctl.checkpoints.model import (
    CPUStateFile,
    MemoryBlock,
    MemoryStateFile,
    PodsStateFile,
    RecordedPod,
)
from cpuctl.checkpoints.pods_state import write_pods_state
from cpuctl.checkpoints.reader import StateReader
from cpuctl.cpuset import CPUSet
from cpuctl.records import replace

UNMARSHAL = "json: cannot unmarshal"
NEWEST = StateReader(minor=38, pod_level_managers=True, exclusive_resize=True)
WITH_PODS = StateReader(pod_level_managers=True)
CPU = CPUStateFile(
    policy_name="static",
    default_cpu_set=CPUSet.parse("0-3"),
    entries={"p": {"c": CPUSet.parse("4-7")}},
    pod_entries={"p": CPUSet.parse("4-7")},
    baselines={"p": {"c": CPUSet.parse("4")}},
)
MEMORY = MemoryStateFile(
    policy_name="Static", pod_entries={"p": (MemoryBlock(numa_affinity=(0,), type="memory", size=1),)}
)
PODS = PodsStateFile(pods={"p": RecordedPod()})


def test_everything_in_a_file_is_shown_with_any_gates() -> None:
    found = inspect_state(write_cpu_state(CPU, NEWEST))
    assert (found.file_name, found.format, found.problem) == ("cpu_manager_state", "V4", "")
    assert found.state == CPU
    assert [(each.name, each.ok) for each in found.checksums] == [("checksum", True), ("dataChecksum", True)]
    memory = inspect_state(write_memory_state(MEMORY, NEWEST))
    assert (memory.file_name, memory.format, memory.state) == ("memory_manager_state", "V3", MEMORY)
    pods = inspect_state(write_pods_state(PODS))
    assert (pods.file_name, pods.format, pods.state) == ("allocated_pods_state", "V1", PODS)


@pytest.mark.parametrize(
    ("text", "format_"),
    [
        (write_cpu_state(CPU), "V2"),
        (write_cpu_state(CPU, StateReader(pod_level_managers=True)), "V3"),
        (write_cpu_state(CPUStateFile(policy_name="none", default_cpu_set=CPUSet())), "V2"),
        (
            write_cpu_state(
                CPUStateFile(policy_name="none", default_cpu_set=CPUSet()),
                StateReader(pod_level_managers=True),
            ),
            "V3",
        ),
        (write_memory_state(MEMORY), "V1"),
        (write_memory_state(MEMORY, StateReader(pod_level_managers=True)), "V2"),
        (
            write_memory_state(MemoryStateFile(policy_name="None"), StateReader(pod_level_managers=True)),
            "V2",
        ),
    ],
)
def test_formats_are_distinguished_even_if_only_the_checksum_differs(text: str, format_: str) -> None:
    found = inspect_state(text)
    assert found.format == format_
    assert all(each.ok for each in found.checksums)


@pytest.mark.parametrize(
    ("write", "whole", "plain", "format_"),
    [
        (write_cpu_state, CPU, replace(CPU, pod_entries={}, baselines={}), "V2"),
        (write_memory_state, MEMORY, replace(MEMORY, pod_entries={}), "V1"),
    ],
    ids=["cpu", "memory"],
)
def test_the_older_document_is_complete_although_the_rest_is_not(
    write: Any, whole: Any, plain: Any, format_: str
) -> None:
    text = write(whole, NEWEST)
    right = inspect_state(write(plain, StateReader()))
    assert right.format == format_
    assert inspect_embedded(text) == right
    assert inspect_embedded(json.dumps(json.loads(text) | {"data": "{"})) == right
    assert inspect_embedded(text.replace("machineState", "MACHINESTATE")) == right


def test_pods_mean_a_newer_format_with_any_sum() -> None:
    """A wrong sum does not remove content that is there."""
    for text in (write_cpu_state(CPU, WITH_PODS), write_memory_state(MEMORY, WITH_PODS)):
        right = inspect_state(text)
        found = inspect_state(json.dumps(json.loads(text) | {"checksum": 1}))
        assert (found.file_name, found.format, found.state) == (right.file_name, right.format, right.state)
        assert [(each.right, each.ok) for each in found.checksums] == [(right.checksums[0].written, False)]


@pytest.mark.parametrize(
    ("members", "format_"),
    [
        ({}, "V1"),
        ({"version": "v2"}, "V2"),
        ({"VERSION": "v2"}, "V2"),
        ({"version": "v1"}, "V1"),
        ({"more": "v2"}, "V1"),
    ],
)
def test_the_allocated_pods_state_has_two_formats(members: dict[str, str], format_: str) -> None:
    found = inspect_state(json.dumps(json.loads(write_pods_state(PODS)) | members))
    assert (found.format, found.state) == (format_, PODS)
    assert [(each.name, each.ok) for each in found.checksums] == [("checksum", True)]
    wrong = inspect_state(json.dumps(json.loads(write_pods_state(PODS)) | members | {"checksum": 7}))
    assert [(each.written, each.right) for each in wrong.checksums] == [(7, found.checksums[0].right)]


def test_the_right_sum_is_reported_for_a_wrong_one() -> None:
    right = inspect_state(write_cpu_state(CPU)).checksums[0].written
    found = inspect_state(json.dumps(json.loads(write_cpu_state(CPU)) | {"checksum": 7}))
    assert [(each.written, each.right, each.ok) for each in found.checksums] == [(7, right, False)]
    assert isinstance(found.state, CPUStateFile)


def test_a_differing_old_part_is_detected() -> None:
    text = write_cpu_state(CPU, NEWEST)
    assert not inspect_state(text).embedded_differs
    found = inspect_state(json.dumps(json.loads(text) | {"defaultCpuSet": "0-2"}))
    assert found.embedded_differs
    assert not found.checksums[0].ok
    assert found.state == CPU


def test_the_oldest_format_names_containers_by_id() -> None:
    document = cpu_document(CPU) | {"entries": {"cid": "4-7"}}
    found = inspect_state(cpu_state.V1.write(document))
    assert (found.format, found.checksums[0].ok) == ("V1", True)
    assert found.container_ids == {"cid": CPUSet.parse("4-7")}
    assert isinstance(found.state, CPUStateFile)
    assert (found.file_name, found.state.entries) == ("cpu_manager_state", {})
    empty = inspect_state(cpu_state.V1.write(document | {"entries": {}}))
    assert (empty.format, empty.container_ids) == ("V1", {})


@pytest.mark.parametrize("text", ["null", "[]", "7", "{}", '{"apiVersion":"v1"}', '{"data":"x"}'])
def test_other_json_is_not_a_state_file(text: str) -> None:
    found = inspect_state(text)
    assert found == Inspection(problem="it does not contain any members of a kubelet state file")
    assert (found.file_name, found.format, found.embedded_differs) == ("", "", False)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "unexpected end of JSON input"),
        (
            '{"defaultCpuSet":"0-x"}',
            'could not parse default CPU set "0-x": strconv.Atoi: parsing "x": invalid syntax',
        ),
        (
            '{"defaultCpuSet":"0","entries":{"cid":"3-1"}}',
            'could not parse cpuset "3-1" for container "cid" in pod "": invalid range "3-1" (3 > 1)',
        ),
        (
            '{"defaultCpuSet":"0","entries":{"p":{"c":1}}}',
            f"{UNMARSHAL} number into Go struct field CPUManagerCheckpointV2.entries.p.c of type string",
        ),
        (
            '{"defaultCpuSet":"0","podEntries":{"p":{}},"policyName":1}',
            f"{UNMARSHAL} number into Go struct field CPUManagerCheckpointV3.policyName of type string",
        ),
        (
            '{"machineState":{},"podEntries":{"p":{}},"policyName":1}',
            f"{UNMARSHAL} number into Go struct field MemoryManagerCheckpoint.policyName of type string",
        ),
        ('{"machineState":{"0":null}}', "machineState.0: is null: the kubelet crashes on it"),
        ('{"machineState":{},"data":"?"}', "invalid character '?' looking for beginning of value"),
        ('{"data":"?","checksum":1}', "invalid character '?' looking for beginning of value"),
        (
            '{"data":1,"checksum":1}',
            f"{UNMARSHAL} number into Go struct field Checkpoint.data of type string",
        ),
    ],
)
def test_errors_in_state_files_are_explained(text: str, problem: str) -> None:
    found = inspect_state(text)
    assert found.problem == problem
    assert found.state is None
