"""What a kubelet with the static policy finds in a state of the Memory Manager at start, in numbers.

The kubelet only says that something differs (``validateState``, see ``cpuctl.engine.memory.restart``).

After every boot a machine's memory differs from what a state file says: the kernel's image is on another
NUMA node (KASLR), and what boot leaves free varies by some MiB (kubernetes issue 131253). KEP-6232 proposes
to tolerate the size of the image, some 50 MiB, plus 64 MiB. No release does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from operator import attrgetter

from cpuctl.checkpoints.model import MemoryNode, MemoryStateFile, MemoryTable
from cpuctl.diagnostics import Severity
from cpuctl.engine.memory.restart import HeldBlock, held_blocks, replay, restored
from cpuctl.engine.memory.state import MemoryManagerState
from cpuctl.engine.memory.tables import MEMORY, Tables, free_in, wrapped
from cpuctl.engine.state_checks.findings import REMOVE, REPAIR, StateFinding, StatePlace
from cpuctl.engine.state_checks.owners import Owners
from cpuctl.phrases import byte_text
from cpuctl.quantity import Format, Quantity
from cpuctl.records import Record, replace
from cpuctl.state_names import MEMORY_FILE


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


MOST_DRIFT = 128 << 20
"""The most by which a reboot changes a NUMA node's memory, in bytes."""


class DriftKind(StrEnum):
    """What a difference means: normal after a reboot, or something was changed."""

    BENIGN = "benign"
    REAL = "real"


class DriftCause(StrEnum):
    """What has changed."""

    REBOOT = "reboot"
    MEMORY = "memory"
    NODES = "numaNodes"
    HUGE_PAGES = "hugePages"
    RESERVED = "reserved"


class Amount(StrEnum):
    """A number in the tables of a NUMA node that a kubelet compares; reports use this name."""

    TOTAL = "total"
    RESERVED = "systemReserved"
    ALLOCATABLE = "allocatable"
    ASSIGNMENTS = "assignments"


class DriftDifference(Record):
    """A number in the file and on the machine, in bytes; None on the side that does not have it.

    ``resource`` is empty if a whole NUMA node has appeared or disappeared.
    """

    node: int
    resource: str
    amount: Amount
    before: int | None
    after: int | None


class MemoryDrift(Record):
    """All differences in totals, reservations and what pods may have, each with its cause.

    ``misfit``: what pods hold no longer fits, however small the difference.
    """

    changes: tuple[tuple[DriftDifference, DriftCause], ...]
    misfit: bool

    @property
    def kind(self) -> DriftKind:
        """Whether a reboot explains all differences."""
        harmless = not self.misfit and all(cause is DriftCause.REBOOT for _, cause in self.changes)
        return DriftKind.BENIGN if harmless else DriftKind.REAL


def memory_drift(saved: MemoryStateFile, fresh: Mapping[int, MemoryNode]) -> MemoryDrift | None:
    """Compare a state's record of the machine with the machine; None if they are the same."""
    changes = tuple(_changes(saved.machine_state, fresh)) if saved.machine_state else ()
    return MemoryDrift(changes, bool(replayed(saved, fresh).misfits)) if changes else None


def _changes(
    old: Mapping[int, MemoryNode], new: Mapping[int, MemoryNode]
) -> Iterator[tuple[DriftDifference, DriftCause]]:
    for number in sorted({*old, *new}):
        before, after = old.get(number), new.get(number)
        if before is None or after is None:
            was, now = (each.number_of_assignments if each else None for each in (before, after))
            yield DriftDifference(number, "", Amount.ASSIGNMENTS, was, now), DriftCause.NODES
        else:
            yield from _of_node(number, before.memory_map, after.memory_map)


def _of_node(
    number: int, old: Mapping[str, MemoryTable], new: Mapping[str, MemoryTable]
) -> Iterator[tuple[DriftDifference, DriftCause]]:
    new_pages = hugepage_bytes(old) != hugepage_bytes(new)
    for resource in sorted({*old, *new}):
        before, after = old.get(resource), new.get(resource)
        # A resource that appears or disappears is one difference, not one for each number.
        was, now = (each.total if each else None for each in (before, after))
        if was != now:
            yield DriftDifference(number, resource, Amount.TOTAL, was, now), _cause(resource, was, now)
        if before and after and before.system_reserved != after.system_reserved:
            was, now = before.system_reserved, after.system_reserved
            yield DriftDifference(number, resource, Amount.RESERVED, was, now), DriftCause.RESERVED
        if resource == MEMORY and new_pages and before and after and _only_for_pods(before, after):
            # Huge pages are subtracted from the memory for pods; other changes of it follow from the total.
            was, now = before.allocatable, after.allocatable
            yield DriftDifference(number, resource, Amount.ALLOCATABLE, was, now), DriftCause.HUGE_PAGES


