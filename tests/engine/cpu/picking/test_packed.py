"""Packed picking by example; a naive twin checks it on random machines in ``tests/property``."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.picking.packed import (
    Orders,
    Spread,
    lowest_bits,
    numa_order,
    picker_rules,
    take_packed,
)
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.outcome import AllocationError, Picked
from cpuctl.kubelet.releases.behaviours import behaviours
from tests.support.topologies import CoreAt, four_way_288, mask, regular, topology, uneven

# "Far": the sibling of CPU c is c + number of cores.
ONE_NODE = regular(cores=4, threads=2)
TWO_SOCKETS = regular(sockets=2, cores=4, threads=2)
FOUR_NODES = regular(sockets=2, nodes=2, cores=2, threads=2)
TWO_CACHES = regular(cores=8, threads=2, cores_per_cache=4)
SIX_FOUR_TWO = topology(CoreAt((2 * core, 2 * core + 1), cache=(core > 5) + (core > 9)) for core in range(12))
UNEVEN_CACHES = topology(CoreAt((2 * core, 2 * core + 1), cache=core > 0) for core in range(4))
INTERLEAVED = topology(CoreAt((cpu, cpu + 6), cpu % 2, cpu % 2) for cpu in range(6))
ADJACENT = regular(cores=4, threads=2, adjacent=True)
NOT_NESTED = topology(
    CoreAt((cpu,), node, socket)
    for cpu, (socket, node) in enumerate([(0, 1), (0, 0), (1, 0), (0, 2), (0, 2)])
)
# 14 CPUs on 9 cores average to one CPU per core; 10 on 5, one of which has a single thread, to two.
MANY_SMALL_CORES = topology(
    [CoreAt((2 * c, 2 * c + 1)) for c in range(5)] + [CoreAt((c,)) for c in range(10, 14)]
)
FEW_SMALL_CORES = topology(
    [CoreAt((0,)), *(CoreAt((2 * c - 1, 2 * c)) for c in range(1, 4)), CoreAt((7, 8, 9))]
)


@dataclass(frozen=True)
class Case:
    """A request for some of a machine's free CPUs, and the CPUs it gets."""

    name: str
    topology: CPUTopology
    free: str
    count: int
    want: str


def picked(case: Case, spread: Spread = Spread.OFF, *, prefer_uncore: bool = False) -> str:
    result = take_packed(
        case.topology, mask(case.free), case.count, spread=spread, prefer_uncore=prefer_uncore
    )
    assert isinstance(result, Picked), result
    return str(CPUSet(result.cpus))


@pytest.mark.parametrize(
    "case",
    [
        Case("whole core", ONE_NODE, "0-7", 2, "0,4"),
        Case("a half-used core is not a whole one", ONE_NODE, "1-7", 2, "1,5"),
        Case("the odd CPU comes from the fullest-used core", ONE_NODE, "1-7", 3, "1,4-5"),
        Case("one CPU: the half-used core first", ONE_NODE, "1-7", 1, "4"),
        Case("whole node, then the lowest CPU of the other", INTERLEAVED, "0-11", 7, "0-2,4,6,8,10"),
        Case("best fit: the node with fewer free CPUs", TWO_SOCKETS, "0-5,8-13", 4, "4-5,12-13"),
        Case("whole node before best fit", TWO_SOCKETS, "0-5,8-13", 10, "0-4,8-12"),
        Case("more nodes than sockets: whole socket first", FOUR_NODES, "1-15", 8, "4-7,12-15"),
        Case("node of the fuller-used socket, then its best core", FOUR_NODES, "1-15", 5, "2-3,8,10-11"),
        Case("nothing wanted", ONE_NODE, "0-7", 0, ""),
        Case("less than nothing wanted", ONE_NODE, "", -1, ""),
        Case("everything", ONE_NODE, "0-7", 8, "0-7"),
        Case("CPUs beyond the machine are not picked", ONE_NODE, "6-100", 2, "6-7"),
        Case("whole cores of the fuller-used node first", FOUR_NODES, "0-2,8-10", 2, "2,10"),
        Case("equally free nodes: the smallest id", TWO_SOCKETS, "0-15", 8, "0-3,8-11"),
        Case("too large is passed over", uneven((0, 3), (0, 3), (1, 1), (1, 6)), "0-12", 2, "0,6"),
    ],
    ids=lambda case: case.name,
)
def test_packed(case: Case) -> None:
    assert picked(case) == case.want


