"""How each release and gate reads CPUs, in which order it tries the formats, and which error is shown."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from cpuctl.checkpoints import cpu_state
from cpuctl.checkpoints.cpu_state import cpu_document, read_cpu_state, write_cpu_state
from cpuctl.checkpoints.formats import data_checksum, fnv1a_32
from cpuctl.checkpoints.memory_state import read_memory_state, write_memory_state
from cpuctl.checkpoints.model import (
    CPUStateFile,
    MemoryStateFile,
    UnreadableState,
)
from cpuctl.checkpoints.reader import ContainerName, StateReader, kubelet_refusal
from cpuctl.cpuset import CPUSet
from cpuctl.records import replace

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
    return cpu_state.V1.write(cpu_document(state()) | {"entries": {"cid": "4-7"}})


V2, V3 = write_cpu_state(state()), write_cpu_state(state("4-7"), ON)
V4 = write_cpu_state(state("4-7", "4-5"), NEW_ALL)


def changed(text: str, **members: Any) -> str:
    return json.dumps(json.loads(text) | members)


def with_data(text: str, **members: Any) -> str:
    """Change the data of a newest file, and its checksum accordingly."""
    data = json.dumps(json.loads(json.loads(text)["data"]) | members)
    return changed(text, data=data, dataChecksum=data_checksum(data))


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    text: str
    reader: StateReader
    wanted: CPUStateFile | str


# As if another name of the struct were shown, which no release ever wrote.
OWN_NAME = fnv1a_32(
    "(*state.CPUManagerCheckpointV2){PolicyName:(string)static DefaultCPUSet:(string)0-3 Entries:(map[string]"
    "map[string]string)map[p:map[c:4-7]] Checksum:(checksum.Checksum)0}"
)
OWN_V3_NAME = fnv1a_32(
    "(*state.CPUManagerCheckpointV3){PolicyName:(string)static DefaultCPUSet:(string)0-3 Entries:(map[string]"
    "map[string]string)map[p:map[c:4-7]] PodEntries:(state.PodCPUAssignments)map[p:{CPUSet:(cpuset.CPUSet){"
    "elems:(map[int]struct {})map[4:{} 5:{} 6:{} 7:{}]}}] Checksum:(checksum.Checksum)0}"
)
V1_ERROR = f"{UNMARSHAL} object into Go struct field CPUManagerCheckpointV1.entries of type string"
V2_FIELD = "Go struct field CPUManagerCheckpointV2"
BROKEN_V4 = "could not load v4 checkpoint: "
BROKEN_DATA = f"{BROKEN_V4}failed to deserialize cpu manager checkpoint data: "
DATA_FIELD = "Go struct field CPUManagerCheckpointData"
SUM_OF_V3 = f'"checksum":{json.loads(V3)["checksum"]}'
CASES = [
    Case("V2, old", V2, OLD, state()),
    Case("V2 without sum, old", changed(V2, checksum=0), OLD, state()),
    Case("V2, wrong sum, old", changed(V2, checksum=1), OLD, CORRUPTED),
    Case("V2, wrong sum", changed(V2, checksum=1), OFF, V1_ERROR),
    Case("V2, wrong sum, new", changed(V2, checksum=1), NEW, CORRUPTED),
    Case("V2 under its own name", changed(V2, checksum=OWN_NAME), OFF, state()),
    Case("V2 under its own name, gate on", changed(V2, checksum=OWN_NAME), ON, V1_ERROR),
    Case("V3, old", V3, OLD, CORRUPTED),
    Case("V3, gate off", V3, OFF, V1_ERROR),
    Case("V3, gate on", V3, ON, state("4-7")),
    Case("V3 under its own name, new", changed(V3, checksum=OWN_V3_NAME), NEW_ALL, state("4-7", "4-7")),
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
        f"{BROKEN_DATA}unexpected end of JSON input",
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
        "a slash in a name, old",
        changed(V2, entries={"a/b~": 7}),
        OLD,
        f"{UNMARSHAL} number into Go struct field CPUManagerCheckpoint.entries of type map[string]string",
    ),
    Case(
        "a slash in a name",
        changed(V2, entries={"a/b~": 7}),
        NEW,
        f"{UNMARSHAL} number into {V2_FIELD}.entries.a~1b~0 of type map[string]string",
    ),
    Case(
        "a pod's CPUs are not a list",
        changed(V3, podEntries={"p": {"cpuSet": "x"}}, entries={}, checksum=0),
        ON,
        CPUStateFile(policy_name="static", default_cpu_set=CPUSet.parse("0-3"), pod_entries={"p": CPUSet()}),
    ),
    Case(
        "a pod's CPUs are not a list, new",
        with_data(V4, podEntries={"p": {"cpuSet": "x"}}),
        NEW_ALL,
        f'{BROKEN_DATA}failed to parse cpuset: strconv.Atoi: parsing "x": invalid syntax',
    ),
    Case(
        "a pod's CPUs are a number",
        with_data(V4, podEntries={"p": {"cpuSet": 4}}),
        NEW_ALL,
        f"{BROKEN_DATA}{UNMARSHAL} number into Go struct field podEntryJSON.cpuSet of type string",
    ),
    Case(
        "a pod is a number",
        with_data(V4, podEntries={"p": 4}),
        NEW_ALL,
        f"{BROKEN_DATA}{UNMARSHAL} number into Go value of type state.podEntryJSON",
    ),
    Case(
        "a container's baseline is a number",
        with_data(V4, baselines={"p": {"c": 4}}),
        NEW_ALL,
        f"{BROKEN_DATA}{UNMARSHAL} number into {DATA_FIELD}.baselines.p.c of type state.ContainerCPUs",
    ),
    Case(
        "a pod's baselines are a number",
        with_data(V4, baselines={"p": 4}),
        NEW_ALL,
        f"{BROKEN_DATA}{UNMARSHAL} number into {DATA_FIELD}.baselines.p of type "
        "map[string]state.ContainerCPUs",
    ),
    Case(
        "baselines are a number",
        with_data(V4, baselines=4),
        NEW_ALL,
        f"{BROKEN_DATA}{UNMARSHAL} number into {DATA_FIELD}.baselines of type "
        "map[string]map[string]state.ContainerCPUs",
    ),
    Case(
        "the sum of the data is a text",
        changed(V4, dataChecksum="1"),
        NEW,
        f"{BROKEN_DATA.replace(' data:', ':')}{UNMARSHAL} string into Go struct field "
        "CPUManagerCheckpoint.dataChecksum of type checksum.Checksum",
    ),
    Case(
        "the data is a number",
        changed(V4, data="4", dataChecksum=data_checksum("4")),
        NEW_ALL,
        f"{BROKEN_DATA}{UNMARSHAL} number into Go value of type state.CPUManagerCheckpointData",
    ),
    Case(
        "a baseline is not a list",
        with_data(V4, baselines={"p": {"c": {"baseline": "3-1"}}}),
        NEW_ALL,
        'could not parse baseline cpuset "3-1" for container "c" in pod "p": invalid range "3-1" (3 > 1)',
    ),
    Case(
        "the name that baselines were proposed with is not looked at either, gate off",
        with_data(V4, baselines={}, originals={"p": {"c": {"original": "4-5"}}}),
        NEW,
        state(),
    ),
    Case(
        "V1 without sum",
        changed(v1(), checksum=0),
        replace(OFF, initial_containers=IDS),
        state(),
    ),
    Case(
        "what a member of a wrong type would have replaced stays",
        V3.replace('"checksum"', '"podEntries":7,"checksum"').replace(SUM_OF_V3, '"checksum":0'),
        ON,
        state("4-7"),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_which_release_reads_which_format(case: Case) -> None:
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
    with_ids = StateReader(minor=reader.minor, initial_containers=IDS)
    assert read_cpu_state(v1(), with_ids) == state()


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


def test_repeated_members_are_merged_as_in_go() -> None:
    entries = '"entries":{"p":{"c":"1"}},"Entries":{"q":{"c":"2"}},"entries":{"p":{"d":"3"}}'
    read = read_cpu_state(f'{{"defaultCpuSet":"9","defaultCpuSet":"0",{entries},"checksum":0}}')
    assert isinstance(read, CPUStateFile)
    assert read.entries == {"p": {"d": CPUSet.parse("3")}, "q": {"c": CPUSet.parse("2")}}
    assert read.default_cpu_set == CPUSet.parse("0")


@pytest.mark.parametrize(
    ("file_name", "owner"),
    [
        ("cpu_manager_state", "the CPU manager"),
        ("memory_manager_state", "the memory manager"),
        ("allocated_pods_state", "pod resource information"),
        ("actuated_pods_state", "pod resource information"),
    ],
)
def test_the_kubelets_error_requests_a_drain(file_name: str, owner: str) -> None:
    stated = (
        f"could not restore state from checkpoint: {CORRUPTED}, please drain this node and delete {owner} "
        f'checkpoint file "%s/{file_name}" before restarting Kubelet'
    )
    assert kubelet_refusal(file_name, CORRUPTED, "/k") == stated % "/k"
    assert kubelet_refusal(file_name, CORRUPTED) == stated % "/var/lib/kubelet"
