"""What each release and gate reads, in which order it tries the formats, and which error is shown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from cpuctl.checkpoints import cpu_formats
from cpuctl.checkpoints.checksum import fnv1a_32
from cpuctl.checkpoints.cpu_state import cpu_document, read_cpu_state, write_cpu_state
from cpuctl.checkpoints.formats import data_checksum
from cpuctl.checkpoints.memory_state import read_memory_state, write_memory_state
from cpuctl.checkpoints.model import (
    CPUStateFile,
    MemoryBlock,
    MemoryStateFile,
    PodsStateFile,
    UnreadableState,
)
from cpuctl.checkpoints.pods_state import read_pods_state
from cpuctl.checkpoints.reader import ContainerName, StateReader
from cpuctl.checkpoints.refusal import kubelet_refusal
from cpuctl.cpuset import CPUSet
from cpuctl.errors import InputError

OLD, OFF, ON = StateReader(minor=35), StateReader(minor=36), StateReader(minor=36, pod_level_managers=True)
NEW = StateReader(minor=37)
NEW_ALL = StateReader(minor=38, pod_level_managers=True, exclusive_resize=True)
CORRUPTED = "checkpoint is corrupted"
UNMARSHAL = "json: cannot unmarshal"
IDS = {"cid": ContainerName("p", "c")}


def state(pods: str = "", baseline: str = "") -> CPUStateFile:
    return CPUStateFile(
        policy_name="static",
        default_cpu_set=CPUSet.parse("0-3"),
        entries={"p": {"c": CPUSet.parse("4-7")}},
        pod_entries={"p": CPUSet.parse(pods)} if pods else {},
        baselines={"p": {"c": CPUSet.parse(baseline)}} if baseline else {},
    )


def v1() -> str:
    return cpu_formats.V1.write(cpu_document(state()) | {"entries": {"cid": "4-7"}})


V2, V3 = write_cpu_state(state()), write_cpu_state(state("4-7"), ON)
V4 = write_cpu_state(state("4-7", "4-5"), NEW_ALL)


def changed(text: str, **members: Any) -> str:
    return json.dumps(json.loads(text) | members)


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    text: str
    reader: StateReader
    wanted: CPUStateFile | str


# As another name of the struct would be shown, which no release ever wrote.
OWN_NAME = fnv1a_32(
    "(*state.CPUManagerCheckpointV2){PolicyName:(string)static DefaultCPUSet:(string)0-3 Entries:(map[string]"
    "map[string]string)map[p:map[c:4-7]] Checksum:(checksum.Checksum)0}"
)
V1_ERROR = f"{UNMARSHAL} object into Go struct field CPUManagerCheckpointV1.entries.p of type string"
V2_FIELD = "Go struct field CPUManagerCheckpointV2"
BROKEN_V4 = "could not load v4 checkpoint: "
CASES = [
    Case("V2, old", V2, OLD, state()),
    Case("V2, wrong sum, old", changed(V2, checksum=1), OLD, CORRUPTED),
    Case("V2, wrong sum", changed(V2, checksum=1), OFF, V1_ERROR),
    Case("V2, wrong sum, new", changed(V2, checksum=1), NEW, CORRUPTED),
    Case("V2 under its own name", changed(V2, checksum=OWN_NAME), OFF, state()),
    Case("V2 under its own name, gate on", changed(V2, checksum=OWN_NAME), ON, V1_ERROR),
    Case("V3, old", V3, OLD, CORRUPTED),
    Case("V3, gate off", V3, OFF, V1_ERROR),
    Case("V3, gate on", V3, ON, state("4-7")),
    Case("V3, new", V3, NEW, state()),
    Case("V3, new, gates", V3, NEW_ALL, state("4-7", "4-7")),
    Case("V3 without sum is read as V2, its pods stay", changed(V3, checksum=0), ON, state("4-7")),
    Case("V3 without sum is read as V2, new", changed(V3, checksum=0), NEW_ALL, state(baseline="4-7")),
    Case("V4, old", V4, OLD, state()),
    Case("V4, gate on", V4, ON, state()),
    Case("V4, new", V4, NEW, state()),
    Case("V4, gates", V4, NEW_ALL, state("4-7", "4-5")),
    Case("V4 with a broken old part", changed(V4, checksum=5, policyName="x", entries=None), NEW, state()),
    Case("V4, data edited", V4.replace("4-5", "4-6"), NEW, BROKEN_V4 + CORRUPTED),
    Case("V4, no sum of the data", changed(V4, dataChecksum=0), NEW, BROKEN_V4 + CORRUPTED),
    Case(
        "V4, data gone",
        changed(V4, data=""),
        NEW,
        f"{BROKEN_V4}failed to deserialize cpu manager checkpoint data: unexpected end of JSON input",
    ),
    Case(
        "V4, data of a wrong type",
        changed(V4, data={}),
        NEW,
        f"{BROKEN_V4}failed to deserialize cpu manager checkpoint: {UNMARSHAL} object into Go struct field "
        "CPUManagerCheckpoint.data of type string",
    ),
    Case("V4, data of a wrong type, no sum", changed(V4, data=[], dataChecksum=0), NEW, state()),
    Case("no JSON", "?", NEW, "invalid character '?' looking for beginning of value"),
    Case("a list, old", "[]", OLD, f"{UNMARSHAL} array into Go value of type state.CPUManagerCheckpoint"),
    Case("a list", "[]", OFF, f"{UNMARSHAL} array into Go value of type state.CPUManagerCheckpointV1"),
    Case(
        "V1, new",
        v1(),
        NEW,
        f"{UNMARSHAL} string into {V2_FIELD}.entries.cid of type map[string]string",
    ),
    Case(
        "a slash in a name",
        changed(V2, entries={"a/b~": 7}),
        NEW,
        f"{UNMARSHAL} number into {V2_FIELD}.entries.a~1b~0 of type map[string]string",
    ),
    Case(
        "a pod's CPUs are no list",
        changed(V3, podEntries={"p": {"cpuSet": "x"}}, entries={}, checksum=0),
        ON,
        CPUStateFile(policy_name="static", default_cpu_set=CPUSet.parse("0-3"), pod_entries={"p": CPUSet()}),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_who_reads_what(case: Case) -> None:
    wanted = UnreadableState(case.wanted) if isinstance(case.wanted, str) else case.wanted
    assert read_cpu_state(case.text, case.reader) == wanted


@pytest.mark.parametrize(
    ("reader", "failed"),
    [
        (OLD, "error migrating v1 checkpoint state to v2 checkpoint state"),
        (OFF, "failed to migrate checkpoint from v1 to v2"),
        (ON, "failed to migrate checkpoint from v1 to v2"),
    ],
)
def test_the_oldest_format_needs_to_know_the_containers(reader: StateReader, failed: str) -> None:
    missing = "containerID 'cid' not found in initial containers list"
    assert read_cpu_state(v1(), reader) == UnreadableState(f"{failed}: {missing}")
    knowing = StateReader(minor=reader.minor, initial_containers=IDS)
    assert read_cpu_state(v1(), knowing) == state()


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ("1.3", 'could not parse default cpu set "1.3"'),
        ("\x1b[31m", 'could not parse default cpu set "\\x1b[31m"'),
    ],
)
def test_cpu_lists_are_quoted_in_errors(found: str, words: str) -> None:
    text = changed(V2, defaultCpuSet=found, checksum=0)
    for reader, what in ((OFF, words), (NEW, words.replace("cpu set", "CPU set"))):
        read = read_cpu_state(text, reader)
        assert isinstance(read, UnreadableState)
        assert read.error.startswith(what)


def test_the_policy_is_compared_before_cpu_lists_are_read() -> None:
    text = changed(V2, defaultCpuSet="?", checksum=0)
    other = StateReader(policy="none")
    error = 'configured policy "none" differs from state checkpoint policy "static"'
    assert read_cpu_state(text, other) == UnreadableState(error)
    memory = write_memory_state(MemoryStateFile(policy_name="Static"))
    assert read_memory_state(memory, StateReader(policy="None")) == UnreadableState(
        '[memorymanager] configured policy "None" differs from state checkpoint policy "Static"'
    )


def test_repeated_members_join_as_in_go() -> None:
    entries = '"entries":{"p":{"c":"1"}},"Entries":{"q":{"c":"2"}},"entries":{"p":{"d":"3"}}'
    read = read_cpu_state(f'{{"defaultCpuSet":"9","defaultCpuSet":"0",{entries},"checksum":0}}')
    assert isinstance(read, CPUStateFile)
    assert read.entries == {"p": {"d": CPUSet.parse("3")}, "q": {"c": CPUSet.parse("2")}}
    assert read.default_cpu_set == CPUSet.parse("0")


def blocks(size: int) -> Mapping[str, tuple[MemoryBlock, ...]]:
    return {"p": (MemoryBlock(numa_affinity=(0,), type="memory", size=size),)}


MEMORY = MemoryStateFile(policy_name="Static", entries={"p": {"c": blocks(5)["p"]}}, pod_entries=blocks(9))
PLAIN = MemoryStateFile(policy_name="Static", entries=MEMORY.entries)
M1, M2, M3 = (write_memory_state(MEMORY, each) for each in (OFF, ON, NEW_ALL))
OWN_MEMORY_NAME = fnv1a_32(
    "(*state.MemoryManagerCheckpointV1){PolicyName:(string)Static MachineState:(state.NUMANodeMap)map[] "
    "Entries:(state.ContainerMemoryAssignments)map[p:map[c:[{NUMAAffinity:([]int)[0] "
    "Type:(v1.ResourceName)memory Size:(uint64)5}]]] Checksum:(checksum.Checksum)0}"
)
NODE_ERROR = f"{UNMARSHAL} %s into Go struct field MemoryManagerCheckpointV1.%s of type %s"
MEMORY_CASES: list[tuple[str, str, StateReader, MemoryStateFile | str]] = [
    ("V1, old", M1, OLD, PLAIN),
    ("V1 without sum, old", changed(M1, checksum=0), OLD, CORRUPTED),
    ("V1 without sum", changed(M1, checksum=0), OFF, PLAIN),
    ("V1 under its own name", changed(M1, checksum=OWN_MEMORY_NAME), OFF, PLAIN),
    ("V1 under its own name, gate on", changed(M1, checksum=OWN_MEMORY_NAME), ON, CORRUPTED),
    ("V2, old", M2, OLD, CORRUPTED),
    ("V2, gate off", M2, OFF, CORRUPTED),
    ("V2, gate on", M2, ON, MEMORY),
    ("V2, new", M2, NEW, PLAIN),
    ("V2 without sum is read as V1, its pods stay", changed(M2, checksum=0), ON, MEMORY),
    ("V2 without sum is read as V1, new", changed(M2, checksum=0), NEW_ALL, PLAIN),
    ("V3, old", M3, OLD, PLAIN),
    ("V3, gate on", M3, ON, PLAIN),
    ("V3, gates", M3, NEW_ALL, MEMORY),
    ("V3, data edited", M3.replace("9}", "8}"), NEW, f"could not load v3 checkpoint: {CORRUPTED}"),
    (
        "a number where a node is",
        changed(M1, machineState={"0": 5}),
        OFF,
        NODE_ERROR % ("number", "machineState.0", "state.NUMANodeState"),
    ),
    (
        "a node that is no number",
        changed(M1, machineState={"x": {}}),
        OFF,
        NODE_ERROR % ("number x", "machineState.x", "int"),
    ),
    (
        "a size that is too large",
        changed(M1, entries={"p": {"c": [{"size": 1 << 64}]}}),
        OFF,
        NODE_ERROR % (f"number {1 << 64}", "entries.p.c.0.size", "uint64"),
    ),
]


@pytest.mark.parametrize(
    ("text", "reader", "wanted"), [case[1:] for case in MEMORY_CASES], ids=[c[0] for c in MEMORY_CASES]
)
def test_who_reads_which_memory_state(text: str, reader: StateReader, wanted: MemoryStateFile | str) -> None:
    assert read_memory_state(text, reader) == (UnreadableState(wanted) if isinstance(wanted, str) else wanted)


@pytest.mark.parametrize("nodes", [{"3": None}, {"3": {"memoryMap": {"memory": None}}}])
def test_null_in_the_place_of_a_node_or_a_table_is_no_state(nodes: Any) -> None:
    text = changed(M1, machineState=nodes, checksum=0)
    with pytest.raises(
        InputError, match=r"^memory_manager_state: machineState\.3.*: is null: a kubelet crashes"
    ):
        read_memory_state(text)


@pytest.mark.parametrize(
    "members",
    [
        {"machineState": {"-1": {}}},
        {"machineState": {"0": {"cells": [1 << 40]}}},
        {"entries": {"p": {"c": [{"numaAffinity": [65536]}]}}},
    ],
)
def test_numa_nodes_that_no_machine_has_are_refused(members: Any) -> None:
    """A mask of them would fill the memory."""
    with pytest.raises(
        InputError, match=r"^memory_manager_state: names NUMA node .*: expected one from 0 to"
    ):
        read_memory_state(changed(M1, **members, checksum=0))


NO_INFORMATION = "failed to get pod resource information"
INFO_FIELD = "Go struct field PodResourceCheckpointInfo"
PODS = [
    ("[]", f"{UNMARSHAL} array into Go value of type state.Checkpoint"),
    ("{}", CORRUPTED),
    ('{"data":"{}","checksum":0}', CORRUPTED),
    (
        json.dumps({"data": "", "checksum": data_checksum("")}),
        f"{NO_INFORMATION}: unexpected end of JSON input",
    ),
    (
        json.dumps({"data": '{"entries":[]}', "checksum": data_checksum('{"entries":[]}')}),
        f"{NO_INFORMATION}: {UNMARSHAL} array into {INFO_FIELD}.entries of type state.PodResourceInfoMap",
    ),
]
WRONG_AMOUNT = '{"entries":{"u":{"ContainerResources":{"c":{"limits":{"cpu":"2x"}}}}}}'


@pytest.mark.parametrize(("text", "error"), PODS, ids=[text[:30] for text, _ in PODS])
def test_a_broken_pods_state(text: str, error: str) -> None:
    assert read_pods_state(text) == UnreadableState(error)


def test_an_amount_that_is_none() -> None:
    read = read_pods_state(json.dumps({"data": WRONG_AMOUNT, "checksum": data_checksum(WRONG_AMOUNT)}))
    assert isinstance(read, UnreadableState)
    assert "quantities must match the regular expression" in read.error


def test_what_a_newer_kubelet_adds_is_ignored() -> None:
    pod = '{"ContainerResources":null,"PodLevelResources":{"limits":{"cpu":2}}}'
    data = f'{{"podList":"CgA=","entries":{{"u":{pod}}}}}'
    text = json.dumps({"version": "v2", "data": data, "checksum": data_checksum(data)})
    read = read_pods_state(text)
    assert isinstance(read, PodsStateFile)
    assert read.pods["u"].pod_level is not None
    assert str(read.pods["u"].pod_level.limits["cpu"]) == "2"
    assert read_pods_state(text, StateReader(minor=34)) != read


@pytest.mark.parametrize(
    ("file_name", "whose"),
    [
        ("cpu_manager_state", "the CPU manager"),
        ("memory_manager_state", "the memory manager"),
        ("allocated_pods_state", "pod resource information"),
        ("actuated_pods_state", "pod resource information"),
    ],
)
def test_the_kubelet_asks_for_a_drain(file_name: str, whose: str) -> None:
    assert kubelet_refusal(file_name, CORRUPTED, "/k") == (
        f"could not restore state from checkpoint: {CORRUPTED}, please drain this node and delete {whose} "
        f'checkpoint file "/k/{file_name}" before restarting Kubelet'
    )
