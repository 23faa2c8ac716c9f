"""A repair of ``memory_manager_state``: memory stays where it is, and tables match the machine again."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from cpuctl.checkpoints.model import FROM_NODE, MemoryBlock, MemoryStateFile
from cpuctl.engine.memory.tables import Tables, fresh_tables
from cpuctl.engine.state_checks.memory_misfits import replayed
from cpuctl.engine.state_checks.owners import UNKNOWN_OWNERS, Owners
from cpuctl.engine.state_moves import NotRepaired
from cpuctl.engine.state_repair import (
    ActionKind,
    MemoryRules,
    RepairAction,
    Repaired,
    repair_memory_state,
)
from cpuctl.records import replace
from tests.support.memory import HUGE, PAGE, memory_machine
from tests.support.pods import app
from tests.support.state_files import GIB
from tests.support.verifying import pod

FRESH = fresh_tables(memory_machine([8 * GIB, 8 * GIB], [4, 4]), {0: {"memory": GIB}})
READ, PODS, NONE = (
    MemoryRules(fresh=FRESH),
    MemoryRules(fresh=FRESH, keeps_pods=True),
    MemoryRules(fresh=None),
)
RUNNING = Owners.of([pod("p", app(name="a")), pod("q", app(name="a"), app(name="b"))])
Held = dict[str, dict[str, tuple[MemoryBlock, ...]]]


def block(size: int, *nodes: int, resource: str = "memory") -> MemoryBlock:
    return MemoryBlock(numa_affinity=nodes, type=resource, size=size)


ENTRIES: Held = {
    "q": {"b": (block(GIB, 0),), "a": (block(3 * GIB, 1),)},
    "p": {"a": (block(2 * GIB, 0), block(PAGE, 1, resource=HUGE))},
}


def state(
    entries: Held, fresh: Tables = FRESH, pods: dict[str, tuple[MemoryBlock, ...]] | None = None
) -> MemoryStateFile:
    """Return the state in which these entries hold memory of that machine."""
    empty = MemoryStateFile(
        policy_name="Static", machine_state=fresh, entries=entries, pod_entries=pods or {}
    )
    return replace(empty, machine_state=replayed(empty, fresh).tables)


def removed(why: str, uid: str, name: str, before: str) -> RepairAction:
    return RepairAction(did=ActionKind.REMOVED, reason=why, pod_uid=uid, container=name, before=before)


def tables(why: str) -> RepairAction:
    return RepairAction(did=ActionKind.TABLES, reason=why)


def whole(why: str, uid: str, before: str) -> RepairAction:
    return RepairAction(did=ActionKind.POD, reason=why, pod_uid=uid, before=before)


def policy(before: str, after: str) -> RepairAction:
    return RepairAction(
        did=ActionKind.POLICY, reason=f"policy {after} is configured", before=before, after=after
    )


GOOD = state(ENTRIES)
MINE = "2Gi of memory on NUMA node 0, 2Mi of hugepages-2Mi on NUMA node 1"
GONE: Held = {"r": {"c": (block(GIB, 0, 1),), "b": (block(GIB, 1),)}}
OLD: Held = {"p": {**ENTRIES["p"], "old": (block(GIB, 0),)}}
SUMS = "the totals do not match the entries"
RECOMPUTED = "recomputed without the removed entries"
NOBODY_KEEPS = "policy None does not assign memory"
NOT_READ = "this kubelet does not read pod-level memory; containers keep theirs"
BUBBLES: dict[str, tuple[MemoryBlock, ...]] = {
    "q": (block(2 * GIB, 0), block(3 * GIB, 1)),
    "p": (block(2 * GIB, 0), block(PAGE, 1, resource=HUGE)),
}


@dataclass(frozen=True)
class Case:
    """A state, the repaired state, and the actions of the repair."""

    name: str
    state: MemoryStateFile
    after: MemoryStateFile
    actions: tuple[RepairAction, ...] = ()
    rules: MemoryRules = field(default=READ)
    owners: Owners = UNKNOWN_OWNERS


CASES = [
    Case("nothing to do", GOOD, GOOD),
    Case("nothing to do for running pods", GOOD, GOOD, owners=RUNNING),
    Case("nothing to do for a kubelet that reads pods", GOOD, GOOD, rules=PODS),
    Case(
        "the policy None",
        GOOD,
        MemoryStateFile(policy_name="None"),
        (
            policy("Static", "None"),
            removed(NOBODY_KEEPS, "p", "a", MINE),
            removed(NOBODY_KEEPS, "q", "a", "3Gi of memory on NUMA node 1"),
            removed(NOBODY_KEEPS, "q", "b", "1Gi of memory on NUMA node 0"),
        ),
        NONE,
    ),
    Case(
        "the policy None as before",
        replace(GOOD, policy_name="None"),
        replace(GOOD, policy_name="None"),
        rules=NONE,
    ),
    Case(
        "another policy before",
        MemoryStateFile(policy_name="None"),
        MemoryStateFile(policy_name="Static", machine_state=FRESH),
        (policy("None", "Static"),),
    ),
    Case(
        "another policy before, with entries",
        MemoryStateFile(policy_name="None", entries={"q": {"b": (block(GIB, 0),)}}),
        MemoryStateFile(policy_name="Static", machine_state=FRESH),
        (
            policy("None", "Static"),
            removed("policy None has no entries", "q", "b", "1Gi of memory on NUMA node 0"),
        ),
    ),
    Case(
        "gone owners",
        state({**ENTRIES, **GONE, **OLD}),
        GOOD,
        (
            removed("the pod has no such container", "p", "old", "1Gi of memory on NUMA node 0"),
            removed("the pod is not running", "r", "b", "1Gi of memory on NUMA node 1"),
            removed("the pod is not running", "r", "c", "1Gi of memory on NUMA node 0,1"),
            tables(SUMS),
        ),
        owners=RUNNING,
    ),
    Case(
        "gone owners that are in no sum",
        replace(GOOD, entries={**ENTRIES, "r": {"c": ()}}),
        GOOD,
        (removed("the pod is not running", "r", "c", ""),),
        owners=RUNNING,
    ),
    Case("wrong sums", replace(GOOD, machine_state=FRESH), GOOD, (tables(SUMS),)),
    Case("missing tables", replace(GOOD, machine_state={}), GOOD, (tables(SUMS),)),
    Case(
        "what a reboot changes",
        state(ENTRIES, fresh_tables(memory_machine([8 * GIB + PAGE, 8 * GIB], [4, 4]), {0: {"memory": GIB}})),
        GOOD,
        (tables("memory has changed only by an amount that is normal after a reboot"),),
    ),
    Case(
        "what has really changed",
        state(ENTRIES, fresh_tables(memory_machine([8 * GIB, 8 * GIB], [4, 8]), {0: {"memory": GIB}})),
        GOOD,
        (tables("the machine's memory or its reservations have changed"),),
    ),
    Case(
        "pod-level memory, not read, equal to what containers hold",
        replace(GOOD, pod_entries=BUBBLES),
        replace(GOOD, pod_entries=BUBBLES),
    ),
    Case(
        "pod-level memory is not read",
        state(ENTRIES, pods=BUBBLES),
        GOOD,
        (
            whole(NOT_READ, "p", MINE),
            whole(
                NOT_READ,
                "q",
                "2Gi of memory on NUMA node 0, 3Gi of memory on NUMA node 1",
            ),
            tables(RECOMPUTED),
        ),
    ),
    Case(
        "pod-level memory is read",
        state(ENTRIES, pods=BUBBLES),
        state(ENTRIES, pods=BUBBLES),
        rules=PODS,
    ),
    Case(
        "pod-level memory without containers",
        replace(GOOD, pod_entries={"s": (block(GIB, 1),), "r": (block(GIB, 0),)}),
        GOOD,
        (
            whole(
                "no container of the pod holds any of it: the kubelet never releases it",
                "r",
                "1Gi of memory on NUMA node 0",
            ),
            whole(
                "no container of the pod holds any of it: the kubelet never releases it",
                "s",
                "1Gi of memory on NUMA node 1",
            ),
        ),
        PODS,
    ),
    Case(
        "pod-level memory of gone containers",
        state({**ENTRIES, **GONE}, pods={"r": (block(2 * GIB, 1),), "p": BUBBLES["p"]}),
        state(ENTRIES, pods={"p": BUBBLES["p"]}),
        (
            removed("the pod is not running", "r", "b", "1Gi of memory on NUMA node 1"),
            removed("the pod is not running", "r", "c", "1Gi of memory on NUMA node 0,1"),
            whole(
                "no container of the pod holds any of it: the kubelet never releases it",
                "r",
                "2Gi of memory on NUMA node 1",
            ),
            tables(RECOMPUTED),
        ),
        PODS,
        RUNNING,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_done(case: Case) -> None:
    assert repair_memory_state(case.state, case.rules, case.owners) == Repaired(case.after, case.actions)


DRAIN = "drain the node and delete the file"


def remove(who: str) -> str:
    removed = f"remove {who} {FROM_NODE}, list its pods again"
    return f"{DRAIN}, or {removed}, then cpuctl checkpoint repair --pods FILE"


TOO_LITTLE = "9Gi of memory on NUMA node 1 of shop/p/a: not enough free"
NO_NODE = "the memory assignment uses the NUMA that does not exist"
NOWHERE = f"0 of memory on NUMA node 2 of shop/q/a: {NO_NODE}"


@pytest.mark.parametrize(
    ("entries", "text", "who"),
    [
        (
            {"p": {"a": (block(9 * GIB, 1), block(GIB, 2))}},
            f"{TOO_LITTLE}; 1Gi of memory on NUMA node 2 of shop/p/a: {NO_NODE}",
            "shop/p",
        ),
        ({"q": {"a": (block(0, 2),) * 3}}, "; ".join([NOWHERE] * 3), "shop/q"),
        ({"q": {"a": (block(0, 2),) * 5}}, "; ".join([NOWHERE] * 3) + " and 2 more", "shop/q"),
        (
            # Nothing is left for the third pod; without the second, the first and the third fit.
            {
                "p": {"a": (block(4 * GIB, 0),)},
                "q": {"a": (block(5 * GIB, 0),)},
                "r": {"a": (block(GIB, 0),)},
            },
            "3080Mi of memory missing on NUMA node 0; removing shop/q is enough",
            "shop/q",
        ),
        (
            {uid: {"a": (block(0, 2),)} for uid in "pqr"},
            "; ".join(NOWHERE.replace("/q/", f"/{uid}/") for uid in "pqr"),
            "shop/p, shop/q and shop/r",
        ),
    ],
    ids=[
        "two blocks",
        "as many as are listed",
        "more than are listed",
        "memory that several hold",
        "several pods",
    ],
)
def test_memory_that_does_not_fit_is_a_reason_not_to_repair(entries: Held, text: str, who: str) -> None:
    saved = MemoryStateFile(policy_name="Static", machine_state=FRESH, entries=entries)
    owners = Owners.of(pod(uid, app(name="a"), app(name="b")) for uid in "pqr")
    assert repair_memory_state(saved, READ, owners) == NotRepaired(
        f"memory held by pods does not fit on this machine: {text}", remove(who)
    )


@pytest.mark.parametrize(("count", "drains"), [(10, False), (11, True)])
def test_so_many_pods_that_they_are_not_all_named_are_drained(count: int, *, drains: bool) -> None:
    uids = [f"p{number:02}" for number in range(count)]
    entries: Held = {uid: {"a": (block(0, 2),)} for uid in uids}
    saved = MemoryStateFile(policy_name="Static", machine_state=FRESH, entries=entries)
    owners = Owners.of(pod(uid, app(name="a")) for uid in uids)
    result = repair_memory_state(saved, READ, owners)
    assert isinstance(result, NotRepaired)
    named = ", ".join(f"shop/{uid}" for uid in uids[:-1])
    assert result.advice == (DRAIN if drains else remove(f"{named} and shop/{uids[-1]}"))


def test_groups_that_depend_on_map_order_are_a_reason_not_to_repair() -> None:
    """Two containers make different groups of one node: which one stays depends on a map's order in Go."""
    crossed: Held = {"p": {"a": (block(GIB, 0),)}, "q": {"a": (block(GIB, 0, 1),)}}
    result = repair_memory_state(replace(GOOD, entries=crossed), READ, UNKNOWN_OWNERS)
    assert isinstance(result, NotRepaired)
    assert result.reason.startswith("in memory_manager_state a NUMA node belongs to several groups")
    assert result.advice == DRAIN


def test_a_group_that_the_kubelet_crashes_on_is_a_reason_not_to_repair() -> None:
    """One of two nodes has huge pages and the other has none: the kubelet follows a nil pointer in Go."""
    odd = {0: FRESH[0], 1: fresh_tables(memory_machine([8 * GIB, 8 * GIB]), {})[1]}
    result = repair_memory_state(
        state({"p": {"a": (block(9 * GIB, 0, 1),)}}, odd), MemoryRules(fresh=odd), UNKNOWN_OWNERS
    )
    assert result == NotRepaired(
        "the kubelet crashes in the Memory Manager, adding up hugepages-2Mi of a group of which NUMA node 1 "
        "has none: runtime error: invalid memory address or nil pointer dereference",
        DRAIN,
    )


def test_entries_on_a_machine_without_numa_nodes_are_a_reason_not_to_repair() -> None:
    stateless = MemoryStateFile(policy_name="Static", entries={"p": {"a": ()}})
    result = repair_memory_state(stateless, MemoryRules(fresh={}), UNKNOWN_OWNERS)
    why = "[memorymanager] machine state can not be empty when it has memory assignments"
    assert result == NotRepaired(why, DRAIN)
