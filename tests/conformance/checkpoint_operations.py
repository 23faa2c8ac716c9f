"""State files: what a kubelet writes for given values, and what it reads from given text."""

from __future__ import annotations

from collections.abc import Mapping

from cpuctl.checkpoints import cpu_state, memory_state
from cpuctl.checkpoints.cpu_state import cpu_document, read_cpu_state, write_cpu_state
from cpuctl.checkpoints.formats import Envelope, Format
from cpuctl.checkpoints.memory_state import memory_document, read_memory_state, write_memory_state
from cpuctl.checkpoints.model import (
    CPUStateFile,
    MemoryBlock,
    MemoryNode,
    MemoryStateFile,
    MemoryTable,
    UnreadableState,
)
from cpuctl.checkpoints.reader import ContainerName, StateReader, kubelet_refusal
from cpuctl.cpuset import CPUSet
from cpuctl.records import replace
from tests.conformance.corpus import Json, version_of

_WRITTEN: Mapping[str, Format | Envelope] = {
    # The recorded code writes V1 under its new name; no release that knows this name writes V1.
    "cpu v1": replace(cpu_state.V1, hashed_as=("CPUManagerCheckpointV1",)),
    "cpu v2": cpu_state.V2,
    "cpu v3": cpu_state.V3,
    "cpu v4": cpu_state.V4,
    "memory v1": memory_state.V1,
    "memory v2": memory_state.V2,
    "memory v3": memory_state.V3,
}


def checkpoint_write(case: Json) -> Json:
    """Write a file in the named format."""
    format_ = _WRITTEN[f"{case['manager']} {case['format']}"]
    if case["format"] == "v1" and case["manager"] == "cpu":
        document = {"entries": {}} | {name: case[name] for name in ("policyName", "defaultCpuSet", "entries")}
    elif case["manager"] == "cpu":
        document = cpu_document(_cpu_state(case))
    else:
        document = memory_document(_memory_state(case))
    old = format_ if isinstance(format_, Format) else format_.old
    answer = {"bytes": format_.write(document), "hashInput": old.hashed(document, old.hashed_as[0])}
    if isinstance(format_, Envelope):
        answer["dataHashInput"] = f"(string){format_.data.written(document)}"
    return answer


def checkpoint_read(case: Json) -> Json:
    """Read a file, or start without one, and write it back."""
    gates = case.get("featureGates", {})
    reader = StateReader(
        minor=version_of(case).minor,
        pod_level_managers=gates.get("PodLevelResourceManagers", False),
        exclusive_resize=gates.get("InPlacePodVerticalScalingExclusiveCPUs", False),
        initial_containers={
            container_id: ContainerName(uid, name)
            for uid, name, container_id in case.get("initialContainers") or ()
        },
        policy=case["policyName"],
    )
    return _read_cpu(case, reader) if case["manager"] == "cpu" else _read_memory(case, reader)


def _read_cpu(case: Json, reader: StateReader) -> Json:
    fresh = CPUStateFile(policy_name=case["policyName"], default_cpu_set=CPUSet())
    text = case.get("bytes", write_cpu_state(fresh, reader))
    state = read_cpu_state(text, reader)
    if isinstance(state, UnreadableState):
        return {"error": kubelet_refusal("cpu_manager_state", state.error)}
    answer = {
        "defaultCpuSet": str(state.default_cpu_set),
        "entries": _lists(state.entries),
        "podEntries": {uid: str(cpus) for uid, cpus in state.pod_entries.items()},
        "fileAfterRead": text,
        "rewritten": write_cpu_state(state, reader),
    }
    return answer if reader.minor < 37 else answer | {"baselines": _lists(state.baselines)}


def _read_memory(case: Json, reader: StateReader) -> Json:
    text = case.get("bytes", write_memory_state(MemoryStateFile(policy_name=case["policyName"]), reader))
    state = read_memory_state(text, reader)
    if isinstance(state, UnreadableState):
        return {"error": kubelet_refusal("memory_manager_state", state.error)}
    document = memory_document(state)
    return {
        "machineState": {str(number): node for number, node in document["machineState"].items()},
        "entries": document["entries"],
        "podEntries": document["podEntries"],
        "fileAfterRead": text,
        "rewritten": write_memory_state(state, reader),
    }


def _lists(sets: Mapping[str, Mapping[str, CPUSet]]) -> Json:
    return {uid: {name: str(cpus) for name, cpus in each.items()} for uid, each in sets.items()}


def _cpu_state(case: Json) -> CPUStateFile:
    return CPUStateFile(
        policy_name=case["policyName"],
        default_cpu_set=CPUSet.parse(case["defaultCpuSet"]),
        entries=_sets(case.get("entries", {})),
        pod_entries={
            uid: CPUSet.parse(entry["cpuSet"]) for uid, entry in (case.get("podEntries") or {}).items()
        },
        baselines=_sets(
            {
                uid: {name: cpus["baseline"] for name, cpus in each.items()}
                for uid, each in (case.get("baselines") or {}).items()
            }
        ),
    )


def _sets(lists: Json) -> Mapping[str, Mapping[str, CPUSet]]:
    return {
        uid: {name: CPUSet.parse(text) for name, text in each.items()} for uid, each in (lists or {}).items()
    }


def _memory_state(case: Json) -> MemoryStateFile:
    return MemoryStateFile(
        policy_name=case["policyName"],
        machine_state={int(number): _node(node) for number, node in case.get("machineState", {}).items()},
        entries={
            uid: {name: _blocks(blocks) for name, blocks in each.items()}
            for uid, each in case.get("entries", {}).items()
        },
        pod_entries={
            uid: _blocks(entry["memoryBlocks"]) for uid, entry in case.get("podEntries", {}).items()
        },
    )


def _node(node: Json) -> MemoryNode:
    tables = {
        name: MemoryTable(
            total=table["total"],
            system_reserved=table["systemReserved"],
            allocatable=table["allocatable"],
            reserved=table["reserved"],
            free=table["free"],
        )
        for name, table in node["memoryMap"].items()
    }
    return MemoryNode(
        number_of_assignments=node["numberOfAssignments"], memory_map=tables, cells=tuple(node["cells"])
    )


def _blocks(blocks: list[Json]) -> tuple[MemoryBlock, ...]:
    return tuple(
        MemoryBlock(numa_affinity=tuple(each["numaAffinity"]), type=each["type"], size=each["size"])
        for each in blocks
    )
