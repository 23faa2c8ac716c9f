"""``memory_manager_state``: its formats, and how a kubelet reads (trying one after another) and writes it.

These files are internals of the kubelet (``pkg/kubelet/cm/memorymanager/state``), bound to its version: V1 up
to 1.35 and with PodLevelResourceManagers off in 1.36, V2 with it on in 1.36, V3 from 1.37 on. Rule:
``restoreState`` there. Up to 1.35 V1; in 1.36 (V2,) then V1; from 1.37 on V3, V2, V1. The error reported is
that of the last attempt.
"""

from __future__ import annotations

from collections.abc import Mapping

from cpuctl.checkpoints.formats import CHECKSUM, Format, Loaded, envelope
from cpuctl.checkpoints.model import (
    DRAIN,
    MemoryBlock,
    MemoryNode,
    MemoryStateFile,
    MemoryTable,
    UnreadableState,
)
from cpuctl.checkpoints.reader import DEFAULT_READER, StateReader
from cpuctl.errors import InputError
from cpuctl.golang.json_values import GoJsonError, Json, parsed_json
from cpuctl.golang.state_types import Field, Integer, ListOf, MapOf, Struct, Text, Value
from cpuctl.records import replace
from cpuctl.state_names import MEMORY_FILE

_LEGACY = "MemoryManagerCheckpoint"
_SIZE, _COUNT = Integer("uint64"), Integer("int", signed=True)
_NODES = ListOf("[]int", _COUNT)
_TABLE = Struct(
    "state.MemoryTable",
    (
        Field("total", "TotalMemSize", _SIZE),
        Field("systemReserved", "SystemReserved", _SIZE),
        Field("allocatable", "Allocatable", _SIZE),
        Field("reserved", "Reserved", _SIZE),
        Field("free", "Free", _SIZE),
    ),
)
_TABLES = MapOf("map[v1.ResourceName]*state.MemoryTable", _TABLE, pointers=True)
_NODE = Struct(
    "state.NUMANodeState",
    (
        Field("numberOfAssignments", "NumberOfAssignments", _COUNT),
        Field("memoryMap", "MemoryMap", _TABLES),
        Field("cells", "Cells", _NODES),
    ),
)
_BLOCK = Struct(
    "state.Block",
    (
        Field("numaAffinity", "NUMAAffinity", _NODES),
        Field("type", "Type", Text("v1.ResourceName")),
        Field("size", "Size", _SIZE),
    ),
)
_BLOCKS = ListOf("[]state.Block", _BLOCK)
_POD_ENTRY = Struct("state.PodEntry", (Field("memoryBlocks", "MemoryBlocks", _BLOCKS, omit_empty=True),))

_BASE = (
    Field("policyName", "PolicyName", Text()),
    Field("machineState", "MachineState", MapOf("state.NUMANodeMap", _NODE, numbered=True, pointers=True)),
    Field(
        "entries",
        "Entries",
        MapOf("state.ContainerMemoryAssignments", MapOf("map[string][]state.Block", _BLOCKS)),
        omit_empty=True,
    ),
)
_POD_ENTRIES = Field(
    "podEntries", "PodEntries", MapOf("state.PodMemoryAssignments", _POD_ENTRY), omit_empty=True
)

_V1_FIELDS = (*_BASE, CHECKSUM)
_V1_STRUCT = Struct("state.MemoryManagerCheckpointV1", _V1_FIELDS)
_V2_FIELDS = (*_BASE, _POD_ENTRIES, CHECKSUM)
_V3_DATA = Struct("state.MemoryManagerCheckpointData", (*_BASE, _POD_ENTRIES))

BEFORE_1_36 = Format(struct=Struct(f"state.{_LEGACY}", _V1_FIELDS), hashed_as=(_LEGACY,))
"""V1 while it was the only format."""
V1 = Format(struct=_V1_STRUCT, hashed_as=(_LEGACY, "MemoryManagerCheckpointV1"), zero_sum=True)
"""V1 with PodLevelResourceManagers off in 1.36."""
V1_REPLACED = Format(struct=_V1_STRUCT, hashed_as=(_LEGACY,), zero_sum=True)
"""V1 as an older format: its checksum is also accepted under the former name."""
V2 = Format(struct=Struct(f"state.{_LEGACY}", _V2_FIELDS), hashed_as=(_LEGACY,))
"""V1 plus the memory that pods hold as a whole (KEP-5526)."""
V2_FROM_1_37 = Format(struct=Struct("state.MemoryManagerCheckpointV2", _V2_FIELDS), hashed_as=(_LEGACY,))
"""V2 as an older format: its checksum is also accepted under the former name."""
V3 = envelope(V1_REPLACED, _V3_DATA, _LEGACY, "memory")
"""V1 for older kubelets and next to it the full content (kubernetes pull request 139626)."""


MAX_NODE = (1 << 16) - 1
"""The largest NUMA node number: far beyond the 1024 nodes that kernels are built for.

A kubelet treats a package whose number the kernel does not know as NUMA node -1, and records that.
"""

_Assigned = Mapping[str, tuple[MemoryBlock, ...]]


def read_memory_state(text: str, reader: StateReader = DEFAULT_READER) -> MemoryStateFile | UnreadableState:
    """Read a file as this kubelet does, or return the text of its error.

    Raise InputError for a file so large that it can only be meant to exhaust memory, and for content that
    ``memory_state_of`` does not accept.
    """
    try:
        loaded = _load(parsed_json(text), reader)
        if loaded.error:
            return UnreadableState(loaded.error)
        if objection := reader.objection(loaded.document["policyName"]):
            return UnreadableState(f"[memorymanager] {objection}")
        return memory_state_of(_limited(loaded.document, reader))
    except GoJsonError as error:
        return UnreadableState(str(error))
    except InputError as error:
        raise error.within(MEMORY_FILE) from None


