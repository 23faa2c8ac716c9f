"""Memory of pods that does not fit on a machine: which blocks, and which pods to remove."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial

from cpuctl.checkpoints.model import DRAIN, FROM_NODE, MemoryNode, MemoryStateFile, named_nodes
from cpuctl.diagnostics import Severity
from cpuctl.engine.memory.restart import HeldBlock, held_blocks, replay, restored
from cpuctl.engine.memory.state import Blocks, MemoryManagerState
from cpuctl.engine.memory.tables import Tables, free_in
from cpuctl.engine.state_checks.fewest_pods import fewest_pods
from cpuctl.engine.state_checks.findings import (
    REMOVE,
    REPAIR_ANEW,
    REPAIR_WITH_PODS,
    StateFinding,
    StatePlace,
)
from cpuctl.engine.state_checks.owners import Owners, kept
from cpuctl.phrases import all_of, byte_text, few
from cpuctl.quantity import Format, Quantity
from cpuctl.records import Record, replace
from cpuctl.state_names import MEMORY_FILE

_SHORT = len("1023Mi")
_SHOWN = 3
_NAMED = 10


class UnplacedBlock(Record):
    """A block that does not fit, and why; ``missing`` are the bytes in excess, if that is the reason."""

    held: HeldBlock
    why: str
    missing: int = 0


class Replayed(Record):
    """Tables with every block charged as far as possible, and the blocks that do not fit."""

    tables: Tables
    misfits: tuple[UnplacedBlock, ...]


def replayed(saved: MemoryStateFile, fresh: Mapping[int, MemoryNode]) -> Replayed:
    """Charge all blocks of a state to the tables of a machine with no memory assigned yet."""
    tables = dict(fresh)
    tried = [_charged(tables, held) for held in held_blocks(MemoryManagerState.of_file(saved))]
    return Replayed(tables, tuple(misfit for misfit in tried if misfit))


def _charged(tables: Tables, held: HeldBlock) -> UnplacedBlock | None:
    block, before = held.block, dict(tables)
    if problem := replay(tables, block):
        return UnplacedBlock(held, problem)
    missing = block.size - free_in(before, block.numa_affinity, block.type)
    return UnplacedBlock(held, "not enough free", missing) if missing > 0 else None


def pods_to_remove(
    saved: MemoryStateFile, fresh: Mapping[int, MemoryNode], *, compares_groups: bool
) -> tuple[str, ...]:
    """Return the UIDs of as few pods as possible without which everything fits and a kubelet starts.

    Empty if none has to be removed or if that does not help.
    """
    misfits = {each.held.uid for each in replayed(saved, fresh).misfits}
    sizes = {
        uid: sum(each.size for blocks in containers.values() for each in blocks)
        for uid, containers in saved.entries.items()
    }
    # A pod that is reported is preferred, so that what is proposed is about what is reported.
    return fewest_pods(sizes, misfits, partial(_fits, saved, fresh, compares_groups=compares_groups))


def _fits(
    saved: MemoryStateFile, fresh: Mapping[int, MemoryNode], removed: frozenset[str], *, compares_groups: bool
) -> bool:
    """Return whether everything but what some pods hold fits, and a kubelet starts with the repaired file."""
    left = _without(saved, removed)
    again = replayed(left, fresh)
    if again.misfits:
        return False
    made = replace(left, machine_state=again.tables)
    return isinstance(restored(made, fresh, compares_groups=compares_groups), MemoryManagerState)


def _without(saved: MemoryStateFile, removed: Collection[str]) -> MemoryStateFile:
    return replace(
        saved,
        entries={uid: held for uid, held in saved.entries.items() if uid not in removed},
        pod_entries={uid: held for uid, held in saved.pod_entries.items() if uid not in removed},
    )


def misfit_findings(
    saved: MemoryStateFile,
    fresh: Mapping[int, MemoryNode],
    owners: Owners,
    severity: Severity,
    *,
    compares_groups: bool,
) -> Iterator[StateFinding]:
    """Report what does not fit, and propose to remove as few pods as possible."""
    running = replace(saved, entries=kept(saved.entries, owners))
    needed = replayed(running, fresh).misfits
    removed = pods_to_remove(running, fresh, compares_groups=compares_groups) if needed else ()
    fix = (_removal(removed, owners) or DRAIN) if needed else REPAIR_WITH_PODS
    for alike in _same_shortage(replayed(saved, fresh).misfits):
        uid, container, _ = alike[0].held
        if len(alike) == 1:
            message = _alone(alike[0], owners)
        else:
            message = f"{_together(alike, saved, owners)}{_enough(alike, removed, owners)}"
            uid, container = _common(alike)
        itself = needed and uid and removed in ((uid,), ())
        place = StatePlace(MEMORY_FILE, uid, container)
        yield StateFinding(severity, "memory-misfit", place, message, fix=REMOVE if itself else fix)


def _same_shortage(misfits: Iterable[UnplacedBlock]) -> Iterator[list[UnplacedBlock]]:
    """Group blocks for which the same memory is missing; each could fit if others were not there."""
    groups: dict[object, list[UnplacedBlock]] = {}
    for each in misfits:
        block = each.held.block
        key = (frozenset(block.numa_affinity), block.type) if each.missing else id(each)
        groups.setdefault(key, []).append(each)
    yield from groups.values()


def _common(alike: Sequence[UnplacedBlock]) -> tuple[str, str]:
    """Return the holder of blocks as far as they have one."""
    uids, names = ({each.held[part] for each in alike} for part in (0, 1))
    uid = alike[0].held.uid if len(uids) == 1 else ""
    return uid, alike[0].held.container if uid and len(names) == 1 else ""


def _alone(misfit: UnplacedBlock, owners: Owners) -> str:
    uid, container, block = misfit.held
    nodes = ", ".join(map(str, block.numa_affinity))
    what = f"{size_text(block.size)} of {block.type} of {owners.name(uid, container)} on NUMA node {nodes}"
    missing = f": {size_text(misfit.missing)} missing" if misfit.missing else ""
    return f"{what}: {misfit.why}{missing}"


def _together(alike: Sequence[UnplacedBlock], saved: MemoryStateFile, owners: Owners) -> str:
    """Name all that hold the memory: which of them the tables have no room for depends on the order."""
    kind, nodes = alike[0].held.block.type, {*alike[0].held.block.numa_affinity}
    there = [
        each
        for each in held_blocks(MemoryManagerState.of_file(saved))
        if each.block.type == kind and {*each.block.numa_affinity} == nodes
    ]
    there.sort(key=lambda each: -each.block.size)
    names = [f"{owners.name(each.uid, each.container)} {size_text(each.block.size)}" for each in there]
    excess = size_text(sum(each.missing for each in alike))
    return f"pods hold {excess} more {kind} on {named_nodes(nodes)} than there is for pods: {few(names)}"


def _removal(removed: Sequence[str], owners: Owners) -> str:
    """Propose to remove pods from their node, or those that do not fit if none are named.

    Empty for too many to name: draining the node is the only way then.
    """
    if len(removed) > _NAMED:
        return ""
    names = all_of([owners.name(uid) for uid in removed]) if removed else "the pods that do not fit"
    return f"remove {names} {FROM_NODE}, {REPAIR_ANEW}"


def _enough(misfits: Sequence[UnplacedBlock], removed: Sequence[str], owners: Owners) -> str:
    """Say which pods have to be removed if not all do."""
    if not 0 < len(removed) < len({each.held.uid for each in misfits}) or len(removed) > _NAMED:
        return ""
    return f"; removing {all_of([owners.name(uid) for uid in removed])} is enough"


def no_room(misfits: Sequence[UnplacedBlock], removed: Sequence[str], owners: Owners) -> tuple[str, str]:
    """Return why pods do not fit on a machine, and what to do."""
    shortages = [_shortage(alike, owners) for alike in _same_shortage(misfits)]
    shown = "; ".join(shortages[:_SHOWN])
    more = f" and {len(shortages) - _SHOWN} more" if len(shortages) > _SHOWN else ""
    is_enough = _enough(misfits, removed, owners)
    why = f"memory held by pods does not fit on this machine: {shown}{more}{is_enough}"
    return why, ", or ".join(filter(None, (DRAIN, _removal(removed, owners))))


def _shortage(alike: Sequence[UnplacedBlock], owners: Owners) -> str:
    uid, container, block = alike[0].held
    if len(alike) == 1:
        return f"{amounts((block,))} of {owners.name(uid, container)}: {alike[0].why}"
    missing = size_text(sum(each.missing for each in alike))
    return f"{missing} of {block.type} missing on {named_nodes(block.numa_affinity)}"


def amounts(blocks: Blocks) -> str:
    """Write blocks with their amounts and NUMA nodes."""
    return ", ".join(
        f"{byte_text(each.size)} of {each.type} on NUMA node {','.join(map(str, each.numa_affinity))}"
        for each in blocks
    )


def size_text(amount: int) -> str:
    """Write bytes exactly if that is short, otherwise rounded."""
    exact = str(Quantity.from_value(amount, Format.BINARY_SI))
    return exact if len(exact) <= _SHORT else byte_text(amount)
