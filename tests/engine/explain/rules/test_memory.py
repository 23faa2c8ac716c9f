"""Why a policy accepts no hint of the Memory Manager, and why the manager cannot allocate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from cpuctl.engine.explain.decision import Rule
from cpuctl.engine.explain.memory_rules import HintNodes, blocked_allocation, blocked_by_memory
from cpuctl.engine.masks import NodeMask
from cpuctl.engine.memory.hints import MemoryHints
from cpuctl.engine.memory.manager import AllocationFailure
from cpuctl.engine.memory.tables import Tables, charge, fresh_tables
from cpuctl.engine.node import Node
from tests.engine.explain.scenarios import (
    FOUR_NODES,
    GIB,
    memory_config,
    named,
    reported,
    scenario,
    whole,
    with_memory,
)

PAGES = "hugepages-1Gi"
INFO = with_memory(FOUR_NODES, 12, pages={1 << 20: 2})  # pods get 10Gi, and 2Gi of huge pages, on each node

Used = tuple[tuple[tuple[int, ...], int], ...]
"""Groups of nodes, and how many Gi are taken from the first of each."""


def tables(used: Used) -> Tables:
    made = fresh_tables(INFO, {})
    for nodes, gib in used:
        charge(made, nodes, "memory", gib * GIB)
    return made


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    gib: Mapping[str, int]
    used: Used
    rule: Rule
    why: str
    policy: str = "single-numa-node"
    failure: AllocationFailure = AllocationFailure.NO_DEFAULT
    hint: HintNodes | None = None

    @property
    def request(self) -> dict[str, int]:
        return {name: amount * GIB for name, amount in self.gib.items()}


ALONE = "single-numa-node accepts only hints of one NUMA node"
HINTS = [
    Case(
        "more than a node can have",
        {"memory": 12},
        (),
        Rule.LARGER_THAN_A_NODE,
        f"{ALONE}, but the request (12Gi of memory) needs at least 2, even if they are empty",
    ),
    Case(
        "nodes in groups",
        {"memory": 4, PAGES: 1},
        (((0, 1), 2), ((2, 3), 2)),
        Rule.GROUP_RULE,
        f"{ALONE}, but the nodes with 4Gi of memory and 1Gi of hugepages-1Gi are in groups: "
        "nodes 0-1 together, nodes 2-3 together",
    ),
    Case(
        "free on no node",
        {"memory": 6},
        (((0,), 5), ((1,), 6), ((2,), 7), ((3,), 8)),
        Rule.NO_SINGLE_NODE,
        f"{ALONE}, but none has 6Gi of memory free: 5Gi of memory on "
        "node 0, 4Gi of memory on node 1, 3Gi of memory on node 2, 2Gi of memory on node 3",
    ),
    Case(
        "one node would be enough if it were empty",
        {"memory": 6},
        (((0,), 5), ((1,), 5), ((2,), 5), ((3,), 5)),
        Rule.WIDTH_FROM_CAPACITY,
        "6Gi of memory fit into 1 NUMA node when empty, so only sets of that size are "
        "preferred, and none has that now: 5Gi of memory on node 0, 5Gi of memory on node 1, 5Gi of "
        "memory on node 2, 5Gi of memory on node 3",
        "restricted",
    ),
    Case(
        "two nodes would be enough if they were not in groups",
        {"memory": 15},
        (((0,), 1), ((1,), 1), ((2,), 1), ((3,), 1)),
        Rule.GROUP_RULE,
        "15Gi of memory fit into 2 NUMA nodes when empty, so only sets of that size are preferred; enough "
        "is free, but on nodes that are used individually or in other groups: node 0 alone, "
        "node 1 alone, node 2 alone, node 3 alone",
        "restricted",
    ),
]


def seen(policy: str, state: Tables) -> Node:
    config: dict[str, Any] = {"topology_manager_policy": policy, **memory_config(4)}
    node = reported(scenario(INFO, named("b", whole(1)), **config)).before
    node.memory.state.tables = state
    return node


@pytest.mark.parametrize("case", HINTS, ids=lambda case: case.name)
@pytest.mark.parametrize("for_container", [True, False])
def test_why_no_hint_is_accepted(case: Case, for_container: bool) -> None:
    state = tables(case.used)
    more = f"{PAGES}={case.gib[PAGES]}Gi" if PAGES in case.gib else ""
    pod = named("a", whole(1, memory=f"{case.gib['memory']}Gi", more=more))
    hints = MemoryHints.generate(state, case.request, {})
    container = pod.containers[0] if for_container else None
    assert blocked_by_memory(hints, container, pod, seen(case.policy, state)) == (case.rule, case.why)


def test_a_container_is_explained_by_its_own_request() -> None:
    pod = named("a", whole(1, "one", "2Gi"), whole(1, "two", "12Gi"))
    state = tables(())
    hints = MemoryHints.generate(state, {"memory": 12 * GIB}, {})
    of_two, of_all = (
        blocked_by_memory(hints, each, pod, seen("single-numa-node", state))[1]
        for each in (pod.containers[1], None)
    )
    assert "but the request (12Gi of memory) needs at least 2" in of_two
    assert "but the request (14Gi of memory) needs at least 2" in of_all


def test_an_amount_that_is_not_a_whole_number_is_not_reported() -> None:
    state = tables(())
    pod = named("a", whole(1, memory="1.5Gi"), static=True)
    hints = MemoryHints.generate(state, {"memory": 12 * GIB}, {})
    assert blocked_by_memory(hints, None, pod, seen("single-numa-node", state))[0] is Rule.LARGER_THAN_A_NODE


TOGETHER = (
    "10Gi of memory are requested, and all NUMA nodes together have 37Gi free, but they cannot be combined, "
    "as nodes in use stay in their groups: node 0 alone, node 1 alone, nodes 2-3 together"
)
IN_USE: Used = (((0,), 1), ((1,), 1), ((2, 3), 1))
FAILURES = [
    Case(
        "a hint with nodes of other groups",
        {"memory": 4},
        (((0,), 1), ((2, 3), 1)),
        Rule.GROUP_RULE,
        "the hint NUMA nodes 0-1 has nodes that are used individually or in other groups: node 0 alone, "
        "nodes 2-3 together",
        failure=AllocationFailure.VIOLATES_GROUPS,
        hint=HintNodes(NodeMask(0b11)),
    ),
    Case(
        "no hint, but nodes of other groups",
        {"memory": 4},
        (((0,), 1),),
        Rule.GROUP_RULE,
        "the hint has nodes that are used individually or in other groups: node 0 alone",
        failure=AllocationFailure.VIOLATES_GROUPS,
    ),
    Case(
        "not a whole number",
        {"memory": 4},
        (),
        Rule.QUANTITY_FORM,
        "a request of memory or huge pages is not written as a whole number of bytes, Ki, Mi or Gi",
        failure=AllocationFailure.NOT_EXACT,
    ),
    Case(
        "the fewest nodes that would suffice do not have enough",
        {"memory": 15},
        (((0,), 6), ((1,), 6), ((2,), 6), ((3,), 6)),
        Rule.WIDTH_FROM_CAPACITY,
        "15Gi of memory fit into 2 NUMA nodes when empty, so only sets of that size are preferred, and "
        "none has that now: 4Gi of memory on node 0, 4Gi of memory on node 1, 4Gi of memory on node "
        "2, 4Gi of memory on node 3",
        failure=AllocationFailure.DEFAULT_NOT_PREFERRED,
    ),
    Case(
        "no set with the nodes of the hint has enough",
        {"memory": 40},
        (((0,), 1),),
        Rule.WIDTH_FROM_CAPACITY,
        "NUMA node 0, which the hint names, has 9Gi of memory free; the kubelet only adds nodes to those of "
        "the hint, but 40Gi of memory fit into 4 NUMA nodes when empty, so only sets of that size are "
        "preferred, and none with the hint's nodes has that now: 9Gi of memory on node 0, 10Gi of memory on "
        "node 1, 10Gi of memory on node 2, 10Gi of memory on node 3",
        failure=AllocationFailure.EXTENSION_NOT_PREFERRED,
        hint=HintNodes(NodeMask(1)),
    ),
    Case(
        "the nodes of the hint are more than preferred, and init containers took memory there",
        {"memory": 7},
        (((0, 1), 14),),
        Rule.WIDTH_FROM_CAPACITY,
        "NUMA nodes 0-1, which the hint names, have 0 of memory on node 0, 6Gi of memory on node 1 free, not "
        "counting the 2Gi of memory that its init containers used there; the kubelet only adds nodes to "
        "those of the hint, but 7Gi of memory fit into 1 NUMA node when empty, so only sets of that size are "
        "preferred, and none of the larger ones",
        failure=AllocationFailure.EXTENSION_NOT_PREFERRED,
        hint=HintNodes(NodeMask(0b11), {"memory": 2 * GIB, PAGES: GIB}),
    ),
    Case(
        "the nodes of the hint could be joined by others that are in groups",
        {"memory": 15},
        (((1,), 1), ((2, 3), 2)),
        Rule.GROUP_RULE,
        "NUMA node 0, which the hint names, has 10Gi of memory free; the kubelet only adds nodes to those of "
        "the hint, but 15Gi of memory fit into 2 NUMA nodes when empty, so only sets of that size are "
        "preferred; with the hint's nodes, enough is free, but on nodes that are used individually or in "
        "other groups: node 1 alone, nodes 2-3 together",
        failure=AllocationFailure.EXTENSION_NOT_PREFERRED,
        hint=HintNodes(NodeMask(1)),
    ),
    Case(
        "without the nodes of a hint, any preferred set counts",
        {"memory": 15},
        (((0,), 6), ((1,), 6), ((2,), 6), ((3,), 6)),
        Rule.WIDTH_FROM_CAPACITY,
        "15Gi of memory fit into 2 NUMA nodes when empty, so only sets of that size are preferred, and "
        "none has that now: 4Gi of memory on node 0, 4Gi of memory on node 1, 4Gi of memory on node "
        "2, 4Gi of memory on node 3",
        failure=AllocationFailure.EXTENSION_NOT_PREFERRED,
    ),
    Case(
        "enough elsewhere, but not with the nodes of the hint",
        {"memory": 15},
        (((0,), 6), ((1,), 6)),
        Rule.WIDTH_FROM_CAPACITY,
        "NUMA node 0, which the hint names, has 4Gi of memory free; the kubelet only adds nodes to those of "
        "the hint, but 15Gi of memory fit into 2 NUMA nodes when empty, so only sets of that size are "
        "preferred, and none with the hint's nodes has that now: 4Gi of memory on node 0, 4Gi of memory on "
        "node 1, 10Gi of memory on node 2, 10Gi of memory on node 3",
        failure=AllocationFailure.EXTENSION_NOT_PREFERRED,
        hint=HintNodes(NodeMask(1)),
    ),
    Case(
        "more pages than there are",
        {"memory": 1, PAGES: 9},
        (),
        Rule.NOT_ENOUGH,
        "9Gi of hugepages-1Gi are requested, but all NUMA nodes together have 8Gi free",
    ),
    Case("free, but not together", {"memory": 10}, IN_USE, Rule.GROUP_RULE, TOGETHER),
    Case(
        "all that is free, but not together",
        {"memory": 37},
        IN_USE,
        Rule.GROUP_RULE,
        TOGETHER.replace("10Gi", "37Gi", 1),
    ),
    Case(
        "the hint is too small and cannot be extended",
        {"memory": 10},
        IN_USE,
        Rule.GROUP_RULE,
        "NUMA nodes 0-1, which the hint names, have 9Gi of memory on node 0, 9Gi of memory on node 1 free; "
        "10Gi of memory are requested, and all NUMA nodes together have 37Gi free, but the kubelet only adds "
        "nodes to those of the hint, and nodes in use stay in their groups: node 0 alone, node 1 alone, "
        "nodes 2-3 together",
        failure=AllocationFailure.NOT_EXTENDED,
        hint=HintNodes(NodeMask(0b11)),
    ),
    Case(
        "there was no hint at all",
        {"memory": 10},
        IN_USE,
        Rule.GROUP_RULE,
        TOGETHER,
        failure=AllocationFailure.NOT_EXTENDED,
    ),
    Case(
        "huge pages alone",
        {PAGES: 3},
        (),
        Rule.HUGE_PAGES_ALONE,
        "the hint's NUMA nodes have too few huge pages, and the kubelet only looks for others if the "
        "container also requests memory",
        failure=AllocationFailure.NOT_EXTENDED,
        hint=HintNodes(NodeMask(1)),
    ),
]


@pytest.mark.parametrize("case", FAILURES, ids=lambda case: case.name)
def test_why_memory_cannot_be_allocated(case: Case) -> None:
    found = blocked_allocation(case.failure, case.request, case.hint, tables(case.used))
    assert found == (case.rule, case.why)


@pytest.mark.parametrize(
    ("gib", "fit"), [(10, "1 NUMA node"), (11, "2 NUMA nodes"), (25, "3 NUMA nodes"), (40, "4 NUMA nodes")]
)
def test_the_fewest_nodes_that_suffice(gib: int, fit: str) -> None:
    request, state = {"memory": gib * GIB}, tables((((0, 1, 2, 3), 20),))
    _, why = blocked_allocation(AllocationFailure.DEFAULT_NOT_PREFERRED, request, None, state)
    assert why.startswith(f"{gib}Gi of memory fit into {fit} when empty")