def write_memory_state(state: MemoryStateFile, writer: StateReader = DEFAULT_READER) -> str:
    """Return the file's text exactly as this kubelet writes it; parts that its gates exclude are lost."""
    document = memory_document(state)
    if writer.minor < 37:
        return V2.write(document) if writer.keeps_pods else V1.write(document)
    return V3.write(_limited(document, writer))


def memory_document(state: MemoryStateFile) -> Value:
    """Turn a state into the document from which every format is written."""
    return {
        "policyName": state.policy_name,
        "machineState": {number: _node_document(node) for number, node in state.machine_state.items()},
        "entries": {uid: _block_documents(containers) for uid, containers in state.entries.items()},
        # A pod's empty list is not written; it must be nil for the checksum, too, or reading would fail.
        "podEntries": {
            uid: {"memoryBlocks": blocks or None}
            for uid, blocks in _block_documents(state.pod_entries).items()
        },
    }


def _node_document(node: MemoryNode) -> Value:
    return {
        "numberOfAssignments": node.number_of_assignments,
        "memoryMap": {name: _table_document(table) for name, table in node.memory_map.items()},
        "cells": list(node.cells),
    }


def _table_document(table: MemoryTable) -> Value:
    return {
        "total": table.total,
        "systemReserved": table.system_reserved,
        "allocatable": table.allocatable,
        "reserved": table.reserved,
        "free": table.free,
    }


def _block_documents(assigned: _Assigned) -> dict[str, list[Value]]:
    return {
        name: [
            {"numaAffinity": list(each.numa_affinity), "type": each.type, "size": each.size}
            for each in blocks
        ]
        for name, blocks in assigned.items()
    }


def memory_state_of(document: Value) -> MemoryStateFile:
    """Turn a document with all its content into a state.

    Raise InputError if a NUMA node or a resource is null, which neither a state nor a kubelet can represent,
    and for NUMA node numbers that no machine has.
    """
    pods = document.get("podEntries") or {}
    return MemoryStateFile(
        policy_name=document["policyName"],
        machine_state={
            _number(number): _node(node, f"machineState.{number}")
            for number, node in (document["machineState"] or {}).items()
        },
        entries={
            uid: {name: _blocks(blocks) for name, blocks in (containers or {}).items()}
            for uid, containers in (document["entries"] or {}).items()
        },
        pod_entries={uid: _blocks(entry["memoryBlocks"]) for uid, entry in pods.items()},
    )


def _node(node: Value, where: str) -> MemoryNode:
    if node is None:
        raise _crash(where)
    return MemoryNode(
        number_of_assignments=node["numberOfAssignments"],
        memory_map={
            name: _table(table, f"{where}.memoryMap.{name}")
            for name, table in (node["memoryMap"] or {}).items()
        },
        cells=_numbers(node["cells"]),
    )


def _table(table: Value, where: str) -> MemoryTable:
    if table is None:
        raise _crash(where)
    return MemoryTable(
        total=table["total"],
        system_reserved=table["systemReserved"],
        allocatable=table["allocatable"],
        reserved=table["reserved"],
        free=table["free"],
    )


def _limited(document: Value, kubelet: StateReader) -> Value:
    """Leave out what this kubelet ignores."""
    return document if kubelet.keeps_pods else document | {"podEntries": None}


def _crash(where: str) -> InputError:
    return InputError("is null: the kubelet crashes on it", where=where, hint=DRAIN)


def _blocks(blocks: list[Value] | None) -> tuple[MemoryBlock, ...]:
    return tuple(
        MemoryBlock(numa_affinity=_numbers(each["numaAffinity"]), type=each["type"], size=each["size"])
        for each in blocks or ()
    )


def _numbers(nodes: list[int] | None) -> tuple[int, ...]:
    return tuple(map(_number, nodes or ()))


def _number(node: int) -> int:
    if abs(node) > MAX_NODE:
        raise InputError(f"names NUMA node {node}: expected one from -{MAX_NODE} to {MAX_NODE}")
    return node


def _load(found: Json, reader: StateReader) -> Loaded:
    """Load a file's content as a document with those fields of V3's data that were in the file.

    ``error`` is set if it is not valid in any format of this kubelet.
    """
    if reader.minor >= 37:
        return _load_v3(found, reader)
    if reader.minor < 36:
        return BEFORE_1_36.load(found, reader)
    return _load_v2(found, reader) if reader.keeps_pods else V1.load(found, reader)


def _load_v3(found: Json, reader: StateReader) -> Loaded:
    loaded = V3.load(found, reader)
    if not loaded.error:
        return loaded
    if V3.meant(loaded.document):
        return replace(loaded, error=f"could not load v3 checkpoint: {loaded.error}")
    older = V2_FROM_1_37.load(found, reader)
    return older if not older.error else V1_REPLACED.load(found, reader)


def _load_v2(found: Json, reader: StateReader) -> Loaded:
    loaded = V2.load(found, reader)
    if not loaded.error:
        return loaded
    older = V1_REPLACED.load(found, reader)
    # The result of a failed attempt is not cleared: pods keep the memory of a file whose checksum was wrong.
    return older if older.error else Loaded(loaded.document | older.document)
