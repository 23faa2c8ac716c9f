"""Memory that pods hold, charged again: what does not fit, and sums that do not match."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cpuctl.checkpoints.model import FROM_NODE, MemoryBlock, MemoryNode, MemoryStateFile
from cpuctl.diagnostics import Severity
from cpuctl.engine.memory.restart import restored
from cpuctl.engine.memory.state import MemoryManagerState
from cpuctl.engine.memory.tables import fresh_tables
from cpuctl.engine.state_checks.findings import StateFinding, StatePlace
from cpuctl.engine.state_checks.memory_findings import block_findings, memory_drift
from cpuctl.engine.state_checks.memory_misfits import replayed
from cpuctl.engine.state_checks.owners import UNKNOWN_OWNERS, Owners
from cpuctl.records import replace
from tests.support.memory import HUGE, PAGE, memory_machine
from tests.support.pods import app
from tests.support.state_files import GIB
from tests.support.verifying import pod

REPAIR = "cpuctl checkpoint repair"
FRESH = {
    0: fresh_tables(memory_machine([8 * GIB], [4]), {0: {"memory": GIB}})[0],
    1: fresh_tables(memory_machine([8 * GIB, 8 * GIB]), {})[1],
}
MINE = 7 * GIB - 4 * PAGE
"""Memory of NUMA node 0 for pods; on node 1 it is all memory."""


def block(size: int, *nodes: int, resource: str = "memory") -> MemoryBlock:
    return MemoryBlock(numa_affinity=nodes, type=resource, size=size)


def saved(
    *blocks: MemoryBlock, tables: Mapping[int, MemoryNode] | None = None, whole: tuple[MemoryBlock, ...] = ()
) -> MemoryStateFile:
    """Let one container hold these blocks; without *tables*, with those that result from the blocks."""
    entries = {"p": {"c": blocks}} if blocks else {}
    pods = {"p": whole} if whole else {}
    state = MemoryStateFile(
        policy_name="Static",
        machine_state=FRESH if tables is None else tables,
        entries=entries,
        pod_entries=pods,
    )
    return state if tables is not None else replace(state, machine_state=replayed(state, FRESH).tables)


def found(state: MemoryStateFile, fresh: Mapping[int, MemoryNode] = FRESH) -> list[StateFinding]:
    return [*block_findings(state, fresh, UNKNOWN_OWNERS)]


def misfit(message: str, container: str = "c") -> StateFinding:
    """A kubelet rejects memory that does not exist, but does not notice that it assigns too much."""
    return StateFinding(
        severity=Severity.WARNING if "not enough" in message else Severity.ERROR,
        code="memory-misfit",
        place=StatePlace("memory_manager_state", "p", container),
        message=message,
        fix=f"remove this pod {FROM_NODE}, list its pods again, then {REPAIR} --pods FILE",
    )


NO_NODE = "the memory assignment uses the NUMA that does not exist"
NO_RESOURCE = "the memory assignment uses memory resource that does not exist"


@pytest.mark.parametrize(
    ("blocks", "messages"),
    [
        ((block(MINE, 0), block(8 * GIB, 1), block(4 * PAGE, 0, resource=HUGE)), []),
        ((block(MINE + 8 * GIB, 0, 1),), []),
        (
            (block(MINE + 1, 0),),
            ["7Gi of memory of p/c on NUMA node 0: not enough free: 1 missing"],
        ),
        (
            (block(7 * GIB, 1), block(3 * GIB, 1)),
            ["3Gi of memory of p/c on NUMA node 1: not enough free: 2Gi missing"],
        ),
        (
            (block(6 * PAGE, 0, resource=HUGE),),
            [f"12Mi of {HUGE} of p/c on NUMA node 0: not enough free: 4Mi missing"],
        ),
        (
            (block(GIB, 2), block(GIB, 0, 2)),
            [
                f"1Gi of memory of p/c on NUMA node 2: {NO_NODE}",
                f"1Gi of memory of p/c on NUMA node 0, 2: {NO_NODE}",
            ],
        ),
        (
            (block(GIB, 1, resource="hugepages-1Gi"),),
            [f"1Gi of hugepages-1Gi of p/c on NUMA node 1: {NO_RESOURCE}"],
        ),
        (
            (block(0, 1, resource="hugepages-1Gi"),),
            [f"0 of hugepages-1Gi of p/c on NUMA node 1: {NO_RESOURCE}"],
        ),
    ],
    ids=[
        "all there is",
        "all there is together",
        "a byte too much",
        "too much together",
        "too many huge pages",
        "no such node",
        "no such huge pages",
        "zero of unknown huge pages",
    ],
)
def test_memory_that_does_not_fit(blocks: tuple[MemoryBlock, ...], messages: list[str]) -> None:
    assert found(saved(*blocks)) == [misfit(message) for message in messages]


def test_too_much_memory_on_a_machine_that_has_shrunk_is_rejected() -> None:
    smaller = {**FRESH, 1: fresh_tables(memory_machine([6 * GIB, 6 * GIB]), {})[1]}
    message = "7Gi of memory of p/c on NUMA node 1: not enough free: 1Gi missing"
    assert found(saved(block(7 * GIB, 1)), smaller) == [replace(misfit(message), severity=Severity.ERROR)]


def test_too_much_memory_of_a_group() -> None:
    """All nodes of a block count, and NUMA node 1 is already full."""
    (finding,) = found(saved(block(8 * GIB, 1), block(MINE + GIB, 0, 1)))
    assert finding.message == (
        f"{MINE + GIB >> 20}Mi of memory of p/c on NUMA node 0, 1: not enough free: 1Gi missing"
    )


def test_memory_that_several_pods_hold_is_missing_once() -> None:
    """The kubelet has no order among them: not every pod that comes too late has to be removed."""
    held = {"p": block(3 * GIB, 1), "q": block(6 * GIB, 1), "r": block(GIB, 1), "s": block(PAGE, 0)}
    entries = {uid: {"c": (each,)} for uid, each in held.items()}
    (finding,) = found(replace(saved(), entries=entries, machine_state=FRESH))
    held_by = "q/c 6Gi, p/c 3Gi, r/c 1Gi; removing q is enough"
    assert finding == StateFinding(
        severity=Severity.ERROR,
        code="memory-misfit",
        place=StatePlace("memory_manager_state"),
        message=f"pods hold 2Gi more memory on NUMA node 1 than there is for pods: {held_by}",
        fix=f"remove q {FROM_NODE}, list its pods again, then {REPAIR} --pods FILE",
    )


def test_memory_that_pods_hold_that_are_gone_is_only_to_be_released() -> None:
    entries = {uid: {"c": (block(6 * GIB, 1),)} for uid in ("p", "q", "r")}
    state = replace(saved(), entries=entries, machine_state=FRESH)
    (finding,) = block_findings(state, FRESH, Owners.of([pod("p", app(name="c"))]))
    assert finding.fix == f"{REPAIR} --pods FILE"


def test_only_pod_level_memory_counts_if_there_is_some() -> None:
    assert found(saved(block(GIB, 1), whole=(block(9 * GIB, 1),))) == [
        misfit("9Gi of memory of p on NUMA node 1: not enough free: 1Gi missing", "")
    ]


def sums(node: int, *wrong: tuple[str, str, str], detected: str = "", expected: str = "") -> StateFinding:
    """Report numbers with what the entries add up to; exact amounts only if they are not written as such."""
    listed = ", ".join(f"{what} {was} (entries: {should})" for what, was, should in wrong)
    return StateFinding(
        severity=Severity.ERROR,
        code="sums-differ",
        place=StatePlace("memory_manager_state"),
        message=f"the totals of NUMA node {node} do not match the entries: {listed}",
        expected=expected or ", ".join(f"{what} {should}" for what, _, should in wrong),
        detected=detected or ", ".join(f"{what} {was}" for what, was, _ in wrong),
        fix=REPAIR,
    )


def test_sums_that_do_not_match_the_entries() -> None:
    """Tables without allocations, and one container that holds memory of both nodes."""
    assert found(saved(block(MINE + GIB, 0, 1), tables=FRESH)) == [
        sums(
            0,
            ("assignments", "0", "1"),
            ("group", "0", "0,1"),
            ("memory reserved", "0", "7Gi"),
            ("memory free", "7Gi", "0"),
            detected=f"assignments 0, group 0, memory reserved 0, memory free {MINE}",
            expected=f"assignments 1, group 0,1, memory reserved {MINE}, memory free 0",
        ),
        sums(
            1,
            ("assignments", "0", "1"),
            ("group", "1", "0,1"),
            ("memory reserved", "0", "1Gi"),
            ("memory free", "8Gi", "7Gi"),
            detected=f"assignments 0, group 1, memory reserved 0, memory free {8 * GIB}",
            expected=f"assignments 1, group 0,1, memory reserved {GIB}, memory free {7 * GIB}",
        ),
    ]


def with_table(number: int, resource: str, **changes: int) -> MemoryStateFile:
    """Change numbers of a table in a file with a container that holds memory of both nodes."""
    state = saved(block(9 * GIB, 0, 1))
    node = state.machine_state[number]
    tables = {**node.memory_map, resource: replace(node.memory_map[resource], **changes)}
    return replace(state, machine_state={**state.machine_state, number: replace(node, memory_map=tables)})


def test_free_memory_is_compared_with_the_entries_not_with_a_wrong_sum() -> None:
    wrong = with_table(1, "memory", reserved=0)
    assert [each.message.partition(": ")[2] for each in found(wrong)] == [
        "memory reserved in its group 7Gi (entries: 9Gi)"
    ] * 2


def test_amounts_that_differ_less_than_their_rounding_are_written_in_bytes() -> None:
    (finding, _) = found(with_table(1, "memory", reserved=9 * GIB - MINE - 1))
    assert finding.message.endswith(f"memory reserved in its group {9 * GIB - 1} (entries: {9 * GIB})")


def test_a_group_that_names_a_node_twice_is_reported() -> None:
    state = saved(block(GIB, 1))
    twice = replace(state.machine_state[1], cells=(1, 1))
    reported = found(replace(state, machine_state={**state.machine_state, 1: twice}))
    assert reported[0] == sums(1, ("group", "1,1", "1"))


def test_free_and_reserved_memory_must_add_up() -> None:
    """How a group divides it is not checked."""
    assert found(with_table(0, HUGE, free=0)) == [free_pages(0)]


def free_pages(count: int) -> StateFinding:
    what, was, should = f"{HUGE} free in its group", count * PAGE, 4 * PAGE
    return sums(
        0,
        (what, f"{was >> 20}Mi" if was else "0", f"{should >> 20}Mi"),
        detected=f"{what} {was}",
        expected=f"{what} {should}",
    )


def for_pods(node: int, resource: str, was: int, should: int, written: str) -> StateFinding:
    return replace(
        sums(node),
        message=f"NUMA node {node}: the memory for pods does not match the unreserved memory: {resource} "
        f"{written}",
        detected=f"{resource} {was}",
        expected=f"{resource} {should}",
    )


MORE_PAGES = for_pods(0, HUGE, 5 * PAGE, 4 * PAGE, "10Mi (unreserved: 8Mi)")


@pytest.mark.parametrize(
    ("wrong", "reported"),
    [
        (
            with_table(0, HUGE, allocatable=5 * PAGE, free=5 * PAGE),
            [MORE_PAGES, free_pages(5)],
        ),
        (
            with_table(0, HUGE, allocatable=5 * PAGE),
            [MORE_PAGES],
        ),
        (
            with_table(1, "memory", allocatable=7 * GIB),
            [for_pods(1, "memory", 7 * GIB, 8 * GIB, "7Gi (unreserved: 8Gi)")],
        ),
        (with_table(0, HUGE, total=5 * PAGE), []),
        (with_table(1, "memory", system_reserved=PAGE), []),
    ],
    ids=["and it is free", "alone", "memory", "of more pages", "of another reservation"],
)
def test_memory_for_pods_that_is_not_the_unreserved_memory(
    wrong: MemoryStateFile, reported: list[StateFinding]
) -> None:
    """If total or reservation differ from the machine's, only that is reported, as a changed machine."""
    assert found(wrong) == reported
    assert not isinstance(restored(wrong, FRESH), MemoryManagerState), "no kubelet goes on from it"
    assert (memory_drift(wrong, FRESH) is None) == bool(reported)


