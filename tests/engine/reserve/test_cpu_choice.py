"""Choosing CPUs to reserve."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.reserve.cpu_choice import CPUChoice, CPUWish, choose_reserved
from tests.support.drawn_machines import nested_machines
from tests.support.naive_packed import Machine
from tests.support.topologies import mask, regular, topology

EIGHT = regular(cores=4, threads=2)  # siblings c and c+4
TWO_NODES = regular(sockets=2, cores=4, threads=2)  # siblings c and c+8, node 1 has CPUs 4-7 and 12-15


def chosen(topology: CPUTopology, wish: CPUWish) -> str:
    return str(CPUSet(choose_reserved(topology, wish).cpus))


@pytest.mark.parametrize(
    ("topology", "wish", "cpus"),
    [
        (EIGHT, CPUWish(count=2), "0,4"),
        (EIGHT, CPUWish(count=3), "0-1,4"),
        (EIGHT, CPUWish(count=3, whole_cores=True), "0-1,4-5"),
        (TWO_NODES, CPUWish(count=4, per_numa=True), "0,4,8,12"),
        (TWO_NODES, CPUWish(count=3, per_numa=True), "0,4,8,12"),
        (TWO_NODES, CPUWish(count=6), "0-2,8-10"),
        (EIGHT, CPUWish(count=2, performance=mask("0-1,4-5")), "2,6"),
        (EIGHT, CPUWish(count=6, performance=mask("0-1,4-5")), "0,2-4,6-7"),
    ],
)
def test_choices(topology: CPUTopology, wish: CPUWish, cpus: str) -> None:
    assert chosen(topology, wish) == cpus


def test_what_is_split_is_told() -> None:
    assert choose_reserved(EIGHT, CPUWish(count=3, performance=mask("1"))) == CPUChoice(
        cpus=mask("0,2,4"), split_cores=mask("2"), split_caches=mask("0,2,4"), performance=0
    )


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        (CPUWish(count=0), "at least one CPU"),
        (CPUWish(count=9), "the machine has 8"),
        (CPUWish(count=8), "none left for pods"),
        (CPUWish(count=7, whole_cores=True), "none left for pods"),
    ],
)
def test_too_few_or_too_many_are_refused(wish: CPUWish, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        choose_reserved(EIGHT, wish)


@given(st.data(), nested_machines(), st.booleans(), st.booleans())
def test_as_many_as_wished_and_no_core_needlessly_split(
    data: st.DataObject, machine: Machine, per_numa: bool, whole: bool
) -> None:
    found = topology(machine.cores)
    count = data.draw(st.integers(1, found.cpus.bit_count()))
    try:
        choice = choose_reserved(found, CPUWish(count=count, per_numa=per_numa, whole_cores=whole))
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
