"""Why a policy accepts no hint of the CPU Manager."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from cpuctl.engine.cpu.hints import CPUHints
from cpuctl.engine.explain.decision import Rule
from cpuctl.engine.explain.rules import NodeSize, blocked_by_cpus, not_enough_cpus
from cpuctl.engine.hints.coverage import SocketRule
from cpuctl.engine.masks import NodeMask
from tests.support.changed import changed


def hints(*free: int, request: int, width: int = 1, required: int = 0, reusable: int = 0) -> CPUHints:
    counts = dict(enumerate(free))
    return CPUHints(
        free=counts,
        required=NodeMask(required),
        reusable=reusable,
        request=request,
        width=width,
        socket_rule=None,
    )


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    hints: CPUHints
    rule: Rule
    why: str
    policy: str = "restricted"


SINGLE = "single-numa-node"
ALONE = f"{SINGLE} accepts only hints of one NUMA node"
CASES = [
    Case(
        "more than all nodes have",
        hints(2, 3, request=6, width=2),
        Rule.NOT_ENOUGH,
        "it requests 6 exclusive CPUs, but 5 are free for exclusive use on the node",
    ),
    Case(
        "none is free",
        hints(0, 0, request=1),
        Rule.NOT_ENOUGH,
        "it requests 1 exclusive CPU, but none are free for exclusive use on the node",
        SINGLE,
    ),
    Case(
        "more than a node can have",
        hints(8, 8, 8, request=17, width=3),
        Rule.LARGER_THAN_A_NODE,
        f"{ALONE}, but the request (17 CPUs) needs at least 3, even if they are empty",
        SINGLE,
    ),
    Case(
        "more than any node has free",
        hints(2, 5, 4, request=6),
        Rule.NO_SINGLE_NODE,
        f"{ALONE}; 11 CPUs are free, but no node has 6 CPUs free: at most 5, on NUMA node 1",
        SINGLE,
    ),
    Case(
        "with CPUs held on another node, one node would have enough",
        hints(2, 5, request=6, required=0b01, reusable=1),
        Rule.REUSE_BINDS,
        "1 CPU that its other containers hold is on NUMA node 0: every hint must include these nodes, and "
        "no preferred hint with them has 6 CPUs",
        SINGLE,
    ),
    Case(
        "even with CPUs held on another node, no node would",
        hints(2, 4, request=6, required=0b01, reusable=1),
        Rule.NO_SINGLE_NODE,
        f"{ALONE}; 6 CPUs are free, but no node has 6 CPUs free: at most 4, on NUMA node 1",
        SINGLE,
    ),
    Case(
        "wider now than on an empty node",
        hints(3, 3, 3, request=8, width=2),
        Rule.WIDTH_FROM_CAPACITY,
        "8 CPUs fit into 2 NUMA nodes when empty, so only sets of "
        "that size are preferred; now 3 NUMA nodes are needed, and restricted rejects what is not preferred",
    ),
    Case(
        "one CPU more than one node has",
        hints(3, 3, request=4),
        Rule.WIDTH_FROM_CAPACITY,
        "4 CPUs fit into 1 NUMA node when empty, so only sets of "
        "that size are preferred; now 2 NUMA nodes are needed, and best-effort accepts it anyway",
        "best-effort",
    ),
    Case(
        "the largest would be enough without CPUs held on another node",
        hints(1, 4, 3, request=8, width=2, required=0b001, reusable=1),
        Rule.REUSE_BINDS,
        "1 CPU that its other containers hold is on NUMA node 0: every hint must include these nodes, and "
        "no preferred hint with them has 8 CPUs",
    ),
    Case(
        "reusable CPUs on two nodes",
        hints(1, 1, 6, request=8, width=1, required=0b011, reusable=2),
        Rule.REUSE_BINDS,
        "2 CPUs that its other containers hold are on NUMA nodes 0-1: every hint must include these "
        "nodes, and no preferred hint with them has 8 CPUs",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_why_no_hint_is_accepted(case: Case) -> None:
    assert blocked_by_cpus(case.hints, case.policy) == (case.rule, case.why)


def test_reserved_cpus_count_for_the_preferred_size_but_are_never_free() -> None:
    """A node that is empty is no help then, which the text must not suggest."""
    requested = hints(14, 14, request=16, width=1)
    rule, why = blocked_by_cpus(requested, "restricted", [NodeSize(16, 14)] * 2)
    assert rule is Rule.WIDTH_FROM_CAPACITY
    assert why == (
        "a NUMA node has 16 CPUs, so the kubelet prefers one node; but 2 are reserved, so at most 14 can "
        "ever be free there; restricted rejects what is not preferred"
    )
    full = [NodeSize(16, 16), NodeSize(16, 14)]
    assert "when empty, so only" in blocked_by_cpus(requested, "restricted", full)[1]


def test_several_nodes_may_have_too_few_cpus_that_are_not_reserved() -> None:
    requested = hints(7, 7, 8, request=16, width=2)
    sizes = [NodeSize(8, 7), NodeSize(8, 7), NodeSize(8, 8)]
    assert blocked_by_cpus(requested, "best-effort", sizes)[1] == (
        "2 NUMA nodes have 16 CPUs, so the kubelet prefers 2 nodes; but 1 is reserved, so at most 15 can "
        "ever be free there; best-effort admits the pod anyway"
    )
    unequal = [NodeSize(16, 10), NodeSize(12, 12)]
    assert blocked_by_cpus(hints(8, 7, request=14), "best-effort", unequal)[1].startswith(
        "a NUMA node has up to 16 CPUs, so the kubelet prefers one node; but some are reserved, so at most 12"
    )


def test_whole_sockets_are_preferred_sizes_if_the_policy_aligns_by_socket() -> None:
    of_node = {node: frozenset({node // 2}) for node in range(4)}
    socket_rule = SocketRule(wanted=1, of_node=of_node)
    requested = changed(hints(3, 3, 3, 3, request=7, width=2), socket_rule=socket_rule)
    found = blocked_by_cpus(requested, "restricted")
    assert found[0] is Rule.WIDTH_FROM_CAPACITY
    assert "so only sets of that size, or of as few whole sockets, are preferred; now" in found[1]


def test_a_single_cpu_is_singular() -> None:
    assert not_enough_cpus(1, 0).startswith("it requests 1 exclusive CPU, but none")