def _only_for_pods(before: MemoryTable, after: MemoryTable) -> bool:
    """Return whether only what is for pods differs."""
    sums = [(table.total, table.system_reserved) for table in (before, after)]
    return sums[0] == sums[1] and before.allocatable != after.allocatable


def hugepage_bytes(tables: Mapping[str, MemoryTable]) -> int:
    """Add up the huge pages of a NUMA node, of every size."""
    return sum(table.total for resource, table in tables.items() if resource != MEMORY)


def _cause(resource: str, was: int | None, now: int | None) -> DriftCause:
    if resource != MEMORY:
        return DriftCause.HUGE_PAGES
    drifted = was is not None and now is not None and abs(was - now) <= MOST_DRIFT
    return DriftCause.REBOOT if drifted else DriftCause.MEMORY


_MEANINGS = {
    DriftCause.REBOOT: "normal after a reboot",
    DriftCause.MEMORY: (
        "more than is normal after a reboot; memory was added or removed, or the kernel reserves a "
        "different amount"
    ),
    DriftCause.HUGE_PAGES: "the number of huge pages has changed",
    DriftCause.RESERVED: "reservedMemory has changed",
}

_SHORT = len("1023Mi")
_reserved, _free, _allocatable = map(attrgetter, ("reserved", "free", "allocatable"))


def drift_findings(drift: MemoryDrift) -> Iterator[StateFinding]:
    """Report every difference between the file and the machine."""
    benign = drift.kind is DriftKind.BENIGN
    for change, cause in drift.changes:
        yield StateFinding(
            severity=Severity.ERROR,
            code="memory-drift" if benign else "memory-changed",
            place=StatePlace(MEMORY_FILE),
            message=_difference(change, cause)
            + ("; the current value can be adopted safely" if benign else ""),
            expected="" if cause is DriftCause.NODES else _amount(change.after),
            detected="" if cause is DriftCause.NODES else _amount(change.before),
            fix=REPAIR,
        )


def block_findings(
    saved: MemoryStateFile, fresh: Mapping[int, MemoryNode], owners: Owners, *, compares_groups: bool = True
) -> Iterator[StateFinding]:
    """Report pods whose memory does not fit the machine, and totals that do not match the entries.

    *compares_groups* is False for a kubelet that compares each NUMA node with the machine separately.
    """
    if not saved.machine_state:
        if saved.entries:
            yield _no_tables()
        return  # The kubelet replaces it with fresh tables.
    again = replayed(saved, fresh)
    if again.misfits:
        # If entries hold more than exists, a kubelet is content if its tables say that everything is taken.
        taken = restored(saved, fresh, compares_groups=compares_groups)
        content = isinstance(taken, MemoryManagerState)
        severity = Severity.WARNING if content else Severity.ERROR
        yield from (_misfit(misfit, owners, severity) for misfit in again.misfits)
    elif saved.machine_state.keys() == again.tables.keys():
        off = list(_sums(saved.machine_state, again.tables))
        yield from off
        if not off and not compares_groups:
            yield from _divided_otherwise(saved.machine_state, again.tables)


def _no_tables() -> StateFinding:
    return StateFinding(
        severity=Severity.ERROR,
        code="no-tables",
        place=StatePlace(MEMORY_FILE),
        message="pods hold memory, but the tables it was allocated from are missing",
        fix=REPAIR,
    )


def _misfit(misfit: UnplacedBlock, owners: Owners, severity: Severity) -> StateFinding:
    uid, container, block = misfit.held
    nodes = ", ".join(map(str, block.numa_affinity))
    missing = f": {_size(misfit.missing)} missing" if misfit.missing else ""
    return StateFinding(
        severity=severity,
        code="memory-misfit",
        place=StatePlace(MEMORY_FILE, uid, container),
        message=f"{_size(block.size)} of {block.type} of {owners.name(uid, container)} on NUMA node {nodes}: "
        f"{misfit.why}{missing}",
        fix=REMOVE,
    )


def _sums(found: Mapping[int, MemoryNode], expected: Mapping[int, MemoryNode]) -> Iterator[StateFinding]:
    sound = {number: _sound(node, expected[number]) for number, node in found.items()}
    for number, node in found.items():
        due = expected[number]
        yield from _wrong_for_pods(number, node, sound[number])
        for what, was, should in (
            ("counts", node.number_of_assignments, due.number_of_assignments),
            ("is in a group with NUMA nodes", sorted(node.cells), sorted(due.cells)),
            ("has reserved", _in_group(found, node, _reserved), _in_group(expected, node, _reserved)),
            ("has free", _in_group(found, node, _free), _left(sound, expected, node)),
        ):
            if was != should:
                yield _differing(number, what, was, "the entries of the file add up to", should)