@pytest.mark.parametrize(
    ("size", "pages", "reserved"),
    [(9 * GIB, 4, GIB), (8 * GIB, 6, GIB), (8 * GIB, 4, 2 * GIB)],
    ids=["more memory", "more huge pages", "more reserved"],
)
def test_tables_of_another_machine_are_sound(size: int, pages: int, reserved: int) -> None:
    """A changed machine is reported elsewhere; free memory has to match the file's own figures."""
    other = fresh_tables(memory_machine([size], [pages]), {0: {"memory": reserved}})
    empty = {**FRESH, 0: other[0]}
    state = saved(block(GIB, 0))
    given = replace(state, machine_state=dict(replayed(state, empty).tables))
    assert found(given) == []
    table = given.machine_state[0].memory_map["memory"]
    less = {**given.machine_state[0].memory_map, "memory": replace(table, free=table.free - PAGE)}
    wrong = {**given.machine_state, 0: replace(given.machine_state[0], memory_map=less)}
    was, should = (f"memory free {amount}" for amount in (table.free - PAGE, table.free))
    (finding,) = found(replace(given, machine_state=wrong))
    assert (finding.code, finding.detected, finding.expected) == ("sums-differ", was, should)


def test_sums_are_not_checked_if_numa_nodes_are_added_or_removed() -> None:
    wrong = saved(block(GIB, 0), tables={0: FRESH[0]})
    assert [each.code for each in found(wrong, {0: FRESH[0]})] == ["sums-differ"]
    assert found(wrong, FRESH) == []