@pytest.mark.parametrize(
    "case",
    [
        Case("no whole cores", ONE_NODE, "0-7", 3, "0-2"),
        Case("whole nodes all the same", TWO_SOCKETS, "0-15", 10, "0-5,8-11"),
        Case("neighbouring threads stay together", ADJACENT, "0-7", 5, "0-4"),
        Case("288 CPUs, as upstream's test", four_way_288(), "0-287", 12, "0-2,9-10,13-14,21-22,25-26,33"),
    ],
    ids=lambda case: case.name,
)
def test_spread_takes_the_lowest_numbers(case: Case) -> None:
    assert picked(case, Spread.BY_NUMBER) == case.want


@pytest.mark.parametrize(
    "case",
    [
        Case("one thread of each core, then the second", ADJACENT, "0-7", 5, "0-2,4,6"),
        Case("a half-used core first", ADJACENT, "0-1,3-7", 1, "3"),
        Case("and it gives one like the others", ADJACENT, "0-2,4-7", 4, "0,2,4,6"),
        Case("a core that runs out is skipped", ADJACENT, "0-2,4-7", 6, "0-2,4-6"),
        Case("whole nodes all the same", TWO_SOCKETS, "0-15", 9, "0-4,8-11"),
        Case("nodes inside a socket play no part", FOUR_NODES, "1-2,8-10", 3, "1-2,8"),
        Case(
            "288 CPUs, as upstream's test (140766)",
            four_way_288(),
            "0-287",
            12,
            "0,50,57-58,71-72,79-80,87-88,95-96",
        ),
    ],
    ids=lambda case: case.name,
)
def test_spread_goes_round_the_cores_from_1_38(case: Case) -> None:
    assert picked(case, Spread.OVER_CORES) == case.want


@pytest.mark.parametrize(
    ("minor", "want"), [(36, Spread.BY_NUMBER), (37, Spread.BY_NUMBER), (38, Spread.OVER_CORES)]
)
def test_the_minor_release_determines_the_spread(minor: int, want: Spread) -> None:
    assert Spread.by(picker_rules(behaviours(minor))) is want


@pytest.mark.parametrize(
    "case",
    [
        Case("low cores of the fuller-used cache", TWO_CACHES, "1-7,9-15", 4, "1-2,9-10"),
        Case("a whole cache", TWO_CACHES, "1-7,9-15", 8, "4-7,12-15"),
        Case("a whole cache, then a part of another", TWO_CACHES, "1-7,9-15", 10, "1,4-7,9,12-15"),
        Case("odd: the highest thread is left", TWO_CACHES, "1-7,9-15", 7, "4-7,12-14"),
        Case("a half-used low core spoils its cache", TWO_CACHES, "1-15", 4, "4-5,12-13"),
        Case("or happens to fit", TWO_CACHES, "1-15", 3, "1,8-9"),
        Case("one CPU: of the lowest core, though another is half used", TWO_CACHES, "0-14", 1, "4"),
        Case("a whole cache before as much of a larger one", SIX_FOUR_TWO, "4-19", 8, "12-19"),
        Case("no cache fits: as without the option", TWO_CACHES, "0-2,4-6,8,12", 7, "0-2,4-5,8,12"),
        Case("below the average no whole cache", UNEVEN_CACHES, "0-7", 3, "2-4"),
        Case("one-thread cores", regular(cores=8, cores_per_cache=4), "1-7", 3, "1-3"),
        Case("no caches listed: the socket is the cache", ONE_NODE, "1-3,5-7", 4, "1-2,5-6"),
    ],
    ids=lambda case: case.name,
)
def test_prefer_uncore(case: Case) -> None:
    assert picked(case, prefer_uncore=True) == case.want


@pytest.mark.parametrize(
    "case",
    [
        Case("8 CPUs", TWO_CACHES, "1-7,9-15", 8, "1-4,9-12"),
        Case("4 CPUs", TWO_CACHES, "1-15", 4, "1-2,9-10"),
    ],
    ids=lambda case: case.name,
)
def test_caches_do_not_matter_without_the_option(case: Case) -> None:
    assert picked(case) == case.want


