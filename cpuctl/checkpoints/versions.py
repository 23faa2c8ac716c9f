"""The kubelets that write each format of a state file, and how all others read it.

No fact is stated twice: a sample is written in every format and read by every reader.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from cpuctl.checkpoints import cpu_state, memory_state
from cpuctl.checkpoints.cpu_state import cpu_document, read_cpu_state
from cpuctl.checkpoints.memory_state import memory_document, read_memory_state
from cpuctl.checkpoints.model import (
    CPUStateFile,
    MemoryBlock,
    MemoryNode,
    MemoryStateFile,
    MemoryTable,
    UnreadableState,
)
from cpuctl.checkpoints.reader import ContainerName, StateReader
from cpuctl.cpuset import CPUSet
from cpuctl.records import Record, replace
from cpuctl.state_names import (
    ACTUATED_FILE,
    ALLOCATED_FILE,
    CLAIMS_FILE,
    CPU_FILE,
    DEVICES_FILE,
    MEMORY_FILE,
    STATUS_FILE,
)


class StateFormat(Record):
    """A format of a state file: its writers, and a sample with everything that it can hold."""

    file_name: str
    name: str
    written_by: str
    sample: str


class Compatibility(Record):
    """How one kind of kubelet reads one format: its error, or the members that it ignores."""

    format: StateFormat
    reader: StateReader
    error: str = ""
    lost: tuple[str, ...] = ()


_POD, _CONTAINER, _CONTAINER_ID = "pod-uid", "container", "container-id"
READERS = (
    StateReader(minor=35),
    StateReader(minor=36),
    StateReader(minor=36, pod_level_managers=True),
    StateReader(minor=37),
    StateReader(minor=37, pod_level_managers=True, exclusive_resize=True),
)
"""One of every kind; the first represents all up to 1.35, the last two 1.37 and later."""

_READER_NAMES = (
    "up to 1.35",
    "1.36",
    "1.36 with PodLevelResourceManagers",
    "1.37 and later",
    "1.37 and later with PodLevelResourceManagers and InPlacePodVerticalScalingExclusiveCPUs",
)

_WITHOUT, _WITH, _NEWEST = (
    "1.36 without PodLevelResourceManagers",
    "1.36 with PodLevelResourceManagers",
    "1.37 and later",
)
_CPUS = CPUSet.parse("4-7")
_CPU_STATE = CPUStateFile(
    policy_name="static",
    default_cpu_set=CPUSet.parse("0-3"),
    entries={_POD: {_CONTAINER: _CPUS}},
    pod_entries={_POD: _CPUS},
    baselines={_POD: {_CONTAINER: CPUSet.parse("4-5")}},
)
_BLOCK = MemoryBlock(numa_affinity=(0,), type="memory", size=1)
_TABLE = MemoryTable(total=2, system_reserved=0, allocatable=2, reserved=1, free=1)
_MEMORY_STATE = MemoryStateFile(
    policy_name="Static",
    machine_state={0: MemoryNode(number_of_assignments=1, memory_map={"memory": _TABLE}, cells=(0,))},
    entries={_POD: {_CONTAINER: (_BLOCK,)}},
    pod_entries={_POD: (_BLOCK,)},
)
_State: TypeAlias = CPUStateFile | MemoryStateFile | UnreadableState
_PARTS = (("entries", "entries"), ("podEntries", "pod_entries"), ("baselines", "baselines"))


OTHER_READERS = {
    STATUS_FILE: (("1.27 to 1.31", 31), ("1.32", 32)),
    CLAIMS_FILE: (("1.27", 27), ("1.28 and 1.29", 29), ("1.30", 30), ("1.31 and later", 36)),
}
"""For files that no kubelet converts: the releases that read them differently, and one of each."""

_DEVICES_FREE = "the kubelet starts, and treats every device as free"
_PANICS, _ENDS = "the kubelet panics", "the kubelet does not start"
OTHER_FORMATS = (
    (ALLOCATED_FILE, "", "1.33 and later", "1.33 and later", _PANICS),
    (ACTUATED_FILE, "", "1.33 and later", "1.33 and later", f"{_PANICS}; from 1.35, it exits"),
    (STATUS_FILE, "V1", "1.27 to 1.31", "1.27 to 1.31", _PANICS),
    (STATUS_FILE, "V2", "1.32", "1.32", _PANICS),
    (DEVICES_FILE, "V1", "up to 1.19", "up to 1.30", _DEVICES_FREE),
    (DEVICES_FILE, "V2", "1.20 and later", "1.20 and later", _DEVICES_FREE),
    (CLAIMS_FILE, "V1", "1.27", "1.27", _ENDS),
    (CLAIMS_FILE, "V2", "1.28 and 1.29", "1.28 and 1.29", _ENDS),
    (CLAIMS_FILE, "V3", "1.30", "1.30", _ENDS),
    (CLAIMS_FILE, "V4", "1.31 and later", "1.31 and later", _ENDS),
)
"""The formats that no kubelet converts: file, cpuctl's name of the format, its writers and readers (only
with their gates, except for devices), and what happens to a kubelet that cannot load it.
"""


def reader_name(reader: StateReader) -> str:
    """Return the name of a kind of kubelet in ``READERS``."""
    return _READER_NAMES[READERS.index(reader)]


def version_table() -> Iterator[Compatibility]:
    """Yield every format with every kind of reader."""
    for format_ in state_formats():
        read: Callable[[str, StateReader], _State] = (
            read_cpu_state if format_.file_name == CPU_FILE else read_memory_state
        )
        for reader in READERS:
            knowing = replace(reader, initial_containers={_CONTAINER_ID: ContainerName(_POD, _CONTAINER)})
            state = read(format_.sample, knowing)
            if isinstance(state, UnreadableState):
                yield Compatibility(format=format_, reader=reader, error=state.error)
            else:
                lost = tuple(_lost(format_.sample, state))
                yield Compatibility(format=format_, reader=reader, lost=lost)


def state_formats() -> Iterator[StateFormat]:
    """Yield the formats, oldest first."""
    document = cpu_document(_CPU_STATE)
    v1 = document | {"entries": {_CONTAINER_ID: str(_CPUS)}}
    for name, written_by, sample in (
        ("V1", "1.12 to 1.17", cpu_state.V1.write(v1)),
        ("V2", f"1.18 to 1.35, {_WITHOUT}", cpu_state.V2.write(document)),
        ("V3", _WITH, cpu_state.V3.write(document)),
        ("V4", _NEWEST, cpu_state.V4.write(document)),
    ):
        yield StateFormat(file_name=CPU_FILE, name=name, written_by=written_by, sample=sample)
    memory = memory_document(_MEMORY_STATE)
    for name, written_by, sample in (
        ("V1", f"1.21 to 1.35, {_WITHOUT}", memory_state.V1.write(memory)),
        ("V2", _WITH, memory_state.V2.write(memory)),
        ("V3", _NEWEST, memory_state.V3.write(memory)),
    ):
        yield StateFormat(file_name=MEMORY_FILE, name=name, written_by=written_by, sample=sample)


def _lost(sample: str, state: CPUStateFile | MemoryStateFile) -> Iterator[str]:
    """Yield the members that are in the sample but not in the result of reading it."""
    whole = _CPU_STATE if isinstance(state, CPUStateFile) else _MEMORY_STATE
    for member, part in _PARTS:
        if member in sample and getattr(state, part) != getattr(whole, part):
            yield member
