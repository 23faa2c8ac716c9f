"""The differences between two state files: CPUs and memory that pods and containers gained or lost."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from cpuctl.checkpoints.model import CPUStateFile, MemoryBlock, MemoryStateFile
from cpuctl.cpuset import CPUSet
from cpuctl.records import Record

_Held = TypeVar("_Held")
Blocks: TypeAlias = tuple[MemoryBlock, ...]


class HolderKind(StrEnum):
    """The part of a state file in which a holder is listed."""

    SHARED_POOL = "sharedPool"
    CONTAINER = "container"
    POD = "pod"
    BASELINE = "baseline"


class Holder(NamedTuple):
    """A holder of CPUs or memory; a whole pod has no container, the shared pool neither pod nor container."""

    kind: HolderKind
    pod_uid: str = ""
    container: str = ""


class HolderChange(Record, Generic[_Held]):
    """What a holder had and has; None if the holder did not exist before, or does not exist any more."""

    holder: Holder
    before: _Held | None
    after: _Held | None


class CPUChange(HolderChange[CPUSet]):
    """A holder whose CPUs have changed."""

    @property
    def added(self) -> CPUSet:
        """The CPUs that it has now and did not have."""
        return (self.after or CPUSet()) - (self.before or CPUSet())

    @property
    def removed(self) -> CPUSet:
        """The CPUs that it had and no longer has."""
        return (self.before or CPUSet()) - (self.after or CPUSet())


class MemoryChange(HolderChange[Blocks]):
    """A holder whose memory blocks have changed."""


class TableChange(Record):
    """One number in the tables of a NUMA node, in bytes; None if the node or the resource does not exist.

    ``resource`` is empty for the node's own values: its number of assignments, and the nodes of its group.
    """

    node: int
    resource: str
    field: str
    before: int | tuple[int, ...] | None
    after: int | tuple[int, ...] | None


class CPUDiff(Record):
    """The difference of two states of the CPU Manager; ``policies`` are both names if they differ."""

    policies: tuple[str, str] | None
    changes: tuple[CPUChange, ...]

    def __bool__(self) -> bool:
        return self.policies is not None or bool(self.changes)


class MemoryDiff(Record):
    """The difference of two states of the Memory Manager."""

    policies: tuple[str, str] | None
    changes: tuple[MemoryChange, ...]
    tables: tuple[TableChange, ...]

    def __bool__(self) -> bool:
        return self.policies is not None or bool(self.changes or self.tables)


def diff_cpu_states(before: CPUStateFile, after: CPUStateFile) -> CPUDiff:
    """Compare two states, holder by holder."""
    old, new = dict(cpu_allocations(before)), dict(cpu_allocations(after))
    return CPUDiff(
        policies=_policies(before.policy_name, after.policy_name),
        changes=tuple(
            CPUChange(holder, old.get(holder), new.get(holder))
            for holder in _in_order(old, new)
            if old.get(holder) != new.get(holder)
        ),
    )


def diff_memory_states(before: MemoryStateFile, after: MemoryStateFile) -> MemoryDiff:
    """Compare two states, holder by holder and number by number; the order of blocks means nothing."""
    old, new = dict(_memory_allocations(before)), dict(_memory_allocations(after))
    return MemoryDiff(
        policies=_policies(before.policy_name, after.policy_name),
        changes=tuple(
            MemoryChange(holder, old.get(holder), new.get(holder))
            for holder in _in_order(old, new)
            if old.get(holder) != new.get(holder)
        ),
        tables=tuple(_table_changes(before, after)),
    )


def cpu_allocations(state: CPUStateFile) -> Iterator[tuple[Holder, CPUSet]]:
    """Yield the holders with their CPUs."""
    yield Holder(HolderKind.SHARED_POOL), state.default_cpu_set
    for uid, cpus in state.pod_entries.items():
        yield Holder(HolderKind.POD, uid), cpus
    for kind, entries in ((HolderKind.CONTAINER, state.entries), (HolderKind.BASELINE, state.baselines)):
        for uid, containers in entries.items():
            for name, cpus in containers.items():
                yield Holder(kind, uid, name), cpus


def _memory_allocations(state: MemoryStateFile) -> Iterator[tuple[Holder, Blocks]]:
    for uid, blocks in state.pod_entries.items():
        yield Holder(HolderKind.POD, uid), _sorted(blocks)
    for uid, containers in state.entries.items():
        for name, blocks in containers.items():
            yield Holder(HolderKind.CONTAINER, uid, name), _sorted(blocks)


def _sorted(blocks: Blocks) -> Blocks:
    return tuple(sorted(blocks, key=lambda block: (block.type, block.numa_affinity, block.size)))


def _in_order(old: Mapping[Holder, object], new: Mapping[Holder, object]) -> list[Holder]:
    """Sort holders: the shared pool, then pod by pod, the pod as a whole before its containers."""
    return sorted({*old, *new}, key=lambda holder: (holder.pod_uid, holder.container, holder.kind))


def _policies(before: str, after: str) -> tuple[str, str] | None:
    return None if before == after else (before, after)


def _table_changes(before: MemoryStateFile, after: MemoryStateFile) -> Iterator[TableChange]:
    old, new = dict(_numbers(before)), dict(_numbers(after))
    for key in sorted({*old, *new}):
        if old.get(key) != new.get(key):
            yield TableChange(*key, old.get(key), new.get(key))


def _numbers(state: MemoryStateFile) -> Iterator[tuple[tuple[int, str, str], int | tuple[int, ...]]]:
    for number, node in state.machine_state.items():
        yield (number, "", "assignments"), node.number_of_assignments
        yield (number, "", "cells"), tuple(sorted(node.cells))
        for resource, table in node.memory_map.items():
            for field in table._fields:
                yield (number, resource, field), getattr(table, field)
