"""Equal shares of NUMA nodes that count what a container has, by example."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.picking.distributed import Dealing
from cpuctl.engine.cpu.picking.packed import Spread
from cpuctl.engine.cpu.picking.rules import picker_rules
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.outcome import AllocationError, Picked, PickResult, Undetermined
from cpuctl.engine.resize.allocator.distributed_again import take_distributed_again
from tests.support.topologies import CoreAt, mask, regular, topology

TWO_NODES = regular(sockets=2, cores=4)
FOUR_NODES = regular(sockets=2, nodes=2, cores=4)
CORES = regular(sockets=2, cores=4, threads=2)
ACROSS = topology(
    CoreAt((cpu,), node, socket) for cpu, (socket, node) in enumerate([(0, 1), (0, 0), (1, 0), (0, 2)])
)


@dataclass(frozen=True)
class Case:
    """What is offered and kept, and what comes of it; a group is a core with ``full-pcpus-only``."""

    name: str
    topology: CPUTopology
    offered: str
    count: int
    kept: str
    want: str
    group: int = 1


CASES = [
    Case("shares count what is owned", TWO_NODES, "0-7", 6, "0", "0-2,4-6"),
    Case("an even share of two nodes", TWO_NODES, "0-7", 6, "0-1", "0-2,4-6"),
    Case("one node is enough", TWO_NODES, "0-7", 4, "0-1", "0-3"),
    Case("it stays on every node that it is on", FOUR_NODES, "0-15", 8, "0,12", "0-3,12-15"),
    Case("a node that holds more than the share makes it packed", TWO_NODES, "0-7", 5, "0-3", "0-4"),
    Case("a node without a free CPU makes it packed", TWO_NODES, "0-5,7", 6, "0-3", "0-5"),
    Case("whole cores", CORES, "0-15", 8, "0,8", "0-3,8-11", group=2),
    Case("no whole groups: packed", CORES, "0-15", 5, "0,8", "0-2,8-9", group=2),
    Case("nothing is missing", TWO_NODES, "0-7", 2, "0-1", "0-1"),
]


def take(case: Case) -> PickResult:
    dealing = Dealing(group_size=case.group, spread=Spread.OFF, rules=picker_rules(36))
    return take_distributed_again(case.topology, mask(case.offered), case.count, mask(case.kept), dealing)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_taken(case: Case) -> None:
    result = take(case)
    assert isinstance(result, Picked), result
    assert str(CPUSet(result.cpus)) == case.want


def test_more_than_there_is() -> None:
    result = take(Case("", TWO_NODES, "0-3", 6, "0", ""))
    assert result == AllocationError("not enough cpus available to satisfy request: requested=6, available=4")


def test_a_numa_node_across_sockets_has_no_known_order() -> None:
    assert isinstance(take(Case("", ACROSS, "0-3", 4, "0", "")), Undetermined)
