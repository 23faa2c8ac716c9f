"""Formats and checksums against pairs that real kubelets wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cpuctl.checkpoints import cpu_state
from cpuctl.checkpoints.cpu_state import cpu_document, read_cpu_state, write_cpu_state
from cpuctl.checkpoints.formats import data_checksum, fnv1a_32
from cpuctl.checkpoints.inspection import inspect_state
from cpuctl.checkpoints.memory_state import read_memory_state, write_memory_state
from cpuctl.checkpoints.model import (
    CPUStateFile,
    MemoryBlock,
    MemoryNode,
    MemoryStateFile,
    MemoryTable,
    PodsStateFile,
    RecordedPod,
    RecordedResources,
    UnreadableState,
)
from cpuctl.checkpoints.pods_state import read_pods_state, write_pods_state
from cpuctl.checkpoints.reader import StateReader
from cpuctl.cpuset import CPUSet
from cpuctl.quantity import Quantity

RECORDED: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "fixtures/conformance/recorded_state_files.json").read_text()
)
ALL_GATES = StateReader(minor=37, pod_level_managers=True, exclusive_resize=True)


def cpus(text: str) -> CPUSet:
    return CPUSet.parse(text)


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: case["name"])
def test_files_from_bug_reports(case: dict[str, Any]) -> None:
    """Files that were edited before they were posted are detected, too."""
    inspection = inspect_state(case["file"])
    assert inspection.format == ("V1" if case["name"] == "k8s-87249-v1" else "V2")
    assert inspection.checksums[0].ok == case["checksum_reproduced"]
    if case["checksum_reproduced"]:
        assert fnv1a_32(case["hashed_string"]) == inspection.checksums[0].written
    if inspection.format == "V2":
        written = {each.name: each.right for each in inspection.checksums}
        assert isinstance(inspection.state, CPUStateFile)
        assert json.loads(write_cpu_state(inspection.state)) == json.loads(case["file"]) | written


def test_a_lone_surrogate_has_a_sum() -> None:
    """As in Go for such bytes; whether it can be written is checked by the writer."""
    assert fnv1a_32("\ud800") == 0x75A7B798


def test_the_v3_sum_is_over_the_pods_sets() -> None:
    state = CPUStateFile(
        policy_name="static",
        default_cpu_set=cpus("0,5,7-15"),
        entries={"pod1": {"b": cpus("2-3"), "a": cpus("1")}, "pod2": {"c1": cpus("4,6")}},
        pod_entries={"pod9": cpus("2,9-10"), "pod1": cpus("")},
    )
    v2, v3 = (write_cpu_state(state, StateReader(pod_level_managers=on)) for on in (False, True))
    assert json.loads(v2)["checksum"] == 3951301908
    assert json.loads(v3)["checksum"] == 3552992686
    assert json.loads(v3)["podEntries"] == {"pod1": {}, "pod9": {"cpuSet": "2,9-10"}}


V4 = (
    r'{"policyName":"static","defaultCpuSet":"0,5-15","entries":{"gu-pod-1-uid":{"gu-container-1":"1-4"}},'
    r'"checksum":3203987209,"data":"{\"policyName\":\"static\",\"defaultCpuSet\":\"0,5-15\",\"entries\":'
    r"{\"gu-pod-1-uid\":{\"gu-container-1\":\"1-4\"}},\"baselines\":{\"gu-pod-1-uid\":{\"gu-container-1\":"
    r'{\"baseline\":\"1-2\"}}}}","dataChecksum":1029046222}'
)


def test_v4_holds_v2_and_its_own_data() -> None:
    state = CPUStateFile(
        policy_name="static",
        default_cpu_set=cpus("0,5-15"),
        entries={"gu-pod-1-uid": {"gu-container-1": cpus("1-4")}},
        baselines={"gu-pod-1-uid": {"gu-container-1": cpus("1-2")}},
    )
    assert write_cpu_state(state, ALL_GATES) == V4
    assert read_cpu_state(V4, ALL_GATES) == state
    none = CPUStateFile(policy_name="none", default_cpu_set=cpus("4-6"))
    assert write_cpu_state(none, StateReader(minor=37)) == (
        r'{"policyName":"none","defaultCpuSet":"4-6","checksum":354655845,'
        r'"data":"{\"policyName\":\"none\",\"defaultCpuSet\":\"4-6\"}","dataChecksum":3258904508}'
    )


def test_the_originally_proposed_name_of_baselines_is_read_too() -> None:
    data = json.loads(V4)["data"].replace("baselines", "originals").replace("baseline", "original")
    text = json.dumps(json.loads(V4) | {"data": data, "dataChecksum": data_checksum(data)})
    assert read_cpu_state(text, ALL_GATES) == read_cpu_state(V4, ALL_GATES)


def test_the_oldest_format_is_summed_by_container_id() -> None:
    document = cpu_document(CPUStateFile(policy_name="static", default_cpu_set=cpus("0,2-3")))
    text = cpu_state.V1.write(document | {"entries": {"cid2": "1", "cid1": "4"}})
    assert json.loads(text)["checksum"] == 1353653879
    assert "entries" not in json.loads(cpu_state.V1.write(document))


def test_the_sum_of_a_file_without_entries_is_that_of_an_empty_map_not_of_null() -> None:
    assert read_cpu_state('{"policyName":"static","defaultCpuSet":"0-63","checksum":826322641}') == (
        UnreadableState("checkpoint is corrupted")
    )
    null = '{"policyName":"static","defaultCpuSet":"0-63","entries":null,"checksum":826322641}'
    assert read_cpu_state(null) == CPUStateFile(policy_name="static", default_cpu_set=cpus("0-63"))


def memory_state() -> MemoryStateFile:
    table = MemoryTable(
        total=10737418240, system_reserved=1073741824, allocatable=9663676416, reserved=0, free=9663676416
    )
    nodes = {
        each: MemoryNode(number_of_assignments=0, memory_map={"memory": table}, cells=(each,))
        for each in (0, 1)
    }
    block = MemoryBlock(numa_affinity=(0,), type="memory", size=5)
    return MemoryStateFile(policy_name="Static", machine_state=nodes, entries={"p": {"c": (block,)}})


def test_the_memory_managers_sum() -> None:
    text = write_memory_state(memory_state())
    assert json.loads(text)["checksum"] == 3484096348
    assert read_memory_state(text) == memory_state()


def test_memory_numa_nodes_are_sorted_as_text_in_the_file_and_as_numbers_in_the_sum() -> None:
    node = MemoryNode(number_of_assignments=0, memory_map={}, cells=())
    state = MemoryStateFile(policy_name="Static", machine_state=dict.fromkeys((2, 10, 0, 1), node))
    text = write_memory_state(state)
    assert list(json.loads(text)["machineState"]) == ["0", "1", "10", "2"]
    assert read_memory_state(text) == state


def test_the_policy_none_writes_the_same_in_all_releases() -> None:
    none = MemoryStateFile(policy_name="None")
    assert write_memory_state(none) == '{"policyName":"None","machineState":{},"checksum":4236770233}'
    assert write_memory_state(none, StateReader(minor=37)) == (
        r'{"policyName":"None","machineState":{},"checksum":4236770233,'
        r'"data":"{\"policyName\":\"None\",\"machineState\":{}}","dataChecksum":3093843326}'
    )


def test_the_allocated_pods_state() -> None:
    four = {"cpu": Quantity.parse("4"), "memory": Quantity.parse("1Gi")}
    pod = RecordedPod(containers={"app": RecordedResources(limits=four, requests=four)})
    state = PodsStateFile(pods={"uid-1": pod})
    text = write_pods_state(state)
    assert json.loads(text)["checksum"] == 2791148401
    assert read_pods_state(text) == state
    assert '"PodLevelResources' not in json.loads(write_pods_state(state, StateReader(minor=34)))["data"]


def test_names_are_escaped_as_in_go() -> None:
    state = CPUStateFile(
        policy_name="<&>", default_cpu_set=CPUSet(), entries={'"\u2028\u2029\x01é': {"/": cpus("1")}}
    )
    for kubelet in (StateReader(), ALL_GATES):
        text = write_cpu_state(state, kubelet)
        assert r"\u003c\u0026\u003e" in text
        assert r"\u2028\u2029\u0001é" in text
        assert not {"\u2028", "\u2029"} & set(text)
        read = read_cpu_state(text, kubelet)
        assert isinstance(read, CPUStateFile)
        assert read.entries == state.entries
