"""Machines written in other tools' formats: equal to the tools' own output, and read back the same."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpuctl.cpuset import CPUSet
from cpuctl.errors import InputError
from cpuctl.machine.foreign.form import MachineFact
from cpuctl.machine.foreign.reading import read_printed
from cpuctl.machine.foreign.writing import as_lscpu, as_numactl
from cpuctl.machine.model import CPU, Cache, Machine, NumaNode
from cpuctl.machine.sources import read_machine
from cpuctl.machine.synthetic import parse_synthetic
from cpuctl.records import replace
from tests.machine.foreign.test_forms import MACHINES, RECORDINGS, tool_output
from tests.support.machine_facts import differences

LSCPU = {MachineFact.NUMA, MachineFact.SOCKETS, MachineFact.CORES, MachineFact.CACHES}
NUMACTL = {MachineFact.NUMA, MachineFact.BARE_NODES, MachineFact.DISTANCES, MachineFact.NODE_MEMORY}


@st.composite
def drawn(draw: st.DrawFn) -> Machine:
    """Draw cores with siblings, CPUs and nodes numbered in any order, nodes without CPUs, offline CPUs."""
    threads = draw(st.lists(st.integers(1, 3), min_size=1, max_size=8))
    numbers = draw(st.permutations(range(sum(threads) + 3)))
    cores = [
        CPUSet.of(numbers[sum(threads[:core]) : sum(threads[: core + 1])]) for core in range(len(threads))
    ]
    few = st.integers(0, 2)
    places = [(draw(few), draw(few), draw(few)) for _ in cores]
    ids = draw(st.permutations([0, 2, 3, 40]))
    online = CPUSet.of(cpu for core in cores for cpu in core)
    nodes = [(ids[n], _gathered(cores, [place[0] == n for place in places])) for n in range(4)]
    distances = [draw(st.lists(st.integers(10, 255), min_size=4, max_size=4)) for _ in nodes]
    groups = {number: _gathered(cores, [place[2] == number for place in places]) for number in range(3)}
    return Machine(
        cpus=tuple(
            sorted(
                CPU(cpu, core, package_id=place[1], core_id=number, numa_node=ids[place[0]])
                for number, (core, place) in enumerate(zip(cores, places, strict=True))
                for cpu in core
            )
        ),
        numa_nodes=tuple(
            NumaNode(number, cpus, memory_bytes=draw(st.integers(0, 1 << 44)), distances=tuple(row))
            for (number, cpus), row in sorted(zip(nodes, distances, strict=True))
        ),
        caches=(
            *(Cache(1, kind, core) for kind in ("Data", "Instruction") for core in cores),
            *(Cache(3, "Unified", cpus) for cpus in groups.values() if cpus),
        ),
        offline=CPUSet.of(draw(st.sets(st.sampled_from(numbers[-3:])))) - online,
    ).checked()


def _gathered(cores: list[CPUSet], chosen: list[bool]) -> CPUSet:
    return CPUSet.of(cpu for core, wanted in zip(cores, chosen, strict=True) if wanted for cpu in core)


@given(drawn())
@settings(max_examples=100)
def test_generated_machines_are_read_back(machine: Machine) -> None:
    printed = read_printed(as_lscpu(machine).encode(), "lscpu")
    assert printed.content.facts >= LSCPU
    assert differences(machine, printed.machine, printed.content) == {}
    assert (printed.machine.online, printed.machine.offline) == (machine.online, machine.offline)
    printed = read_printed(as_numactl(machine).encode(), "numactl")
    assert printed.content.facts == NUMACTL
    assert differences(machine, printed.machine, printed.content) == {}


@pytest.mark.parametrize("recording", RECORDINGS)
def test_shipped_machines_are_written_as_their_own_tools_print_them(recording: str) -> None:
    machine = read_machine(str(MACHINES / recording)).machine
    recorded = tool_output(recording, "numactl.txt").decode().splitlines()
    written = as_numactl(machine).splitlines()
    assert [line for line in written if " free:" not in line] == [
        line for line in recorded if " free:" not in line
    ]
    assert len(written) == len(recorded)
    rows = [line.split() for line in tool_output(recording, "lscpu.txt").decode().splitlines()[1:]]
    assert as_lscpu(machine).splitlines() == [
        "# CPU,Core,Socket,Node,,L1d,L1i,L2,L3",
        *(
            ",".join([cpu, core, socket, node, "", *caches.split(":")])
            for cpu, node, socket, core, caches, _ in rows
        ),
    ]


def test_unknown_values_are_not_printed_as_numbers() -> None:
    machine = Machine(
        cpus=(CPU(0, CPUSet.parse("0")), CPU(1, CPUSet.parse("1"))),
        numa_nodes=(NumaNode(0, CPUSet.parse("0")), NumaNode(2, CPUSet.parse("1"))),
        offline=CPUSet.parse("3"),
        cores_known=False,
        caches_known=False,
    )
    assert as_lscpu(machine) == "# CPU,Core,Socket,Node\n0,,,0\n1,,,2\n3,,,\n"
    assert as_numactl(machine).splitlines() == [
        "available: 2 nodes (0,2)",
        "node 0 cpus: 0",
        "node 0 size: <not available>",
        "node 0 free: <not available>",
        "node 2 cpus: 1",
        "node 2 size: <not available>",
        "node 2 free: <not available>",
        "No distance information available.",
    ]
    printed = read_printed(as_numactl(machine).encode(), "numactl")
    assert printed.content.facts == {MachineFact.NUMA, MachineFact.BARE_NODES}


def test_a_cache_that_some_cpus_do_not_have_is_left_out_of_their_rows() -> None:
    machine = parse_synthetic("1n2c")
    assert as_lscpu(replace(machine, caches=(Cache(2, "Unified", CPUSet.parse("1")),))) == (
        "# CPU,Core,Socket,Node,,L2\n0,0,0,0,,\n1,1,0,0,,0\n"
    )


def test_without_numa_nodes_numactl_has_nothing_to_print() -> None:
    with pytest.raises(InputError, match="has no NUMA nodes"):
        as_numactl(parse_synthetic("0n1c"))
