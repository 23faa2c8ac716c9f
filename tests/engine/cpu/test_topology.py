"""The topology that the CPU Manager builds from its machine information."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.topology import CPUTopology, cpu_labels
from cpuctl.engine.masks import CPUMask, NodeMask
from cpuctl.machine.machine_info import InfoNode, MachineInfo
from cpuctl.records import replace
from tests.support.topologies import CoreAt, machine_info, mask, regular, topology, uneven

TWO_SOCKETS = regular(sockets=2, nodes=2, cores=2, threads=2)
HYBRID = topology([CoreAt((0, 1)), CoreAt((2, 3)), CoreAt((4,)), CoreAt((5,)), CoreAt((6,))])


@dataclass(frozen=True)
class Refused:
    """Machine information and why the CPU Manager rejects it."""

    name: str
    info: MachineInfo
    error: str


ONE_CORE = machine_info([CoreAt((0, 1))])


@pytest.mark.parametrize(
    "case",
    [
        Refused(
            "no CPUs", MachineInfo(nodes=(), num_cpus=0, num_sockets=0), "could not detect number of cpus"
        ),
        Refused("none counted", replace(ONE_CORE, num_cpus=0), "could not detect number of cpus"),
        Refused("a core of none", machine_info([CoreAt((0,)), CoreAt(())]), "no cpus provided"),
        Refused("a thread twice", machine_info([CoreAt((0, 0))]), "cpus provided are not unique"),
    ],
    ids=lambda case: case.name,
)
def test_refuses_to_start(case: Refused) -> None:
    with pytest.raises(ValueError, match=f"^{case.error}$"):
        CPUTopology.discover(case.info)


@dataclass(frozen=True)
class Averages:
    """A machine and its averages per core, socket and uncore cache."""

    name: str
    topology: CPUTopology
    want: tuple[int, int, int]


@pytest.mark.parametrize(
    "case",
    [
        Averages("regular", TWO_SOCKETS, (2, 8, 8)),
        Averages("caches", regular(sockets=2, cores=4, threads=2, cores_per_cache=2), (2, 8, 4)),
        Averages("hybrid cores", HYBRID, (1, 7, 7)),
        Averages("uneven sockets", uneven((0, 2), (1, 5)), (1, 3, 3)),
        Averages(
            "counted, but in no core", topology([CoreAt((0,)), CoreAt((1,))], unlisted_cpus=2), (2, 4, 4)
        ),
        Averages("no cores at all", topology([], unlisted_cpus=4), (0, 0, 0)),
    ],
    ids=lambda case: case.name,
)
def test_averages_round_down(case: Averages) -> None:
    found = case.topology
    assert (found.cpus_per_core, found.cpus_per_socket, found.cpus_per_uncore) == case.want


def test_totals() -> None:
    assert (TWO_SOCKETS.num_cpus, TWO_SOCKETS.num_cores, TWO_SOCKETS.num_sockets) == (16, 8, 2)
    assert (TWO_SOCKETS.num_numa_nodes, TWO_SOCKETS.num_uncore_caches) == (4, 2)
    assert CPUSet(TWO_SOCKETS.cpus) == CPUSet.parse("0-15")


def test_a_core_that_reaches_into_another_parent_counts_as_inside_both() -> None:
    found = topology([CoreAt((0, 1)), CoreAt((2, 3))])
    assert found.cores_inside(mask("1-2")) == {0: mask("0-1"), 2: mask("2-3")}
    assert found.cores_inside(mask("3")) == {2: mask("2-3")}
    assert found.cores_inside(mask("1-2")) is found.cores_inside(mask("1-2"))


def test_a_core_is_identified_by_its_smallest_cpu() -> None:
    """The hardware's core ids repeat from socket to socket."""
    assert list(topology([CoreAt((9, 1)), CoreAt((8, 0))]).cores) == [0, 1]


def test_a_cpu_that_two_cores_list_belongs_to_the_last() -> None:
    twice = topology([CoreAt((0, 1), 0, 0), CoreAt((1, 2), 1, 1)])
    assert twice.cores == {0: mask("0"), 1: mask("1-2")}
    assert cpu_labels(twice)[1] == (1, 1, 1, 1)
    assert (twice.num_cpus, twice.num_cores) == (4, 2)


def test_a_core_without_uncore_cache_gets_its_socket_as_cache() -> None:
    mixed = topology([CoreAt((0,), socket=3), CoreAt((1,), socket=3, cache=7)])
    assert mixed.uncore_caches == {3: mask("0"), 7: mask("1")}


def test_the_first_uncore_cache_listed_counts() -> None:
    info = machine_info([CoreAt((0,), cache=5)])
    core = replace(info.nodes[0].cores[0], uncore_cache_ids=(6, 5))
    info = replace(info, nodes=(replace(info.nodes[0], cores=(core,)),))
    assert list(CPUTopology.discover(info).uncore_caches) == [6]


def test_a_node_without_cpus_does_not_exist_for_the_cpu_manager() -> None:
    info = machine_info([CoreAt((0,), numa_node=1)])
    with_memory_node = replace(info, nodes=(InfoNode(id=0, cores=(), memory_bytes=2**30), *info.nodes))
    assert list(CPUTopology.discover(with_memory_node).numa_nodes) == [1]


def test_elements_are_sorted_by_id() -> None:
    shuffled = topology([CoreAt((3,), 9, 2, 4), CoreAt((1,), 8, 1, 3), CoreAt((2,), 9, 2, 4)])
    assert list(shuffled.numa_nodes) == [8, 9]
    assert list(shuffled.sockets) == [1, 2]
    assert list(shuffled.cores) == [1, 2, 3]
    assert list(shuffled.uncore_caches) == [3, 4]
    assert cpu_labels(shuffled)[3] == (9, 2, 3, 4)


def test_numa_nodes_sort_above_sockets_unless_there_are_more_of_them() -> None:
    assert regular(sockets=2, cores=1).numa_first
    assert topology([CoreAt((0,), 0, 0), CoreAt((1,), 0, 1)]).numa_first
    assert not regular(sockets=2, nodes=2, cores=1).numa_first


def test_masks_of_neighbours() -> None:
    assert CPUSet(TWO_SOCKETS.siblings(mask("0,9"))) == CPUSet.parse("0-1,8-9")
    assert CPUSet(TWO_SOCKETS.in_numa_nodes(NodeMask(0b1001))) == CPUSet.parse("0-1,6-9,14-15")
    assert CPUSet(TWO_SOCKETS.in_numa_nodes(NodeMask(1 << 20))) == CPUSet()
    assert CPUSet(TWO_SOCKETS.in_sockets_of(mask("2"))) == CPUSet.parse("0-3,8-11")
    assert TWO_SOCKETS.sockets_of(mask("3-4")) == {0, 1}
    assert TWO_SOCKETS.sockets_of(CPUMask(0)) == frozenset()