def test_entries_without_tables() -> None:
    """Whether memory fits is not checked: there are no tables to compare with."""
    assert found(saved(block(9 * GIB, 0), tables={})) == [
        StateFinding(
            severity=Severity.ERROR,
            code="no-tables",
            place=StatePlace("memory_manager_state"),
            message="pods hold memory, but the tables it was allocated from are missing",
            fix=REPAIR,
        )
    ]
    assert found(saved(tables={})) == []


def test_a_group_that_divides_its_memory_differently_is_wrong_if_nodes_are_compared() -> None:
    """Kubernetes issue 113130: a removed pod frees memory on the first node of its group."""
    state = saved(block(MINE + GIB, 0, 1))
    moved = {
        number: replace(
            node,
            memory_map={
                **node.memory_map,
                "memory": replace(
                    node.memory_map["memory"],
                    reserved=node.memory_map["memory"].reserved + by,
                    free=node.memory_map["memory"].free - by,
                ),
            },
        )
        for (number, node), by in zip(state.machine_state.items(), (-5, 5), strict=True)
    }
    other = replace(state, machine_state=moved)
    assert found(other) == []
    findings = [*block_findings(other, FRESH, UNKNOWN_OWNERS, compares_groups=False)]
    assert [(each.code, each.severity, each.detected) for each in findings] == [
        ("divided-otherwise", Severity.ERROR, f"memory reserved {MINE - 5}"),
        ("divided-otherwise", Severity.ERROR, f"memory reserved {GIB + 5}"),
    ]
    assert findings[0].message.startswith(
        "the group of NUMA node 0 was not filled in order: "
        f"memory reserved {MINE - 5} (in order: {MINE}); the sums of the group match the entries"
    )
    assert [*block_findings(state, FRESH, UNKNOWN_OWNERS, compares_groups=False)] == []
