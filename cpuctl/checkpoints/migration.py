"""Rewriting a state file for another kubelet: what is lost, and when it is unsafe.

A kubelet without support for CPUs that pods hold as a whole (KEP-5526) requires that the shared pool and
the containers' CPUs are all CPUs; if a pod holds some that none of its containers has, such a kubelet does
not start. The same applies to memory: pods must hold exactly what their containers hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from cpuctl.checkpoints.cpu_state import write_cpu_state
from cpuctl.checkpoints.memory_state import write_memory_state
from cpuctl.checkpoints.model import DRAIN, CPUStateFile, MemoryBlock, MemoryStateFile
from cpuctl.checkpoints.reader import StateReader
from cpuctl.cpuset import CPUSet
from cpuctl.records import replace


class Lost(StrEnum):
    """The kinds of content that a rewritten file cannot hold."""

    POD_CPUS = "podCPUs"
    POD_MEMORY = "podMemory"
    BASELINE = "baseline"


class Loss(NamedTuple):
    """One lost value: its owner, the value, and the consequence."""

    kind: Lost
    pod_uid: str
    was: str
    meaning: str
    container: str = ""


class Migrated(NamedTuple):
    """The new file, and what it no longer contains."""

    text: str
    losses: tuple[Loss, ...] = ()


class NotMigrated(NamedTuple):
    """Why there is no safe file for that kubelet, and what to do instead."""

    reason: str
    advice: str


def migrate_cpu_state(
    state: CPUStateFile, to: StateReader, container_ids: Mapping[str, CPUSet] | None = None
) -> Migrated | NotMigrated:
    """Write a state for another kubelet; *container_ids* are the CPUs of V1's entries.

    The containers with these ids are found in ``to.initial_containers``. Return NotMigrated if any is missing
    there, or if that kubelet would not start.
    """
    unknown = sorted(set(container_ids or {}) - set(to.initial_containers))
    if unknown:
        return NotMigrated(
            f"it is unknown which containers these IDs belong to: {_some(unknown)}",
            f"pass the pods with their container IDs (--pods), or {DRAIN}",
        )
    state = _named(state, container_ids or {}, to)
    if not to.keeps_pods and (leftover := _held_by_pods_only(state)):
        return _unnamed_cpus(state, leftover, to)
    return Migrated(write_cpu_state(state, to), tuple(_cpu_losses(state, to)))


def migrate_memory_state(state: MemoryStateFile, to: StateReader) -> Migrated | NotMigrated:
    """Write a state for another kubelet; return NotMigrated if that one would not start."""
    if to.keeps_pods:
        return Migrated(write_memory_state(state, to))
    odd = sorted(uid for uid, blocks in state.pod_entries.items() if not _same_memory(state, uid, blocks))
    if odd:
        return NotMigrated(
            f"the memory of these pods as a whole is not the sum of their containers' memory: {_some(odd)}; "
            f"{_kubelet(to)} would not start: [memorymanager] the expected machine state is different from "
            "the real one",
            _WITHOUT_PODS_MEMORY,
        )
    losses = tuple(
        Loss(
            kind=Lost.POD_MEMORY,
            pod_uid=uid,
            was=", ".join(f"{each.type} {each.size} on NUMA {each.node_list}" for each in blocks),
            meaning="its containers keep theirs",
        )
        for uid, blocks in sorted(state.pod_entries.items())
    )
    return Migrated(write_memory_state(state, to), losses)


_REMOVED = (
    "remove these pods from the node first, or drain it and delete the file before the other kubelet starts"
)
_INSTEAD = (
    "release the CPUs that no container holds with cpuctl checkpoint repair for the other kubelet; or "
    f"{_REMOVED}"
)
_WITHOUT_PODS_MEMORY = (
    "keep only the memory of the containers with cpuctl checkpoint repair for the other kubelet; or "
    f"{_REMOVED}"
)


def _named(state: CPUStateFile, container_ids: Mapping[str, CPUSet], to: StateReader) -> CPUStateFile:
    entries = {uid: dict(containers) for uid, containers in state.entries.items()}
    for container_id, cpus in container_ids.items():
        names = to.initial_containers[container_id]
        entries.setdefault(names.pod_uid, {})[names.container] = cpus
    return replace(state, entries=entries)


def _held_by_pods_only(state: CPUStateFile) -> CPUSet:
    """Return the CPUs held only by pods as a whole, not by a container or the shared pool."""
    rest = CPUSet()
    for cpus in state.pod_entries.values():
        rest |= cpus
    rest -= state.default_cpu_set
    for containers in state.entries.values():
        for cpus in containers.values():
            rest -= cpus
    return rest


def _unnamed_cpus(state: CPUStateFile, leftover: CPUSet, to: StateReader) -> NotMigrated:
    owners = sorted(uid for uid, cpus in state.pod_entries.items() if cpus & leftover)
    return NotMigrated(
        f"CPUs {leftover} are held by pods, but by none of their containers: {_some(owners)}; "
        f"{_kubelet(to)} would not start: current set of available CPUs doesn't match with CPUs in state",
        _INSTEAD,
    )


def _cpu_losses(state: CPUStateFile, to: StateReader) -> Iterator[Loss]:
    if not to.keeps_pods:
        for uid, cpus in sorted(state.pod_entries.items()):
            meaning = "its containers keep theirs"
            yield Loss(kind=Lost.POD_CPUS, pod_uid=uid, was=str(cpus), meaning=meaning)
    if to.keeps_baselines:
        return
    for uid, containers in sorted(state.baselines.items()):
        for name, cpus in sorted(containers.items()):
            now = state.entries.get(uid, {}).get(name)
            if now not in (None, cpus):
                meaning = f"after another upgrade it cannot shrink below its current {now}"
                yield Loss(kind=Lost.BASELINE, pod_uid=uid, container=name, was=str(cpus), meaning=meaning)


def _same_memory(state: MemoryStateFile, uid: str, blocks: tuple[MemoryBlock, ...]) -> bool:
    """Return whether the containers' blocks add up to those of the pod, as a kubelet counts them."""
    own = [block for each in state.entries.get(uid, {}).values() for block in each]
    return _counted(own) == _counted(list(blocks))


def _counted(blocks: list[MemoryBlock]) -> tuple[Counter[int], Counter[tuple[tuple[int, ...], str]]]:
    """Count blocks by NUMA node, and bytes by node group and resource."""
    sizes: Counter[tuple[tuple[int, ...], str]] = Counter()
    for block in blocks:
        sizes[tuple(sorted(block.numa_affinity)), block.type] += block.size
    return Counter(node for block in blocks for node in block.numa_affinity), sizes


def _kubelet(to: StateReader) -> str:
    """Name a kubelet without support for CPUs that pods hold."""
    gate = "" if to.minor < 36 else " without PodLevelResourceManagers"
    return f"kubelet 1.{to.minor}{gate}"


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
