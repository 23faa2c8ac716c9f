"""Distributed picking by example; a naive twin checks it on random machines in ``tests/property``."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.picking import balance as repeated
from cpuctl.engine.cpu.picking.distributed import Dealing, take_distributed
from cpuctl.engine.cpu.picking.packed import Spread, picker_rules
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.outcome import AllocationError, FaultKind, KubeletFault, Picked, PickResult, Undetermined
from cpuctl.kubelet.releases.behaviours import behaviours
from tests.support.topologies import CoreAt, mask, regular, topology, uneven

# Siblings are far apart: the sibling of CPU c is c + number of cores.
TWO_NODES = regular(sockets=2, cores=4, threads=2)
TWO_BY_TWO = regular(sockets=2, nodes=2, cores=4)
TWO_BY_TWO_CORES = regular(sockets=2, nodes=2, cores=4, threads=2)
TWO_BY_FOUR = regular(sockets=2, nodes=4, cores=4)
FEW = "1,4-5,7,9,12-13"  # two in the first of TWO_NODES, five in the second


@dataclass(frozen=True)
class Case:
    """A request for some of a machine's free CPUs, and the CPUs it gets from a kubelet of a minor release."""

    name: str
    topology: CPUTopology
    free: str
    count: int
    want: str
    group: int = 1
    minor: int = 36
    align_by_socket: bool = False
    hint_width: int = 0
    spread: Spread = Spread.OFF


def take(case: Case) -> PickResult:
    dealing = Dealing(
        group_size=case.group,
        spread=case.spread,
        rules=picker_rules(behaviours(case.minor), align_by_socket=case.align_by_socket),
        hint_width=case.hint_width,
    )
    return take_distributed(case.topology, mask(case.free), case.count, dealing)


def picked(case: Case) -> str:
    result = take(case)
    assert isinstance(result, Picked), result
    return str(CPUSet(result.cpus))


@pytest.mark.parametrize(
    "case",
    [
        Case("fewest nodes, equal shares", TWO_NODES, "0-15", 12, "0-2,4-6,8-10,12-14"),
        Case("one node suffices", TWO_NODES, "0-15", 8, "0-3,8-11"),
        Case("best balance, remainder to the fuller node", TWO_BY_TWO, "0-14", 7, "0-2,8-11"),
        Case("nothing wanted", TWO_NODES, "0-15", 0, ""),
        Case("all CPUs", TWO_NODES, "0-15", 16, "0-15"),
        Case("no equal shares: packed", TWO_NODES, "0-3,7-11,15", 9, "0-3,7-11"),
        Case("CPUs beyond the machine are not picked", TWO_NODES, "0-100", 12, "0-2,4-6,8-10,12-14"),
    ],
    ids=lambda case: case.name,
)
def test_single_cpus(case: Case) -> None:
    assert picked(case) == case.want


@pytest.mark.parametrize(
    "case",
    [
        Case("one node suffices", TWO_NODES, "0-15", 6, "0-2,8-10", group=2),
        Case("equal shares, remainder to the first", TWO_NODES, "0-15", 10, "0-2,4-5,8-10,12-13", group=2),
        Case("no multiple of the group: packed", TWO_NODES, "0-15", 9, "0-4,8-11", group=2),
        Case(
            "groups of four",
            regular(sockets=2, cores=2, threads=4),
            "0-15",
            12,
            "0-2,4-6,8-10,12-14",
            group=4,
        ),
        Case(
            "nodes without a whole group are passed over",
            uneven((0, 3), (0, 1), (1, 1), (1, 3), threads=2),
            "0-2,4-15",
            14,
            "0-1,4-15",
            group=2,
        ),
        Case("fewest nodes on average", uneven((0, 6), (1, 2), threads=2), "0-15", 10, "0-5,12-15", group=2),
    ],
    ids=lambda case: case.name,
)
def test_groups(case: Case) -> None:
    assert picked(case) == case.want


@pytest.mark.parametrize(
    "case",
    [
        Case("inside each node", TWO_NODES, "0-15", 12, "0-5,8-9,12-13,6-7", spread=Spread.BY_NUMBER),
        Case("no whole groups: packed", TWO_NODES, "0-15", 3, "0-2", group=2, spread=Spread.BY_NUMBER),
        Case("no equal shares: packed", TWO_NODES, FEW, 6, "1,4-5,7,9,12", spread=Spread.BY_NUMBER),
    ],
    ids=lambda case: case.name,
)
def test_spread(case: Case) -> None:
    assert picked(case) == str(CPUSet.parse(case.want))


