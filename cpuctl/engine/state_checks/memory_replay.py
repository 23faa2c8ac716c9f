"""The Memory Manager's tables as they would be with the memory that pods hold, on the machine as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from cpuctl.checkpoints.model import MemoryNode, MemoryStateFile
from cpuctl.engine.memory.restart import HeldBlock, held_blocks, replay
from cpuctl.engine.memory.state import MemoryManagerState
from cpuctl.engine.memory.tables import Tables, free_in


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
