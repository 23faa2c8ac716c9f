"""Choosing the CPUs to reserve."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.reserve import CPUChoice, CPUReserve, choose_reserved
from tests.support.drawn_machines import nested_machines
from tests.support.naive_packed import Machine
from tests.support.topologies import CoreAt, mask, regular, topology

EIGHT = regular(cores=4, threads=2)  # siblings c and c+4
TWO_NODES = regular(sockets=2, cores=4, threads=2)  # siblings c and c+8, node 1 has CPUs 4-7 and 12-15
UNEVEN = topology(CoreAt(cpus=(cpu,), numa_node=int(cpu == 3)) for cpu in range(4))  # node 1 has CPU 3
MIXED = topology([CoreAt(cpus=(1, 2)), CoreAt(cpus=(0, 3))])
TURNED = topology(
    CoreAt(cpus=(cpu,), numa_node=node, cache=cache)
    for cpu, (node, cache) in enumerate([(1, 3), (0, 0), (1, 2), (1, 3), (0, 1), (0, 0), (1, 2)])
)  # CPU 0 is in node 1 and cache 3


def chosen(topology: CPUTopology, requested: CPUReserve) -> str:
    return str(CPUSet(choose_reserved(topology, requested).cpus))


@pytest.mark.parametrize(
    ("topology", "requested", "cpus"),
    [
        (EIGHT, CPUReserve(count=1), "0"),
        (EIGHT, CPUReserve(count=2), "0,4"),
        (EIGHT, CPUReserve(count=3), "0-1,4"),
        (EIGHT, CPUReserve(count=3, whole_cores=True), "0-1,4-5"),
        (EIGHT, CPUReserve(count=4, whole_cores=True), "0-1,4-5"),
        (TWO_NODES, CPUReserve(count=4, per_numa=True), "0,4,8,12"),
        (TWO_NODES, CPUReserve(count=3, per_numa=True), "0,4,8,12"),
        (TWO_NODES, CPUReserve(count=6), "0-2,8-10"),
        (EIGHT, CPUReserve(count=2, performance=mask("0-1,4-5")), "2,6"),
        (EIGHT, CPUReserve(count=6, performance=mask("0-1,4-5")), "0,2-4,6-7"),
        (EIGHT, CPUReserve(count=4, performance=mask("0"), isolated=mask("1,6")), "0,3-4,7"),
        (EIGHT, CPUReserve(count=5, performance=mask("0"), isolated=mask("1,2")), "0-1,3-4,7"),
        (MIXED, CPUReserve(count=2), "0,3"),
        (TURNED, CPUReserve(count=2), "0,3"),
        (TURNED, CPUReserve(count=4), "0,2-3,6"),
        (TURNED, CPUReserve(count=6), "0-3,5-6"),
    ],
)
def test_choices(topology: CPUTopology, requested: CPUReserve, cpus: str) -> None:
    assert chosen(topology, requested) == cpus


def test_split_cores_and_caches_are_reported() -> None:
    assert choose_reserved(EIGHT, CPUReserve(count=3, performance=mask("1"))) == CPUChoice(
        cpus=mask("0,2,4"), split_cores=mask("2"), split_caches=mask("0,2,4"), performance=0
    )


@pytest.mark.parametrize(
    ("topology", "requested", "message"),
    [
        (EIGHT, CPUReserve(count=0), "expected at least one CPU to reserve, found 0"),
        (EIGHT, CPUReserve(count=9), "9 CPUs should be reserved, but the machine has 8"),
        (EIGHT, CPUReserve(count=8), "all 8 CPUs would be reserved, leaving none for pods"),
        (
            EIGHT,
            CPUReserve(count=7, whole_cores=True),
            "all 8 CPUs would be reserved, leaving none for pods",
        ),
        (
            UNEVEN,
            CPUReserve(count=3, per_numa=True),
            "2 CPUs should be reserved, but NUMA node 1 has 1",
        ),
    ],
)
def test_too_few_or_too_many_are_rejected(topology: CPUTopology, requested: CPUReserve, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        choose_reserved(topology, requested)


@given(st.data(), nested_machines(), st.booleans(), st.booleans())
def test_the_requested_number_is_chosen_without_splitting_cores_needlessly(
    data: st.DataObject, machine: Machine, per_numa: bool, whole: bool
) -> None:
    found = topology(machine.cores)
    count = data.draw(st.integers(1, found.cpus.bit_count()))
    try:
        choice = choose_reserved(found, CPUReserve(count=count, per_numa=per_numa, whole_cores=whole))
    except ValueError:
        return
    assert not choice.cpus & ~found.cpus
    assert choice.cpus.bit_count() >= count
    if not whole and not per_numa:
        assert choice.cpus.bit_count() == count
    if whole:
        assert not choice.split_cores
    split = [mask for mask in found.cores.values() if mask & choice.split_cores]
    assert len(split) <= (found.num_numa_nodes if per_numa else 1)
