"""Equal shares per NUMA node that include what a container already has, by example."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.picking.distributed import Dealing
from cpuctl.engine.cpu.picking.packed import Spread, picker_rules
from cpuctl.engine.cpu.resizing.distributed import complete_distributed
from cpuctl.engine.cpu.resizing.packed import KEPT
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.outcome import AllocationError, FaultKind, KubeletFault, Picked, PickResult, Undetermined
from cpuctl.kubelet.releases.behaviours import behaviours
from tests.support.topologies import CoreAt, mask, regular, topology, uneven

TWO_NODES = regular(sockets=2, cores=4)
THREE_NODES = regular(sockets=3, cores=4)
FOUR_NODES = regular(sockets=2, nodes=2, cores=4)
CORES = regular(sockets=2, cores=4, threads=2)
THREE_OF_CORES = regular(sockets=3, cores=4, threads=2)
UNEQUAL = uneven((0, 3), (0, 3), (1, 4), (1, 5))
TWO_SOCKETS = uneven((0, 5), (1, 3), (1, 3))
ACROSS = topology(
    CoreAt((cpu,), node, socket) for cpu, (socket, node) in enumerate([(0, 1), (0, 0), (1, 0), (0, 2)])
)


@dataclass(frozen=True)
class Case:
    """The CPUs offered and kept, and the result; a group is a core with ``full-pcpus-only``."""

    name: str
    topology: CPUTopology
    offered: str
    count: int
    kept: str
    want: str
    group: int = 1
    spread: Spread = Spread.OFF
    minor: int = 36
    aligned: bool = False


BY_NUMBER = Spread.BY_NUMBER
CASES = [
    Case("shares count what is owned", TWO_NODES, "0-7", 6, "0", "0-2,4-6"),
    Case("an even share of two nodes", TWO_NODES, "0-7", 6, "0-1", "0-2,4-6"),
    Case("one node is enough", TWO_NODES, "0-7", 4, "0-1", "0-3"),
    Case("it stays on each of its nodes", FOUR_NODES, "0-15", 8, "0,12", "0-3,12-15"),
    Case("a node that holds more than the share makes it packed", TWO_NODES, "0-7", 5, "0-3", "0-4"),
    Case("packed into cores", CORES, "0-15", 10, "0-3,8-9", "0-4,8-12"),
    Case("packed by number", CORES, "0-15", 10, "0-3,8-9", "0-5,8-11", spread=BY_NUMBER),
    Case("a node without a free CPU makes it packed", TWO_NODES, "0-5,7", 6, "0-3", "0-5"),
    Case("fewer missing than it has nodes: packed", TWO_NODES, "0-7", 4, "0-1,4", "0-2,4"),
    Case("the first core", CORES, "0-15", 2, "", "0,8", group=2),
    Case("whole cores", CORES, "0-15", 8, "0,8", "0-3,8-11", group=2),
    Case("no whole groups: packed", CORES, "0-15", 5, "0,8", "0-2,8-9", group=2),
    Case("no whole groups: spread", CORES, "0-15", 5, "0,8", "0-3,8", group=2, spread=BY_NUMBER),
    Case("nothing is missing", TWO_NODES, "0-7", 2, "0-1", "0-1"),
    Case("nothing is missing if no order is known", ACROSS, "0-3", 1, "0", "0"),
    Case("a remainder, one by one", THREE_NODES, "0-11", 11, "0", "0-10"),
    Case("a full node gets no more of it", UNEQUAL, "0-14", 15, "0", "0-14"),
    Case("a remainder, core by core", THREE_OF_CORES, "0-23", 20, "0,12", "0-6,8-10,12-18,20-22", group=2),
    Case("shares are spread", CORES, "0-15", 12, "", "0-9,12-13", group=2, spread=BY_NUMBER),
    Case("so is a remainder", THREE_OF_CORES, "0-23", 20, "0,12", "0-17,20-21", group=2, spread=BY_NUMBER),
    Case("inside a socket from 1.37", TWO_SOCKETS, "0-10", 6, "5", "5-10", minor=37, aligned=True),
]  # fmt: skip


def take(case: Case) -> PickResult:
    dealing = Dealing(
        group_size=case.group,
        spread=case.spread,
        rules=picker_rules(behaviours(case.minor), align_by_socket=case.aligned),
    )
    return complete_distributed(case.topology, mask(case.offered), case.count, mask(case.kept), dealing)


def steps(case: Case) -> list[tuple[str, str]]:
    result = take(case)
    assert isinstance(result, Picked), result
    return [(step.rule, str(CPUSet(step.cpus))) for step in result.steps]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_taken(case: Case) -> None:
    result = take(case)
    assert isinstance(result, Picked), result
    assert str(CPUSet(result.cpus)) == case.want


STEPS = {
    "nothing is missing": [(KEPT, "0-1")],
    "the first core": [("up to 2 CPUs from one NUMA node", "0,8")],
    "one node is enough": [(KEPT, "0-1"), ("up to 4 CPUs from one NUMA node", "2-3")],
    "a remainder, one by one": [
        (KEPT, "0"),
        ("up to 3 CPUs from each of 3 NUMA nodes", "1-2,4-6,8-10"),
        ("remainder, group by group", "3,7"),
    ],
}


@pytest.mark.parametrize("case", [case for case in CASES if case.name in STEPS], ids=lambda case: case.name)
def test_steps_report_what_stays_the_shares_and_the_remainder(case: Case) -> None:
    assert steps(case) == STEPS[case.name]


@pytest.mark.parametrize(
    ("case", "why"),
    [
        (
            Case("", TWO_NODES, "0-2,99", 6, "0", ""),
            "not enough cpus available to satisfy request: requested=6, available=4",
        ),
        (
            Case("", uneven((0, 2), (0, 3), (1, 5), (1, 1), (2, 2)), "0-12", 9, "3,8,11", ""),
            "accounting error, not enough CPUs allocated, remaining: 1",
        ),
        (
            Case("", uneven((0, 2), (0, 3), (1, 2), (1, 3), (2, 4)), "0-13", 10, "3,9,11", "", 2, minor=37),
            "accounting error, too many CPUs allocated, remaining: -1",
        ),
    ],
)
def test_errors(case: Case, why: str) -> None:
    """A CPU missing from the topology counts as available; the other errors are kubernetes issue 141237."""
    assert take(case) == AllocationError(why)


@pytest.mark.parametrize(
    ("case", "why"),
    [
        (
            Case("", uneven((0, 3), (0, 5), (0, 4), (1, 5)), "1-16", 14, "15", "", 2, minor=37),
            "a set of nodes has enough free CPUs for the remainder, but too few whole groups",
        ),
        (
            Case("", uneven((0, 1), (0, 2), (0, 2), (1, 2), (1, 2)), "0-8", 8, "1,4,6-7", "", minor=37),
            "no NUMA node of the remainder set has a whole group of free CPUs left",
        ),
    ],
)
def test_a_remainder_that_no_node_can_give_loops_forever(case: Case, why: str) -> None:
    fault = take(case)
    assert isinstance(fault, KubeletFault)
    assert (fault.kind, fault.why) == (FaultKind.ENDLESS_LOOP, why)


def test_a_numa_node_across_sockets_has_no_known_order() -> None:
    why = "a NUMA node spans sockets, and how the allocator of KEP-5554 distributes there is unknown"
    assert take(Case("", ACROSS, "0-3", 4, "0", "")) == Undetermined(why)