@pytest.mark.parametrize(
    "case",
    [
        Case("4 of 8 nodes: 0, 1, 2, then the last", TWO_BY_FOUR, "0-31", 16, "0-11,28-31"),
        Case("6 of 8 nodes: five, then the last", TWO_BY_FOUR, "0-31", 24, "0-19,28-31"),
        Case("7 of 8 nodes: five, then the last two", TWO_BY_FOUR, "0-31", 26, "0-19,24-26,28-30"),
        Case("2 of 8 nodes: kept", TWO_BY_FOUR, "0-31", 8, "0-7"),
        Case("5 of 8 nodes: kept", TWO_BY_FOUR, "0-31", 20, "0-19"),
    ],
    ids=lambda case: case.name,
)
def test_the_stored_combination_is_overwritten(case: Case) -> None:
    assert picked(case) == case.want


@pytest.mark.parametrize(
    "case",
    [
        Case("4 nodes", TWO_BY_FOUR, "0-31", 16, "0-15", minor=38),
        Case("6 nodes", TWO_BY_FOUR, "0-31", 24, "0-23", minor=38),
        Case("7 nodes", TWO_BY_FOUR, "0-31", 26, "0-22,24-26", minor=38),
    ],
    ids=lambda case: case.name,
)
def test_the_stored_combination_is_kept_from_1_38(case: Case) -> None:
    assert picked(case) == case.want


@pytest.mark.parametrize(
    "case",
    [
        Case("share and remainder", TWO_BY_TWO, "0-14", 7, "0-6", minor=37, align_by_socket=True),
        Case(
            "shares limited by the smaller node",
            TWO_BY_TWO,
            "0-4,8-15",
            5,
            "8-10,12-13",
            minor=37,
            align_by_socket=True,
        ),
        Case("not without the option", TWO_BY_TWO, "0-14", 7, "0-2,8-11", minor=37),
        Case("not before 1.37", TWO_BY_TWO, "0-4,8-15", 5, "0-2,8-9", minor=36, align_by_socket=True),
    ],
    ids=lambda case: case.name,
)
def test_align_by_socket_prefers_nodes_of_one_socket_from_1_37(case: Case) -> None:
    assert picked(case) == case.want


@pytest.mark.parametrize(("minor", "nodes"), [(36, [0, 1, 2, 6]), (37, [0, 1, 3, 6]), (38, [0, 1, 2, 3])])
def test_kubernetes_issue_141237(minor: int, nodes: list[int]) -> None:
    """8 NUMA nodes of 32 CPUs, two of them with 30 free: 120 CPUs fit into one socket."""
    machine = regular(sockets=2, nodes=4, cores=32)
    free = machine.cpus & ~mask("96-97,224-225")
    dealing = Dealing(rules=picker_rules(behaviours(minor), align_by_socket=True))
    result = take_distributed(machine, free, 120, dealing)
    assert isinstance(result, Picked)
    assert [node for node, cpus in machine.numa_nodes.items() if cpus & result.cpus] == nodes


@pytest.mark.parametrize(
    "case",
    [
        Case("as many nodes as the hint", TWO_BY_TWO, "0-15", 4, "0,4,8,12", minor=38, hint_width=4),
        Case("no hint", TWO_BY_TWO, "0-15", 4, "0-3", minor=38),
        Case("not so many nodes possible", TWO_BY_TWO, "0-15", 3, "0-2", minor=38, hint_width=4),
        Case("not so many nodes free", TWO_BY_TWO, "0-11", 6, "0-2,8-10", minor=38, hint_width=4),
        Case("a remainder", TWO_BY_TWO, "0-15", 8, "0-2,4-6,8-9", minor=38, hint_width=3),
        Case("more needed anyway", TWO_BY_TWO, "0-15", 8, "0-7", minor=38, hint_width=1),
        Case("not before 1.38", TWO_BY_TWO, "0-15", 4, "0-3", minor=37, hint_width=4),
    ],
    ids=lambda case: case.name,
)
def test_the_hint_is_a_floor_from_1_38(case: Case) -> None:
    assert picked(case) == case.want


HALF_CORES = Case(
    "too few whole groups",
    TWO_BY_TWO_CORES,
    "1-3,5-7,9-11,13-31",
    22,
    "1-3,5-7,9-11,13-14,17-19,21-23,25-27,29-30",
    group=2,
    minor=38,
)
# Shares of 4, then a remainder of 6. Balance wants it from nodes 0, 1, 2 and the one of 8; the last of these
# is overwritten by another node, and then all four have only one CPU left.
SHRUNK_REMAINDER = Case(
    "overwritten remainder set",
    uneven((0, 5), (0, 5), (1, 5), (1, 8), (2, 5), (2, 5), (2, 5)),
    "0-37",
    34,
    "0-21,23-26,28-31,33-36",
    minor=38,
)


