"""How the memory of a machine differs from what a state file says, and what of it pods have no place for.

The kernel's image lies on another NUMA node after every boot (KASLR), and what boot leaves free varies:
some MiB come and go (kubernetes issue 131253). KEP-6232 proposes to tolerate the size of the image, some 50
MiB, and 64 MiB more. No release does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from cpuctl.checkpoints.model import MemoryNode, MemoryStateFile, MemoryTable
from cpuctl.engine.memory.restart import HeldBlock, held_blocks, replay
from cpuctl.engine.memory.state import MemoryManagerState
from cpuctl.engine.memory.tables import MEMORY, Tables, free_in


class Misfit(NamedTuple):
    """A block that has no place, and why; ``missing`` are the bytes that are too many, if it is that."""

    held: HeldBlock
    why: str
    missing: int = 0


class Replayed(NamedTuple):
    """Tables with every block charged as far as possible, and the blocks that do not fit."""

    tables: Tables
    misfits: tuple[Misfit, ...]


def replayed(saved: MemoryStateFile, fresh: Mapping[int, MemoryNode]) -> Replayed:
    """Charge the tables of a machine on which nobody has memory yet with all blocks of a state."""
    tables = dict(fresh)
    tried = [_charged(tables, held) for held in held_blocks(MemoryManagerState.of_file(saved))]
    return Replayed(tables, tuple(misfit for misfit in tried if misfit))


def _charged(tables: Tables, held: HeldBlock) -> Misfit | None:
    block, before = held.block, dict(tables)
    if problem := replay(tables, block):
        return Misfit(held, problem)
    missing = block.size - free_in(before, block.numa_affinity, block.type)
    return Misfit(held, "there is not enough", missing) if missing > 0 else None


MOST_DRIFT = 128 << 20
"""The most that a reboot changes of a NUMA node's memory, in bytes."""


class DriftKind(StrEnum):
    """What a difference means: a reboot does that, or somebody has changed something."""

    BENIGN = "benign"
    REAL = "real"


class Cause(StrEnum):
    """What has changed."""

    REBOOT = "reboot"
    MEMORY = "memory"
    NODES = "numaNodes"
    HUGE_PAGES = "hugePages"
    RESERVED = "reserved"


class Amount(StrEnum):
    """A number of the tables of a NUMA node that a kubelet compares; answers know it by this name."""

    TOTAL = "total"
    RESERVED = "systemReserved"
    ALLOCATABLE = "allocatable"
    ASSIGNMENTS = "assignments"


class Difference(NamedTuple):
    """A number as the file has it and as the machine does, in bytes; None where one of them has none.

    ``resource`` is empty where a whole NUMA node has come or gone.
    """

    node: int
    resource: str
    amount: Amount
    before: int | None
    after: int | None


class MemoryDrift(NamedTuple):
    """All differences of totals, what is reserved, and what pods may have; with the cause of each.

    ``misfit``: what pods hold does not fit any more, however small the difference.
    """

    changes: tuple[tuple[Difference, Cause], ...]
    misfit: bool

    @property
    def kind(self) -> DriftKind:
        """Whether it is all the work of a reboot."""
        harmless = not self.misfit and all(cause is Cause.REBOOT for _, cause in self.changes)
        return DriftKind.BENIGN if harmless else DriftKind.REAL


def memory_drift(saved: MemoryStateFile, fresh: Mapping[int, MemoryNode]) -> MemoryDrift | None:
    """Compare what a state says of the machine with the machine; None where it is the same."""
    changes = tuple(_changes(saved.machine_state, fresh)) if saved.machine_state else ()
    return MemoryDrift(changes, bool(replayed(saved, fresh).misfits)) if changes else None


def _changes(
    old: Mapping[int, MemoryNode], new: Mapping[int, MemoryNode]
) -> Iterator[tuple[Difference, Cause]]:
    for number in sorted({*old, *new}):
        before, after = old.get(number), new.get(number)
        if before is None or after is None:
            was, now = (each.number_of_assignments if each else None for each in (before, after))
            yield Difference(number, "", Amount.ASSIGNMENTS, was, now), Cause.NODES
        else:
            yield from _of_node(number, before.memory_map, after.memory_map)


def _of_node(
    number: int, old: Mapping[str, MemoryTable], new: Mapping[str, MemoryTable]
) -> Iterator[tuple[Difference, Cause]]:
    new_pages = hugepage_bytes(old) != hugepage_bytes(new)
    for resource in sorted({*old, *new}):
        before, after = old.get(resource), new.get(resource)
        # A resource that comes or goes is one difference, not one of each number.
        was, now = (each.total if each else None for each in (before, after))
        if was != now:
            yield Difference(number, resource, Amount.TOTAL, was, now), _cause(resource, was, now)
        if before and after and before.system_reserved != after.system_reserved:
            was, now = before.system_reserved, after.system_reserved
            yield Difference(number, resource, Amount.RESERVED, was, now), Cause.RESERVED
        if resource == MEMORY and new_pages and before and after and before.allocatable != after.allocatable:
            # Beside total and reservation, huge pages are taken off what pods may have of memory.
            was, now = before.allocatable, after.allocatable
            yield Difference(number, resource, Amount.ALLOCATABLE, was, now), Cause.HUGE_PAGES


def hugepage_bytes(tables: Mapping[str, MemoryTable]) -> int:
    """Add up the huge pages of a NUMA node, of every size."""
    return sum(table.total for resource, table in tables.items() if resource != MEMORY)


def _cause(resource: str, was: int | None, now: int | None) -> Cause:
    if resource != MEMORY:
        return Cause.HUGE_PAGES
    drifted = was is not None and now is not None and abs(was - now) <= MOST_DRIFT
    return Cause.REBOOT if drifted else Cause.MEMORY
