"""Laws of findings on state files: a kubelet rejects a file exactly if something is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import assume, given
from hypothesis import strategies as st

from cpuctl.checkpoints.model import MemoryBlock, MemoryNode, MemoryStateFile
from cpuctl.diagnostics import Severity
from cpuctl.engine.memory.restart import restored
from cpuctl.engine.memory.state import MemoryManagerState
from cpuctl.engine.memory.tables import fresh_tables
from cpuctl.engine.outcome import Undetermined
from cpuctl.engine.state_checks.memory_findings import block_findings, drift_findings, memory_drift
from cpuctl.engine.state_checks.memory_misfits import replayed
from cpuctl.engine.state_checks.owners import UNKNOWN_OWNERS
from cpuctl.records import replace
from tests.support.memory import HUGE, PAGE, memory_machine

GIB = 1 << 30
MACHINE = fresh_tables(memory_machine([8 * GIB, 8 * GIB], [4, 4]), {0: {"memory": GIB}})
LARGER = fresh_tables(memory_machine([8 * GIB, 8 * GIB, 8 * GIB], [4, 4, 4]), {0: {"memory": GIB}})
BLOCKS = st.one_of(
    st.builds(
        MemoryBlock,
        numa_affinity=st.sampled_from([(0,), (1,), (0, 1), (1, 0)]),
        type=st.just("memory"),
        size=st.sampled_from([0, PAGE, GIB, 3 * GIB]),
    ),
    st.builds(
        MemoryBlock,
        numa_affinity=st.sampled_from([(0,), (1,), (0, 1)]),
        type=st.just(HUGE),
        size=st.sampled_from([0, PAGE, 3 * PAGE]),
    ),
)
HELD = st.dictionaries(
    st.sampled_from("pqr"),
    st.dictionaries(st.sampled_from("ab"), st.lists(BLOCKS, max_size=2).map(tuple), min_size=1),
    max_size=3,
)
NUMBERS = ("total", "system_reserved", "allocatable", "reserved", "free")


@st.composite
def states(draw: st.DrawFn) -> MemoryStateFile:
    """Draw a correct state, and then change some of its numbers."""
    held = draw(HELD)
    right = MemoryStateFile(policy_name="Static", machine_state=MACHINE, entries=held)
    tables = dict(replayed(right, MACHINE).tables)
    for _ in range(draw(st.integers(0, 2))):
        number = draw(st.sampled_from([0, 1]))
        tables[number] = draw(changed(tables[number]))
    return replace(right, machine_state=tables)


@st.composite
def changed(draw: st.DrawFn, node: MemoryNode) -> MemoryNode:
    what = draw(st.sampled_from(["counts", "cells", *NUMBERS]))
    if what == "counts":
        return replace(node, number_of_assignments=node.number_of_assignments + 1)
    if what == "cells":
        return replace(node, cells=draw(st.sampled_from([(0,), (1,), (0, 1), (1, 0)])))
    resource = draw(st.sampled_from(["memory", HUGE]))
    table = node.memory_map[resource]
    amount = getattr(table, what) + draw(st.sampled_from([PAGE, GIB]))
    return replace(node, memory_map={**node.memory_map, resource: replace(table, **{what: amount})})


@given(states(), st.sampled_from([MACHINE, LARGER]))
def test_a_kubelet_rejects_memory_exactly_if_something_is_found(
    state: MemoryStateFile, fresh: Mapping[int, MemoryNode]
) -> None:
    verdict = restored(state, fresh)
    assume(not isinstance(verdict, Undetermined))
    drift = memory_drift(state, fresh)
    found = [*(drift_findings(drift) if drift else ()), *block_findings(state, fresh, UNKNOWN_OWNERS)]
    accepted = all(finding.severity is not Severity.ERROR for finding in found)
    assert isinstance(verdict, MemoryManagerState) == accepted
    assert drift is None or all(change.before != change.after for change, _ in drift.changes)