@pytest.mark.parametrize("minor", [36, 37])
@pytest.mark.parametrize(
    ("case", "why"),
    [
        (HALF_CORES, "a set of nodes has enough free CPUs for the remainder, but too few whole groups"),
        (SHRUNK_REMAINDER, "no NUMA node of the remainder set has a whole group of free CPUs left"),
    ],
    ids=lambda value: value.name if isinstance(value, Case) else "",
)
def test_the_kubelet_may_never_answer(case: Case, why: str, minor: int) -> None:
    fault = take(replace(case, minor=minor))
    assert isinstance(fault, KubeletFault)
    assert fault.kind is FaultKind.ENDLESS_LOOP
    assert (fault.where, fault.why) == ("CPU Manager, distributing CPUs across NUMA nodes", why)


@pytest.mark.parametrize("case", [HALF_CORES, SHRUNK_REMAINDER], ids=lambda case: case.name)
def test_the_kubelet_answers_from_1_38(case: Case) -> None:
    assert picked(case) == case.want


NOT_ENOUGH = "not enough cpus available to satisfy request"
TOO_SMALL = uneven((0, 2), (0, 2), (1, 5), (1, 1), (2, 2), (2, 2), (3, 2), (3, 2))


@pytest.mark.parametrize(
    "case",
    [
        Case("more than available", TWO_NODES, "0-7", 9, f"{NOT_ENOUGH}: requested=9, available=8"),
        Case("unknown CPUs count", TWO_NODES, "0-1,98-99", 3, f"{NOT_ENOUGH}: requested=3, available=4"),
        Case(
            "the overwritten combination is too small",
            TOO_SMALL,
            "0-17",
            16,
            "accounting error, not enough CPUs allocated, remaining: 2",
        ),
    ],
    ids=lambda case: case.name,
)
def test_errors(case: Case) -> None:
    assert take(case) == AllocationError(case.want)


@pytest.mark.parametrize("align_by_socket", [False, True])
def test_equal_nodes_are_not_combined_in_every_way(align_by_socket: bool) -> None:
    """64 equal nodes can be combined in 2^64 ways, but the first of each size is as good as any."""
    case = Case("", regular(sockets=16, nodes=4, cores=8), "0-511", 257, "", minor=38)
    less = mask(",".join(f"{8 * node + 7}" for node in range(26, 33)))
    assert mask(picked(replace(case, align_by_socket=align_by_socket))) == mask("0-263") & ~less


# NUMA node 0 is in the lists of both sockets: 0, 1, 0, 2.
ACROSS = topology(
    CoreAt((cpu,), node, socket) for cpu, (socket, node) in enumerate([(0, 1), (0, 0), (1, 0), (0, 2)])
)


def test_a_numa_node_in_two_sockets_is_combined_with_itself() -> None:
    """It provides its share twice, and the search tries no more nodes than there are distinct ones."""
    case = Case("", ACROSS, "0-3", 2, "1-2")
    assert picked(case) == case.want


def test_a_search_that_would_take_hours_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixteen nodes of different sizes, each in both sockets, have too many combinations to try."""
    monkeypatch.setattr(repeated, "MOST_TRIED", 1000)
    machine = topology(
        CoreAt((cpu,), node, cpu % 2)
        for cpu, node in enumerate(node for node in range(16) for _ in range(2 * node + 2))
    )
    result = take(Case("", machine, "0-271", 180, ""))
    assert isinstance(result, Undetermined)
    assert result.why.endswith("more than 1000 combinations of them")


def test_cores_with_an_average_of_zero_cpus_crash_the_kubelet() -> None:
    machine = topology([CoreAt((0,)), CoreAt((1,))], unlisted_cpus=-1)
    fault = take_distributed(machine, machine.cpus, 1, Dealing(group_size=machine.cpus_per_core))
    assert fault == KubeletFault(
        kind=FaultKind.CRASH,
        where="CPU Manager, distributing whole cores across NUMA nodes by CPUs per core, "
        "which are 0 for 1 CPUs on 2 cores",
        why="runtime error: integer divide by zero",
    )


def test_the_steps_report_shares_and_remainder() -> None:
    result = take_distributed(TWO_BY_TWO, mask("0-14"), 7, Dealing())
    assert isinstance(result, Picked)
    assert [(step.rule, str(CPUSet(step.cpus))) for step in result.steps] == [
        ("3 CPUs from each of 2 NUMA nodes", "0-2,8-10"),
        ("remainder, group by group", "11"),
    ]
    result = take_distributed(TWO_BY_TWO, mask("0-14"), 4, Dealing())
    assert isinstance(result, Picked)
    assert [(step.rule, str(CPUSet(step.cpus))) for step in result.steps] == [
        ("4 CPUs from one NUMA node", "8-11")
    ]
