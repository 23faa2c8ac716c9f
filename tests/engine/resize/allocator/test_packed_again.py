"""Completing what a container keeps, by example: whole elements first, those that it is on before others."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.picking.packed import Spread
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.outcome import AllocationError, Picked
from cpuctl.engine.resize.allocator.packed_again import KEPT, take_packed_again
from tests.support.topologies import mask, regular

# "Far": the sibling of CPU c is c + number of cores.
ONE_NODE = regular(cores=10, threads=2)
TWO_SOCKETS = regular(sockets=2, cores=4, threads=2)
FOUR_NODES = regular(sockets=2, nodes=2, cores=2, threads=2)
TWO_CACHES = regular(cores=8, threads=2, cores_per_cache=4)


@dataclass(frozen=True)
class Case:
    """What is offered and kept, and what comes of it."""

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
    Case("an odd one is single", ONE_NODE, "1-9,11-19", 5, "1-2,11-12", "1-3,11-12"),
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
    Case("a node is whole with what is owned, but too much", TWO_SOCKETS, "1-15", 4, "5,13", "4-5,12-13"),
    Case("a whole socket over two NUMA nodes", FOUR_NODES, "0-15", 8, "0", "0-3,8-11"),
    Case("spread goes by number in its socket", ONE_NODE, "1-9,11-19", 5, "1,2", "1-5", Spread.BY_NUMBER),
    Case(
        "an uncore cache that it is on is filled", TWO_CACHES, "0-15", 8, "4", "4-7,12-15", prefer_uncore=True
    ),
    Case("part of the cache that it is on", TWO_CACHES, "0-15", 4, "4,12", "4-5,12-13", prefer_uncore=True),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_taken(case: Case) -> None:
    result = take_packed_again(
        case.topology,
        mask(case.offered),
        case.count,
        mask(case.kept),
        spread=case.spread,
        prefer_uncore=case.prefer_uncore,
    )
    assert isinstance(result, Picked), result
    assert str(CPUSet(result.cpus)) == case.want


def test_steps_tell_what_stays_and_by_which_rule_the_rest_came() -> None:
    result = take_packed_again(ONE_NODE, mask("1-9,11-19"), 5, mask("1,11"))
    assert isinstance(result, Picked)
    assert [(step.rule, str(CPUSet(step.cpus))) for step in result.steps] == [
        (KEPT, "1,11"),
        ("whole cores", "2,12"),
        ("single CPUs, packed", "3"),
    ]


def test_more_than_there_is() -> None:
    result = take_packed_again(ONE_NODE, mask("1,11"), 4, mask("1"))
    assert result == AllocationError("not enough cpus available to satisfy request: requested=4, available=2")
