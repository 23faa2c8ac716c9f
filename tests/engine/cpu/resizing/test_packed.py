"""Completing what a container keeps, by example: whole elements first, and its own before others."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.picking.packed import Spread
from cpuctl.engine.cpu.resizing.packed import complete_packed
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.outcome import AllocationError, Picked, PickResult
from tests.support.topologies import CoreAt, mask, regular, topology, uneven

# "Far": the sibling of CPU c is c + number of cores.
ONE_NODE = regular(cores=10, threads=2)
TWO_SOCKETS = regular(sockets=2, cores=4, threads=2)
FOUR_NODES = regular(sockets=2, nodes=2, cores=2, threads=2)
TWO_CACHES = regular(cores=8, threads=2, cores_per_cache=4)

LARGE_AND_SMALL_SOCKET = uneven((0, 1), (0, 1), (1, 2), (1, 2))
"""NUMA nodes with CPU 0, CPU 1, CPUs 2-3 and CPUs 4-5: three CPUs per socket on average."""
LARGE_AND_SMALL_CORES = topology(CoreAt(cpus) for cpus in ((0, 1), (2, 3), (4,), (5,)))
"""One CPU per core on average, rounded down."""


@dataclass(frozen=True)
class Case:
    """The CPUs offered and kept, and the result."""

    name: str
    topology: CPUTopology
    offered: str
    count: int
    kept: str
    want: str
    spread: Spread = Spread.OFF
    prefer_uncore: bool = False


CASES = [
    Case("nothing kept: as at admission", ONE_NODE, "1-9,11-19", 4, "", "1-2,11-12"),
    Case("a half owned core is completed", ONE_NODE, "1-9,11-19", 4, "1-2,11", "1-2,11-12"),
    Case("then whole cores", ONE_NODE, "1-9,11-19", 6, "1-2,11-12", "1-3,11-13"),
    Case("an odd number ends with a single CPU", ONE_NODE, "1-9,11-19", 5, "1-2,11-12", "1-3,11-12"),
    Case("exactly what is kept", ONE_NODE, "1-9,11-19", 2, "1,11", "1,11"),
    Case("down: whole cores of what it has", ONE_NODE, "1-3,11-13", 4, "1,11", "1-2,11-12"),
    Case("down to an odd number", ONE_NODE, "1-3,11-12", 3, "1,11", "1,3,11"),
    Case("down: the half of a core that is kept is completed", ONE_NODE, "1-2,11-12", 3, "2,12", "1-2,12"),
    Case("the rest of its NUMA node is a whole one", TWO_SOCKETS, "0-15", 8, "0,8", "0-3,8-11"),
    Case(
        "a NUMA node that it is on comes before an emptier one",
        TWO_SOCKETS,
        "0-5,8-13",
        4,
        "4,12",
        "4-5,12-13",
    ),
    Case("a node is whole with owned CPUs, but too large", TWO_SOCKETS, "1-15", 4, "5,13", "4-5,12-13"),
    Case("a whole socket over two NUMA nodes", FOUR_NODES, "0-15", 8, "0", "0-3,8-11"),
    Case("spread goes by number in its socket", ONE_NODE, "1-9,11-19", 5, "1,2", "1-5", Spread.BY_NUMBER),
    Case(
        "an uncore cache that it is on is filled", TWO_CACHES, "0-15", 8, "4", "4-7,12-15", prefer_uncore=True
    ),
    Case("part of the cache that it is on", TWO_CACHES, "0-15", 4, "4,12", "4-5,12-13", prefer_uncore=True),
    Case(
        "a whole cache, then part of another",
        TWO_CACHES,
        "1-7,9-15",
        11,
        "2",
        "1-2,4-7,9,12-15",
        prefer_uncore=True,
    ),
    Case("all available CPUs", ONE_NODE, "1-2,11-12", 4, "", "1-2,11-12"),
    Case(
        "a NUMA node that it is on comes before a smaller one", uneven((0, 1), (1, 2)), "0-2", 2, "2", "1-2"
    ),
    Case(
        "a socket of another size than the average is never whole",
        LARGE_AND_SMALL_SOCKET,
        "0-5",
        3,
        "2",
        "0,2-3",
    ),
    Case("but one that has lost the excess is", LARGE_AND_SMALL_SOCKET, "0-4", 4, "2", "0,2-4"),
    Case("nor is such a core", LARGE_AND_SMALL_CORES, "0-5", 2, "0", "0,4"),
]


def take(case: Case) -> PickResult:
    return complete_packed(
        case.topology,
        mask(case.offered),
        case.count,
        mask(case.kept),
        spread=case.spread,
        prefer_uncore=case.prefer_uncore,
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_taken(case: Case) -> None:
    result = take(case)
    assert isinstance(result, Picked), result
    assert str(CPUSet(result.cpus)) == case.want


STAYS = "CPUs it keeps"
STEPS = {
    "exactly what is kept": [(STAYS, "1,11")],
    "an odd number ends with a single CPU": [(STAYS, "1-2,11-12"), ("single CPUs, packed", "3")],
    "spread goes by number in its socket": [(STAYS, "1-2"), ("single CPUs, by number in each socket", "3-5")],
    "a whole cache, then part of another": [(STAYS, "2"), ("uncore caches", "1,4-7,9,12-15")],
    "but one that has lost the excess is": [
        (STAYS, "2"),
        ("whole sockets", "3-4"),
        ("whole NUMA nodes", "0"),
    ],
    "all available CPUs": [("whole cores", "1-2,11-12")],
}


@pytest.mark.parametrize("case", [case for case in CASES if case.name in STEPS], ids=lambda case: case.name)
def test_steps_report_what_stays_and_which_rule_chose_the_rest(case: Case) -> None:
    result = take(case)
    assert isinstance(result, Picked)
    assert [(step.rule, str(CPUSet(step.cpus))) for step in result.steps] == STEPS[case.name]


def test_more_than_available() -> None:
    result = complete_packed(ONE_NODE, mask("1,11"), 4, mask("1"))
    assert result == AllocationError("not enough cpus available to satisfy request: requested=4, available=2")
