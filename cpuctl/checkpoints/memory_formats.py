"""The formats of ``memory_manager_state`` (kubernetes ``pkg/kubelet/cm/memorymanager/state``).

V1 up to 1.35 and with PodLevelResourceManagers off in 1.36, V2 with it on in 1.36, V3 from 1.37 on.
"""

from __future__ import annotations

from cpuctl.checkpoints.formats import CHECKSUM, Format, envelope
from cpuctl.golang.containers import Field, ListOf, MapOf, Struct
from cpuctl.golang.scalars import Text, Whole

_LEGACY = "MemoryManagerCheckpoint"
_SIZE, _COUNT = Whole("uint64"), Whole("int", signed=True)
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
"""V1 before there was another."""
V1 = Format(struct=_V1_STRUCT, hashed_as=(_LEGACY, "MemoryManagerCheckpointV1"), zero_sum=True)
"""V1 with PodLevelResourceManagers off in 1.36."""
V1_REPLACED = Format(struct=_V1_STRUCT, hashed_as=(_LEGACY,), zero_sum=True)
"""V1 where it is an older format: its checksum is accepted under the name it had."""
V2 = Format(struct=Struct(f"state.{_LEGACY}", _V2_FIELDS), hashed_as=(_LEGACY,))
"""V1 and what pods hold as a whole (KEP-5526)."""
V2_FROM_1_37 = Format(struct=Struct("state.MemoryManagerCheckpointV2", _V2_FIELDS), hashed_as=(_LEGACY,))
"""V2 where it is an older format: its checksum is accepted under the name it had."""
V3 = envelope(V1_REPLACED, _V3_DATA, _LEGACY, "memory")
"""V1 for older kubelets and beside it all there is (kubernetes pull request 139626)."""
