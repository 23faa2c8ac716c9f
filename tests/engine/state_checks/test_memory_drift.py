"""How the memory of a machine differs from a file's: what that means, and how it is reported."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cpuctl.checkpoints.model import MemoryBlock, MemoryStateFile
from cpuctl.diagnostics import Severity
from cpuctl.engine.memory.tables import Tables, fresh_tables
from cpuctl.engine.state_checks.findings import StateFinding, StatePlace
from cpuctl.engine.state_checks.memory_findings import (
    Amount,
    DriftCause,
    DriftDifference,
    DriftKind,
    MemoryDrift,
    drift_findings,
    memory_drift,
)
from cpuctl.records import replace
from tests.support.memory import HUGE, PAGE, memory_machine
from tests.support.state_files import GIB

MIB = 1 << 20


def tables(
    *sizes: int, pages: tuple[int, ...] = (), reserved: Mapping[int, Mapping[str, int]] | None = None
) -> Tables:
    """Return a kubelet's tables for NUMA nodes with that much memory, none of it allocated yet."""
    return fresh_tables(memory_machine(sizes, pages), reserved or {})


def drift(was: Tables, now: Tables, *held: MemoryBlock) -> MemoryDrift | None:
    entries = {"p": {"c": held}} if held else {}
    return memory_drift(MemoryStateFile(policy_name="Static", machine_state=was, entries=entries), now)


def reported(message: str, detected: int | str = "", expected: int | str = "") -> StateFinding:
    return StateFinding(
        severity=Severity.ERROR,
        code="memory-changed",
        place=StatePlace("memory_manager_state"),
        message=message,
        expected=str(expected),
        detected=str(detected),
        fix="cpuctl checkpoint repair",
    )


def benign(amount: str, detected: int) -> StateFinding:
    message = f"NUMA node 1 has {amount} memory than the file says: normal after a reboot"
    return replace(
        reported(f"{message}; the current value can be adopted safely", detected, 8 * GIB),
        code="memory-drift",
    )


