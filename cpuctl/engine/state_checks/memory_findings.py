"""What a kubelet with the static policy finds in a state of the Memory Manager at start, in numbers.

The kubelet only says that something differs (``validateState``, see ``cpuctl.engine.memory.restart``).

After every boot a machine's memory differs from what a state file says: the kernel's image is on another
NUMA node (KASLR), and what boot leaves free varies by some MiB (kubernetes issue 131253). KEP-6232 proposes
to tolerate the size of the image, some 50 MiB, plus 64 MiB. No release does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from operator import attrgetter
from typing import NamedTuple

from cpuctl.checkpoints.model import MemoryNode, MemoryStateFile, MemoryTable, named_nodes
from cpuctl.diagnostics import Severity
from cpuctl.engine.memory.restart import restored
from cpuctl.engine.memory.state import MemoryManagerState
from cpuctl.engine.memory.tables import MEMORY, page_bytes, pages_file, wrapped
from cpuctl.engine.state_checks.findings import REPAIR, StateFinding, StatePlace
from cpuctl.engine.state_checks.memory_misfits import misfit_findings, replayed, size_text
from cpuctl.engine.state_checks.owners import Owners
from cpuctl.phrases import byte_text
from cpuctl.records import Record, replace
from cpuctl.state_names import MEMORY_FILE

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

_reserved, _free, _allocatable = map(attrgetter, ("reserved", "free", "allocatable"))


def drift_findings(drift: MemoryDrift) -> Iterator[StateFinding]:
    """Report every difference between the file and the machine; all new NUMA nodes are one."""
    benign = drift.kind is DriftKind.BENIGN
    yield from _of_nodes([change for change, cause in drift.changes if cause is DriftCause.NODES])
    for change, cause in drift.changes:
        # What is for pods differs because of the huge pages, which are reported.
        if cause is not DriftCause.NODES and change.amount is not Amount.ALLOCATABLE:
            yield StateFinding(
                severity=Severity.ERROR,
                code="memory-drift" if benign else "memory-changed",
                place=StatePlace(MEMORY_FILE),
                message=_difference(change, cause)
                + ("; the current value can be adopted safely" if benign else "")
                + _missing_pages(change, cause),
                expected=_amount(change.after),
                detected=_amount(change.before),
                fix=REPAIR,
            )


def _missing_pages(change: DriftDifference, cause: DriftCause) -> str:
    """Propose to allocate huge pages again that the machine no longer has, for example after a reboot."""
    saved, now = change.before or 0, change.after
    # Without an amount, the machine does not have pages of this size at all.
    if cause is not DriftCause.HUGE_PAGES or now is None or saved <= now:
        return ""
    size = page_bytes(change.resource)
    file = pages_file(change.node, size >> 10)
    return f": allocate them again (echo {saved // size} | sudo tee {file}), or repair the file"


def _of_nodes(changes: Sequence[DriftDifference]) -> Iterator[StateFinding]:
    new = {change.node for change in changes if change.before is None}
    gone = {change.node for change in changes if change.before is not None}
    they = "they are" if len(new) > 1 else "it is"
    for nodes, what in ((new, f"new: {they} not in the file"), (gone, "gone")):
        if nodes:
            message = f"{named_nodes(nodes)} {'are' if len(nodes) > 1 else 'is'} {what}"
            yield StateFinding(Severity.ERROR, "memory-changed", StatePlace(MEMORY_FILE), message, fix=REPAIR)


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
        yield from misfit_findings(saved, fresh, owners, severity, compares_groups=compares_groups)
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


class _Mismatch(NamedTuple):
    """A number of a NUMA node in the file, and what it should be; amounts of memory are in bytes."""

    what: str
    was: int | str
    should: int | str


def _sums(found: Mapping[int, MemoryNode], expected: Mapping[int, MemoryNode]) -> Iterator[StateFinding]:
    sound = {number: _sound(node, expected[number]) for number, node in found.items()}
    for number, node in found.items():
        yield from _wrong_for_pods(number, node, sound[number])
        sides = (
            ("reserved", _in_group(found, node, _reserved), _in_group(expected, node, _reserved)),
            ("free", _in_group(found, node, _free), _left(sound, expected, node)),
        )
        wrong = [*_wrong_numbers(node, expected[number])]
        wrong += [each for field, was, should in sides for each in _unequal(field, node, was, should)]
        if wrong:
            yield _differing(f"the totals of NUMA node {number} do not match the entries", wrong, "entries")


def _wrong_numbers(node: MemoryNode, due: MemoryNode) -> Iterator[_Mismatch]:
    for what, was, should in (
        ("assignments", str(node.number_of_assignments), str(due.number_of_assignments)),
        ("group", _listed(node.cells), _listed(due.cells)),
    ):
        if was != should:
            yield _Mismatch(what, was, should)


def _listed(cells: Sequence[int]) -> str:
    return ",".join(map(str, sorted(cells)))


def _unequal(
    field: str, node: MemoryNode, was: Mapping[str, int], should: Mapping[str, int]
) -> Iterator[_Mismatch]:
    """Compare amounts by resource; those of a group are the sums of its NUMA nodes."""
    where = " in its group" if len(node.cells) > 1 else ""
    for name, amount in was.items():
        if amount != should[name]:
            yield _Mismatch(f"{name} {field}{where}", amount, should[name])


def _divided_otherwise(
    found: Mapping[int, MemoryNode], expected: Mapping[int, MemoryNode]
) -> Iterator[StateFinding]:
    """Report groups whose pods hold memory on other nodes than if the nodes had been filled in order."""
    for number, node in found.items():
        was, should = _alone(node), _alone(expected[number])
        wrong = [_Mismatch(f"{name} reserved", was[name], should.get(name, 0)) for name in was]
        if wrong := [each for each in wrong if each.was != each.should]:
            finding = _differing(
                f"the group of NUMA node {number} was not filled in order",
                wrong,
                "in order",
            )
            yield replace(
                finding,
                code="divided-otherwise",
                message=f"{finding.message}; the sums of the group match the entries, but this kubelet "
                "compares every node (from 1.32 on it compares groups, kubernetes issue 113130)",
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
    wrong = [
        _Mismatch(name, table.allocatable, sound.memory_map[name].allocatable)
        for name, table in sorted(node.memory_map.items())
        if table != sound.memory_map[name]
    ]
    if wrong:
        claim = f"NUMA node {number}: the memory for pods does not match the unreserved memory"
        yield _differing(claim, wrong, "unreserved")


def _differing(claim: str, wrong: Sequence[_Mismatch], due: str) -> StateFinding:
    """Report numbers in the file that contradict others in it, which are called *due*."""
    differences = []
    for what, *sides in wrong:
        was, should = _texts(*sides)
        differences.append(f"{what} {was} ({due}: {should})")
    return StateFinding(
        severity=Severity.ERROR,
        code="sums-differ",
        place=StatePlace(MEMORY_FILE),
        message=f"{claim}: {', '.join(differences)}",
        expected=", ".join(f"{each.what} {each.should}" for each in wrong),
        detected=", ".join(f"{each.what} {each.was}" for each in wrong),
        fix=REPAIR,
    )


def _texts(was: int | str, should: int | str) -> tuple[str, str]:
    """Write two amounts; in bytes if rounding would hide the difference."""
    sides = [byte_text(side) if isinstance(side, int) else side for side in (was, should)]
    return (str(was), str(should)) if sides[0] == sides[1] else (sides[0], sides[1])


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
    what = " reserved" if change.amount is Amount.RESERVED else ""
    if change.before is None or change.after is None:
        has, lists = ("has no", "lists") if change.after is None else ("has", "does not list")
        return f"{node} {has} {change.resource}, which the file {lists}: {_MEANINGS[cause]}"
    delta = change.after - change.before
    difference = f"{size_text(abs(delta))} {'more' if delta > 0 else 'less'} {change.resource}{what}"
    return f"{node} has {difference} than the file says: {_MEANINGS[cause]}"


def _amount(amount: int | None) -> str:
    return "" if amount is None else str(amount)
