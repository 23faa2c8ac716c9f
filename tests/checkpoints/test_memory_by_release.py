"""How each release and gate reads memory state, and which error is shown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from cpuctl.checkpoints.formats import data_checksum, fnv1a_32
from cpuctl.checkpoints.memory_state import read_memory_state, write_memory_state
from cpuctl.checkpoints.model import (
    MemoryBlock,
    MemoryStateFile,
    UnreadableState,
)
from cpuctl.checkpoints.reader import StateReader
from cpuctl.errors import InputError
from cpuctl.records import replace

OLD, OFF, ON = StateReader(minor=35), StateReader(minor=36), StateReader(minor=36, pod_level_managers=True)
NEW = StateReader(minor=37)
NEW_ALL = StateReader(minor=38, pod_level_managers=True, exclusive_resize=True)
CORRUPTED = "checkpoint is corrupted"
UNMARSHAL = "json: cannot unmarshal"


def changed(text: str, **members: Any) -> str:
    return json.dumps(json.loads(text) | members)


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
POD_BLOCKS = '"memoryBlocks":[{"numaAffinity":[0],"type":"memory","size":9}]'
ODD_PODS = M2.replace(f'"checksum":{json.loads(M2)["checksum"]}', '"checksum":0')
"""Read as V1, whose sum is right; the pods stay as the failed attempt left them."""


def with_pods(size: int = 9, kind: str = "memory") -> MemoryStateFile:
    left = (MemoryBlock(numa_affinity=(0,), type=kind, size=size),)
    return replace(MEMORY, pod_entries={"p": left})


DATA_FIELD = "Go struct field MemoryManagerCheckpointData"
BROKEN_DATA = "could not load v3 checkpoint: failed to deserialize memory manager checkpoint data: "
MEMORY_CASES: list[tuple[str, str, StateReader, MemoryStateFile | str]] = [
    ("V1, old", M1, OLD, PLAIN),
    ("a list, old", "[]", OLD, f"{UNMARSHAL} array into Go value of type state.MemoryManagerCheckpoint"),
    ("a list", "[]", OFF, f"{UNMARSHAL} array into Go value of type state.MemoryManagerCheckpointV1"),
    ("no JSON", "?", OLD, "invalid character '?' looking for beginning of value"),
    ("V3, data gone", changed(M3, data=""), NEW, f"{BROKEN_DATA}unexpected end of JSON input"),
    (
        "V3, data of a wrong type",
        changed(M3, data=5),
        NEW,
        BROKEN_DATA.replace(" data:", ":")
        + f"{UNMARSHAL} number into Go struct field MemoryManagerCheckpoint.data of type string",
    ),
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
    ("a size of null", ODD_PODS.replace('"size":9', '"size":9,"size":null'), ON, with_pods(size=9)),
    ("a size that is a text", ODD_PODS.replace('"size":9', '"size":"9"'), ON, with_pods(size=0)),
    ("a size, then a text", ODD_PODS.replace('"size":9', '"size":9,"size":"8"'), ON, with_pods(size=9)),
    (
        "a type that is a number",
        ODD_PODS.replace(POD_BLOCKS, POD_BLOCKS.replace('"memory"', "7")),
        ON,
        with_pods(kind=""),
    ),
    (
        "blocks, then a number",
        ODD_PODS.replace(POD_BLOCKS, f'{POD_BLOCKS},"memoryBlocks":7'),
        ON,
        with_pods(),
    ),
    ("V3, old", M3, OLD, PLAIN),
    ("V3, gate on", M3, ON, PLAIN),
    ("V3, gates", M3, NEW_ALL, MEMORY),
    ("V3, data edited", M3.replace("9}", "8}"), NEW, f"could not load v3 checkpoint: {CORRUPTED}"),
    *(
        (
            f"data that is {data}",
            changed(M3, data=data, dataChecksum=data_checksum(data)),
            NEW,
            f"{BROKEN_DATA}{UNMARSHAL} number into {wanted}",
        )
        for data, wanted in (
            ("5", "Go value of type state.MemoryManagerCheckpointData"),
            ('{"podEntries":5}', f"{DATA_FIELD}.podEntries of type state.PodMemoryAssignments"),
            ('{"podEntries":{"p":5}}', f"{DATA_FIELD}.podEntries.p of type state.PodEntry"),
        )
    ),
]


def test_the_v2_sum_is_over_the_pods_blocks() -> None:
    block = "{NUMAAffinity:([]int)[0] Type:(v1.ResourceName)memory Size:(uint64)%d}"
    assert json.loads(M2)["checksum"] == fnv1a_32(
        "(*state.MemoryManagerCheckpoint){PolicyName:(string)Static MachineState:(state.NUMANodeMap)map[] "
        f"Entries:(state.ContainerMemoryAssignments)map[p:map[c:[{block % 5}]]] "
        f"PodEntries:(state.PodMemoryAssignments)map[p:{{MemoryBlocks:([]state.Block)[{block % 9}]}}] "
        "Checksum:(checksum.Checksum)0}"
    )
    empty = write_memory_state(replace(MEMORY, pod_entries={"p": ()}), ON)
    assert json.loads(empty)["podEntries"] == {"p": {}}


@pytest.mark.parametrize(
    ("text", "reader", "wanted"), [case[1:] for case in MEMORY_CASES], ids=[c[0] for c in MEMORY_CASES]
)
def test_which_release_reads_which_memory_state(
    text: str, reader: StateReader, wanted: MemoryStateFile | str
) -> None:
    assert read_memory_state(text, reader) == (UnreadableState(wanted) if isinstance(wanted, str) else wanted)


ENTRIES, MACHINE = "entries", "machineState"
WRONG_TYPES = [
    ({MACHINE: {"0": 5}}, "number", "machineState", "machineState.0", "state.NUMANodeState"),
    ({MACHINE: {"x": {}}}, "number x", "machineState", "machineState.x", "int"),
    (
        {MACHINE: {"0": {"memoryMap": {"memory": 5}}}},
        "number",
        "NUMANodeState:machineState.memoryMap",
        "machineState.0.memoryMap.memory",
        "state.MemoryTable",
    ),
    ({ENTRIES: {"p": {"c": [5]}}}, "number", "entries", "entries.p.c.0", "state.Block"),
    ({ENTRIES: {"p": 5}}, "number", "entries", "entries.p", "map[string][]state.Block"),
    (
        {MACHINE: {"0": {"cells": 5}}},
        "number",
        "NUMANodeState:machineState.cells",
        "machineState.0.cells",
        "[]int",
    ),
    (
        {MACHINE: {"0": {"cells": [5, "x"]}}},
        "string",
        "NUMANodeState:machineState.cells",
        "machineState.0.cells.1",
        "int",
    ),
    ({ENTRIES: {"p": {"c": {}}}}, "object", "entries", "entries.p.c", "[]state.Block"),
    (
        {ENTRIES: {"p": {"c": [{"size": 1 << 64}]}}},
        f"number {1 << 64}",
        "Block:entries.size",
        "entries.p.c.0.size",
        "uint64",
    ),
    (
        {ENTRIES: {"p": {"c": [{"SIZE": "5"}]}}},
        "string",
        "Block:entries.size",
        "entries.p.c.0.SIZE",
        "uint64",
    ),
]
"""For each wrong type: where 1.36 reports it (the struct, if not the outermost), and where 1.37 does."""


@pytest.mark.parametrize(("change", "found", "fields", "way", "go_type"), WRONG_TYPES)
def test_the_reported_place_of_a_wrong_type_depends_on_the_go_release(
    change: dict[str, Any], found: str, fields: str, way: str, go_type: str
) -> None:
    """Go up to 1.26 names the innermost struct and the fields on the way, Go 1.27 also keys and indices."""
    text, outermost = changed(M1, **change), "MemoryManagerCheckpointV1"
    struct, _, names = f"{outermost}:{fields}".rpartition(":")
    struct = struct.rpartition(":")[2]
    for reader, place in ((OFF, f"{struct}.{names}"), (NEW, f"{outermost}.{way}")):
        reported = f"{UNMARSHAL} {found} into Go struct field {place} of type {go_type}"
        assert read_memory_state(text, reader) == UnreadableState(reported)


NO_TABLES = "NumberOfAssignments:(int)0 MemoryMap:(map[v1.ResourceName]*state.MemoryTable)<nil>"


@pytest.mark.parametrize(
    ("number", "fits"),
    [(-(1 << 63), True), (-(1 << 63) - 1, False), ((1 << 63) - 1, True), (1 << 63, False)],
)
def test_a_number_has_64_bits(number: int, fits: bool) -> None:
    read = read_memory_state(changed(M1, machineState={"0": {"numberOfAssignments": number}}, checksum=0))
    if isinstance(read, MemoryStateFile):
        assert read.machine_state[0].number_of_assignments == number
    assert isinstance(read, MemoryStateFile) == fits


def test_the_largest_numa_node_is_read() -> None:
    read = read_memory_state(changed(M1, machineState={"65535": {"cells": [65535]}}, checksum=0))
    assert isinstance(read, MemoryStateFile)
    assert read.machine_state[65535].cells == (65535,)


def summed(machine_state: str, entries: str) -> int:
    return fnv1a_32(
        f"(*state.MemoryManagerCheckpoint){{PolicyName:(string)Static MachineState:(state.NUMANodeMap)"
        f"{machine_state} Entries:(state.ContainerMemoryAssignments){entries} Checksum:(checksum.Checksum)0}}"
    )


def test_null_lists_are_summed_as_nil_and_read_as_empty() -> None:
    block = "{NUMAAffinity:([]int)<nil> Type:(v1.ResourceName) Size:(uint64)0}"
    text = json.dumps(
        {
            "policyName": "Static",
            "machineState": {"0": {"cells": None}, "1": {"cells": [1, 2]}},
            "entries": {"p": {"c": None, "d": [{"numaAffinity": None}]}},
            "checksum": summed(
                f"map[0:<*>{{{NO_TABLES} Cells:([]int)<nil>}} 1:<*>{{{NO_TABLES} Cells:([]int)[1 2]}}]",
                f"map[p:map[c:<nil> d:[{block}]]]",
            ),
        }
    )
    read = read_memory_state(text, OLD)
    assert isinstance(read, MemoryStateFile)
    assert [node.cells for node in read.machine_state.values()] == [(), (1, 2)]
    assert read.entries == {"p": {"c": (), "d": (MemoryBlock(numa_affinity=(), type="", size=0),)}}


def test_null_nodes_are_summed_as_nil() -> None:
    """The sum is right: the file is not reported as corrupted."""
    nothing = {
        "policyName": "Static",
        "machineState": {"0": None},
        "checksum": summed("map[0:<nil>]", "map[]"),
    }
    with pytest.raises(InputError, match=r"machineState\.0: is null"):
        read_memory_state(json.dumps(nothing), OLD)


@pytest.mark.parametrize("nodes", [{"3": None}, {"3": {"memoryMap": {"memory": None}}}])
def test_null_in_place_of_a_node_or_a_table_is_not_a_state(nodes: Any) -> None:
    text = changed(M1, machineState=nodes, checksum=0)
    with pytest.raises(
        InputError, match=r"^memory_manager_state: machineState\.3.*: is null: the kubelet crashes"
    ):
        read_memory_state(text)


@pytest.mark.parametrize(
    "members",
    [
        {"machineState": {"-70000": {}}},
        {"machineState": {"0": {"cells": [1 << 40]}}},
        {"entries": {"p": {"c": [{"numaAffinity": [65536]}]}}},
    ],
)
def test_numa_nodes_that_no_machine_has_are_rejected(members: Any) -> None:
    """A mask of them would fill the memory."""
    with pytest.raises(
        InputError, match=r"^memory_manager_state: names NUMA node .*: expected one from -65535 to"
    ):
        read_memory_state(changed(M1, **members, checksum=0))