@pytest.mark.parametrize(
    "case",
    [
        Case("average 1: only one-thread cores are whole", MANY_SMALL_CORES, "0-13", 3, "10-12"),
        Case("average 1: threads of others once those are gone", MANY_SMALL_CORES, "0-13", 6, "0-1,10-13"),
        Case("average 2: one-thread cores are never whole", FEW_SMALL_CORES, "0-6", 2, "1-2"),
        Case("average 2: but supply the odd CPU", FEW_SMALL_CORES, "0-6", 3, "0-2"),
        Case("average 2: two free of three is whole, but too large", FEW_SMALL_CORES, "0,7-8", 2, "0,7"),
        Case("average 2: and given away whole", FEW_SMALL_CORES, "0,7-8", 3, "7-9"),
        Case("sockets of 3 and 7: whole with 5 free", uneven((0, 3), (1, 3), (1, 4)), "0-1,3-7", 7, "3-9"),
        Case("counted twice, so one CPU short for each", NOT_NESTED, "0-4", 5, "0-2"),
    ],
    ids=lambda case: case.name,
)
def test_irregular_machines_count_by_averages(case: Case) -> None:
    assert picked(case) == case.want


@dataclass(frozen=True)
class TooFew:
    """A request that cannot be met, and the kubelet's error."""

    name: str
    free: str
    count: int
    error: str


@pytest.mark.parametrize(
    "case",
    [
        TooFew("more than available", "0-7", 9, "requested=9, available=8"),
        TooFew("nothing on offer", "", 1, "requested=1, available=0"),
        TooFew("unknown CPUs count as available", "0-1,98-99", 3, "requested=3, available=4"),
    ],
    ids=lambda case: case.name,
)
def test_too_few_cpus(case: TooFew) -> None:
    want = AllocationError(f"not enough cpus available to satisfy request: {case.error}")
    assert take_packed(ONE_NODE, mask(case.free), case.count) == want


@dataclass(frozen=True)
class Reported:
    """A request for CPUs of a machine on which some are taken, and the rules that chose them."""

    topology: CPUTopology
    taken: str
    count: int
    want: list[tuple[str, str]]
    spread: Spread = Spread.OFF
    prefer_uncore: bool = False


@pytest.mark.parametrize(
    "case",
    [
        Reported(
            TWO_SOCKETS,
            "6-7,14-15",
            11,
            [("whole NUMA nodes", "0-3,8-11"), ("whole cores", "4,12"), ("single CPUs, packed", "5")],
        ),
        Reported(FOUR_NODES, "", 9, [("whole sockets", "0-3,8-11"), ("single CPUs, packed", "4")]),
        Reported(TWO_CACHES, "0,8", 10, [("uncore caches", "1,4-7,9,12-15")], prefer_uncore=True),
        Reported(ADJACENT, "", 5, [("single CPUs, by number in each socket", "0-4")], Spread.BY_NUMBER),
        Reported(
            ADJACENT,
            "",
            5,
            [("single CPUs, from the cores of each socket in turn", "0-2,4,6")],
            Spread.OVER_CORES,
        ),
    ],
    ids=lambda case: case.want[0][0],
)
def test_the_steps_report_which_rule_chose_which_cpus(case: Reported) -> None:
    free = case.topology.cpus & ~mask(case.taken)
    result = take_packed(
        case.topology, free, case.count, spread=case.spread, prefer_uncore=case.prefer_uncore
    )
    assert isinstance(result, Picked)
    assert [(step.rule, str(CPUSet(step.cpus))) for step in result.steps] == case.want


def test_numa_order() -> None:
    assert numa_order(regular(sockets=2, nodes=2, cores=4), mask("0-14")) == [3, 2, 0, 1]
    assert numa_order(TWO_SOCKETS, mask("0-3,8-10,12")) == [1, 0]
    assert numa_order(TWO_SOCKETS, mask("4")) == [1]


def test_numa_order_repeats_a_node_that_reaches_across_sockets() -> None:
    assert numa_order(NOT_NESTED, mask("0-4")) == [0, 1, 0, 2]


@pytest.mark.parametrize(("count", "want"), [(0, ""), (1, "1"), (2, "1,5"), (3, "1,5,64"), (9, "1,5,64")])
def test_lowest_bits(count: int, want: str) -> None:
    assert str(CPUSet(lowest_bits(mask("1,5,64"), count))) == want


def test_elements_of_the_container_come_before_fuller_ones() -> None:
    """It has CPU 13, of core 5 on node 2; core 4 there and nodes 0 and 1 have as many free CPUs, or fewer."""
    orders = Orders(FOUR_NODES, FOUR_NODES.cpus & ~mask("2,4,13"), mask("13"))
    assert orders.sockets == [1, 0]
    assert orders.numa_nodes == [2, 3, 1, 0]
    assert orders.cores_within(FOUR_NODES.numa_nodes[2]) == [5, 4]
    assert orders.cores == [5, 4, 6, 7, 2, 3, 0, 1]