PLAIN = tables(8 * GIB, 8 * GIB)
LARGE = (
    "more than is normal after a reboot; memory was added or removed, or the kernel reserves a different "
    "amount"
)
PAGES = "the number of huge pages has changed"
AGAIN = (
    f"{PAGES}: allocate them again (echo 4 | sudo tee "
    "/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages), or repair the file"
)
FEWER, MORE = tables(8 * GIB, 8 * GIB, pages=(0, 4)), tables(8 * GIB, 8 * GIB, pages=(0, 6))
CASES = {
    "a reboot takes memory": (tables(8 * GIB, 8 * GIB + MIB), PLAIN, [benign("1Mi less", 8 * GIB + MIB)]),
    "a reboot brings memory": (tables(8 * GIB, 8 * GIB - MIB), PLAIN, [benign("1Mi more", 8 * GIB - MIB)]),
    "a byte more": (tables(8 * GIB, 8 * GIB - 1), PLAIN, [benign("1 more", 8 * GIB - 1)]),
    "the most that a reboot does": (
        tables(8 * GIB, 8 * GIB - 128 * MIB),
        PLAIN,
        [benign("128Mi more", 8 * GIB - 128 * MIB)],
    ),
    "more than a reboot does": (
        tables(8 * GIB, 8 * GIB - 129 * MIB),
        PLAIN,
        [
            reported(
                f"NUMA node 1 has 129Mi more memory than the file says: {LARGE}", 8 * GIB - 129 * MIB, 8 * GIB
            )
        ],
    ),
    "a page more than a reboot does": (
        tables(8 * GIB, 8 * GIB + 128 * MIB + 4096),
        PLAIN,
        [
            reported(
                f"NUMA node 1 has 128Mi less memory than the file says: {LARGE}",
                8 * GIB + 128 * MIB + 4096,
                8 * GIB,
            )
        ],
    ),
    "one thing that no reboot does makes all of it a change": (
        tables(8 * GIB + MIB, 8 * GIB + GIB),
        PLAIN,
        [
            reported(
                "NUMA node 0 has 1Mi less memory than the file says: normal after a reboot",
                8 * GIB + MIB,
                8 * GIB,
            ),
            reported(f"NUMA node 1 has 1Gi less memory than the file says: {LARGE}", 9 * GIB, 8 * GIB),
        ],
    ),
    "NUMA nodes that are new": (
        {0: PLAIN[0]},
        PLAIN,
        [reported("NUMA node 1 is new: it is not in the file")],
    ),
    "NUMA nodes that are gone": (PLAIN, {1: PLAIN[1]}, [reported("NUMA node 0 is gone")]),
    "a machine with other NUMA nodes": (
        dict.fromkeys((0, 5, 6), PLAIN[0]),
        dict.fromkeys((1, 2, 3, 6), PLAIN[0]),
        [
            reported("NUMA nodes 1-3 are new: they are not in the file"),
            reported("NUMA nodes 0,5 are gone"),
        ],
    ),
    "huge pages where there were none": (
        PLAIN,
        FEWER,
        [
            reported(f"NUMA node 0 has {HUGE}, which the file does not list: {PAGES}", "", 0),
            reported(f"NUMA node 1 has {HUGE}, which the file does not list: {PAGES}", "", 4 * PAGE),
        ],
    ),
    "huge pages are gone": (
        tables(8 * GIB, pages=(4,)),
        tables(8 * GIB),
        [
            reported(f"NUMA node 0 has no {HUGE}, which the file lists: {PAGES}", 4 * PAGE),
        ],
    ),
    "another number of huge pages": (
        FEWER,
        MORE,
        [
            reported(f"NUMA node 1 has 4Mi more {HUGE} than the file says: {PAGES}", 4 * PAGE, 6 * PAGE),
        ],
    ),
    "more is reserved": (
        PLAIN,
        tables(8 * GIB, 8 * GIB, reserved={1: {"memory": GIB}}),
        [
            reported(
                "NUMA node 1 has 1Gi more memory reserved than the file says: reservedMemory has changed",
                0,
                GIB,
            )
        ],
    ),
    "huge pages are reserved": (
        FEWER,
        tables(8 * GIB, 8 * GIB, pages=(0, 4), reserved={1: {HUGE: PAGE}}),
        [
            reported(
                f"NUMA node 1 has 2Mi more {HUGE} reserved than the file says: reservedMemory has changed",
                0,
                PAGE,
            )
        ],
    ),
    "memory and what is reserved of it": (
        tables(8 * GIB, reserved={0: {"memory": 2 * GIB}}),
        tables(9 * GIB, reserved={0: {"memory": GIB}}),
        [
            reported(f"NUMA node 0 has 1Gi more memory than the file says: {LARGE}", 8 * GIB, 9 * GIB),
            reported(
                "NUMA node 0 has 1Gi less memory reserved than the file says: reservedMemory has changed",
                2 * GIB,
                GIB,
            ),
        ],
    ),
    "fewer huge pages than are reserved": (
        tables(8 * GIB, pages=(4,), reserved={0: {HUGE: 2 * PAGE}}),
        tables(8 * GIB, pages=(1,), reserved={0: {HUGE: 2 * PAGE}}),
        [
            reported(f"NUMA node 0 has 6Mi less {HUGE} than the file says: {AGAIN}", 4 * PAGE, PAGE),
        ],
    ),
    "huge pages in place of a reservation": (
        tables(8 * GIB, reserved={0: {"memory": 4 * PAGE}}),
        tables(8 * GIB, pages=(4,)),
        [
            reported(f"NUMA node 0 has {HUGE}, which the file does not list: {PAGES}", "", 4 * PAGE),
            reported(
                "NUMA node 0 has 8Mi less memory reserved than the file says: reservedMemory has changed",
                4 * PAGE,
                0,
            ),
        ],
    ),
    "memory and huge pages": (
        tables(8 * GIB - 4096),
        tables(9 * GIB, pages=(4,)),
        [
            reported(f"NUMA node 0 has {HUGE}, which the file does not list: {PAGES}", "", 4 * PAGE),
            reported(f"NUMA node 0 has 1Gi more memory than the file says: {LARGE}", 8 * GIB - 4096, 9 * GIB),
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_differences_and_their_causes(name: str) -> None:
    was, now, findings = CASES[name]
    found = drift(was, now)
    assert found is not None
    assert [*drift_findings(found)] == findings
    assert (found.kind is DriftKind.BENIGN) == (findings[0].code == "memory-drift")


def test_the_same_memory_is_not_drift() -> None:
    assert drift(PLAIN, PLAIN) is None
    assert drift({}, PLAIN) is None


def test_changes_name_node_and_number() -> None:
    found = drift(tables(8 * GIB), tables(9 * GIB, 8 * GIB))
    assert found is not None
    assert found.changes == (
        (DriftDifference(0, "memory", Amount.TOTAL, 8 * GIB, 9 * GIB), DriftCause.MEMORY),
        (DriftDifference(1, "", Amount.ASSIGNMENTS, None, 0), DriftCause.NODES),
    )


def test_drift_is_not_benign_if_pods_no_longer_fit() -> None:
    """The node was full to the last byte."""
    held = MemoryBlock(numa_affinity=(0,), type="memory", size=8 * GIB)
    full = drift(tables(8 * GIB + MIB), tables(8 * GIB), replace(held, size=8 * GIB + MIB))
    fits = drift(tables(8 * GIB + MIB), tables(8 * GIB), held)
    assert full is not None
    assert fits is not None
    assert (full.misfit, full.kind) == (True, DriftKind.REAL)
    assert (fits.misfit, fits.kind) == (False, DriftKind.BENIGN)