def _divided_otherwise(
    found: Mapping[int, MemoryNode], expected: Mapping[int, MemoryNode]
) -> Iterator[StateFinding]:
    """Report groups whose pods hold memory on other nodes than if the nodes had been filled in order."""
    for number, node in found.items():
        was, should = _alone(node), _alone(expected[number])
        if was != should:
            yield StateFinding(
                severity=Severity.ERROR,
                code="divided-otherwise",
                place=StatePlace(MEMORY_FILE),
                message=f"NUMA node {number} has reserved {_text(was)}, but the entries of the file add up "
                f"to {_text(should)} when nodes are filled in order: the sums of its group are right, but "
                "this kubelet compares every node (from 1.32 on it compares groups, kubernetes issue "
                "113130)",
                expected=_text(should),
                detected=_text(was),
                fix=REPAIR,
            )


def _alone(node: MemoryNode) -> dict[str, int]:
    return {name: table.reserved for name, table in sorted(node.memory_map.items())}


def _sound(node: MemoryNode, due: MemoryNode) -> MemoryNode:
    """Take what is for pods from the machine, unless the file is from another: that is reported elsewhere."""
    return replace(
        node,
        memory_map={
            name: replace(table, allocatable=due.memory_map[name].allocatable)
            if name in due.memory_map and _basis(node, name) == _basis(due, name)
            else table
            for name, table in node.memory_map.items()
        },
    )


def _basis(node: MemoryNode, resource: str) -> tuple[int, ...]:
    """Return what decides how much is for pods: total, reservation and, for memory, the huge pages."""
    table = node.memory_map[resource]
    basis = table.total, table.system_reserved
    return (*basis, hugepage_bytes(node.memory_map)) if resource == MEMORY else basis


def _wrong_for_pods(number: int, node: MemoryNode, sound: MemoryNode) -> Iterator[StateFinding]:
    """Report figures in the file that contradict each other: no machine has tables like that."""
    wrong = [name for name in sorted(node.memory_map) if node.memory_map[name] != sound.memory_map[name]]
    if wrong:
        was, should = ({name: each.memory_map[name].allocatable for name in wrong} for each in (node, sound))
        yield _differing(number, "has for pods", was, "the unreserved memory is", should)


def _differing(number: int, what: str, was: object, due: str, should: object) -> StateFinding:
    return StateFinding(
        severity=Severity.ERROR,
        code="sums-differ",
        place=StatePlace(MEMORY_FILE),
        message=f"NUMA node {number} {what} {_text(was)}, but {due} {_text(should)}",
        expected=_text(should),
        detected=_text(was),
        fix=REPAIR,
    )


def _text(amount: object) -> str:
    """Format a number, a list of nodes, or bytes by resource."""
    if isinstance(amount, list):
        return ",".join(map(str, amount))
    if isinstance(amount, dict):
        return ", ".join(f"{name} {size}" for name, size in amount.items())
    return str(amount)


def _in_group(
    tables: Mapping[int, MemoryNode], node: MemoryNode, amount: Callable[[MemoryTable], int]
) -> dict[str, int]:
    """Add up an amount in a node's group, by resource: only the sums have to agree."""
    members = [tables[cell].memory_map for cell in node.cells if cell in tables]
    return {
        name: wrapped(sum(amount(each[name]) for each in members if name in each))
        for name in sorted(node.memory_map)
    }


def _left(
    found: Mapping[int, MemoryNode], expected: Mapping[int, MemoryNode], node: MemoryNode
) -> dict[str, int]:
    """Subtract the sum of the entries from what is for pods."""
    taken = _in_group(expected, node, _reserved)
    for_pods = _in_group(found, node, _allocatable)
    return {name: wrapped(amount - taken[name]) for name, amount in for_pods.items()}


def _difference(change: DriftDifference, cause: DriftCause) -> str:
    node = f"NUMA node {change.node}"
    if cause is DriftCause.NODES:
        return f"{node} is new: it is not in the file" if change.before is None else f"{node} is gone"
    what = {Amount.RESERVED: " reserved", Amount.ALLOCATABLE: " for pods"}.get(change.amount, "")
    if change.before is None or change.after is None:
        has, lists = ("has no", "lists") if change.after is None else ("has", "does not list")
        return f"{node} {has} {change.resource}, which the file {lists}: {_MEANINGS[cause]}"
    delta = change.after - change.before
    difference = f"{_size(abs(delta))} {'more' if delta > 0 else 'less'} {change.resource}{what}"
    return f"{node} has {difference} than the file says: {_MEANINGS[cause]}"


def _amount(amount: int | None) -> str:
    return "" if amount is None else str(amount)


def _size(amount: int) -> str:
    """Write bytes exactly if that is short, otherwise rounded."""
    exact = str(Quantity.from_value(amount, Format.BINARY_SI))
    return exact if len(exact) <= _SHORT else byte_text(amount)
