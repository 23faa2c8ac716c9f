"""Machines written as hwloc's XML: read back the same, and what hwloc cannot represent is reported."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings

from cpuctl.cpuset import CPUSet
from cpuctl.machine.foreign.form import HWLOC_2, MachineFact
from cpuctl.machine.foreign.hwloc_writing import as_hwloc_xml, bitmap
from cpuctl.machine.foreign.reading import read_printed
from cpuctl.machine.model import CPU, Cache, Machine, NumaNode
from cpuctl.machine.sources import read_machine
from cpuctl.machine.synthetic import parse_synthetic
from cpuctl.records import replace
from tests.machine.foreign.test_forms import MACHINES, RECORDINGS
from tests.machine.foreign.test_writing import drawn
from tests.support.machine_facts import differences

DESCRIBED = {
    "sub-NUMA clusters": "2s8n16c2t,l3=16,hugepages-2Mi=512,hugepages-1Gi=4/0/0/0/0/0/0/1",
    "hundreds of CPUs": "8s16n32c2t,interleaved",
    "hybrid": "1s1n6c2t,near,pcores=0-7,ecores=8-11",
    "CPU-less nodes": "1s1n4c2t,nodes=1:0-7/2:/9:,mem=8Gi/16Gi/32Gi,distances=10+20+30/20+10+40/30+40+10",
    "offline CPUs": "2s4n4c2t,offline=3+15,absent=8-9",
    "sparse ids": "1s3n8c,nodes=0:0-1/8:2-5/252:6-7,sockets=3:0-1/7:2-7,cores=0/1/2/3/4/5/6/7,l3=0-1/2-5/6-7",
    "caches of none": "1s2n2c,l3=none",
    "a node of several sockets": "4s1n2c2t,l3=4",
    "sockets of several L3 caches and nodes": "2s2n8c2t,l3=8",
    "no NUMA nodes": "2s0n4c2t,mem=64Gi",
    "unknown": "1s2n2c,l3=-,hugepages=-,mem=-",
}
UNKNOWN_SHARERS = "left out because the CPUs that share them are not recorded, or hwloc has no such caches"
ONE = CPU(0, CPUSet.parse("0"), numa_node=0, package_id=0, core_id=0)


def read_back(machine: Machine) -> tuple[Machine, frozenset[MachineFact]]:
    """Write a machine completely, and read it back; check that it is the same."""
    text, notes = as_hwloc_xml(machine)
    assert notes == ()
    printed = read_printed(text.encode(), "hwloc")
    assert differences(machine, printed.machine, printed.content) == {}
    assert printed.machine.online == machine.online
    return printed.machine, printed.content.facts


@pytest.mark.parametrize("recording", RECORDINGS)
def test_shipped_machines_are_read_back_with_all_that_the_format_contains(recording: str) -> None:
    machine = read_machine(str(MACHINES / recording)).machine
    again, facts = read_back(machine)
    assert facts >= HWLOC_2.recorded - {MachineFact.CORE_KINDS}
    for cpu, before in zip(again.cpus, machine.cpus, strict=True):
        assert cpu._replace(min_khz=before.min_khz) == before


@pytest.mark.parametrize("description", DESCRIBED.values(), ids=DESCRIBED)
def test_described_machines_are_read_back(description: str) -> None:
    machine = parse_synthetic(description)
    again, facts = read_back(machine)
    known = (again.cores_known, again.caches_known, again.hugepages_known, again.numa_known)
    assert known == (
        machine.cores_known,
        machine.caches_known
        and bool(machine.caches),  # a file without caches does not show that there are none
        machine.hugepages_known and bool(machine.numa_nodes),
        True,
    )
    assert (MachineFact.NODE_MEMORY in facts) == all(
        node.memory_bytes is not None for node in machine.numa_nodes
    )
    assert again.memory_bytes == machine.memory_bytes
    assert again.core_kinds == machine.core_kinds


def test_a_node_without_cpus_may_come_before_the_one_that_has_all() -> None:
    """To hwloc, both are near the same CPUs; as written here, one has none."""
    again, _ = read_back(parse_synthetic("1s2n4c,nodes=0:/1:0-3,mem=8Gi/16Gi"))
    assert [str(node.cpus) for node in again.numa_nodes] == ["", "0-3"]


@given(drawn())
@settings(max_examples=60)
def test_of_contradictory_machines_the_first_values_are_read_back(machine: Machine) -> None:
    text, notes = as_hwloc_xml(machine)
    printed = read_printed(text.encode(), "hwloc")
    minimum = {
        MachineFact.OFFLINE,
        MachineFact.NUMA,
        MachineFact.BARE_NODES,
        MachineFact.CORES,
        MachineFact.NODE_MEMORY,
        MachineFact.DISTANCES,
    }
    assert minimum <= printed.content.facts
    content = printed.content if not notes else printed.content._replace(facts=frozenset(minimum))
    assert differences(machine, printed.machine, content) == {}
    lost = set(machine.sockets.values()) - set(printed.machine.sockets.values())
    assert bool(lost) == any("package of CPUs" in note for note in notes)


def test_frequencies_capacities_clusters_dies_books_and_drawers_are_read_back() -> None:
    cpus = tuple(
        CPU(
            number,
            CPUSet(1 << number),
            numa_node=0,
            package_id=number // 8,
            core_id=number,
            die_id=number // 4 % 2,
            cluster_id=number // 2 % 2,
            book_id=number // 8,
            drawer_id=number // 16,
            capacity=1024 if number % 2 else 512,
            max_khz=3_000_000 + number % 2 * 1_000_000,
        )
        for number in range(32)
    )
    machine = Machine(cpus=cpus, numa_nodes=(NumaNode(0, CPUSet.parse("0-31"), memory_bytes=0),))
    again, _ = read_back(machine)
    assert [cpu._replace(package_cpus=None) for cpu in again.cpus] == list(cpus)
    assert again.numa_nodes[0].memory_bytes == 0


def test_a_package_without_a_number_gets_none() -> None:
    package = CPUSet.parse("0-1")
    cpus = tuple(
        CPU(number, CPUSet(1 << number), numa_node=0, package_id=-1, package_cpus=package)
        for number in package
    )
    machine = Machine(cpus=cpus, numa_nodes=(NumaNode(0, package),), hugepages_known=False)
    again, facts = read_back(machine)
    assert again.sockets == {0: package}
    assert [cpu.package_id for cpu in again.cpus] == [None, None]
    assert MachineFact.SOCKETS in facts


@pytest.mark.parametrize(
    ("caches", "note"),
    [
        (
            (Cache(2, "Unified", CPUSet.parse("0-1")), Cache(2, "Unified", CPUSet.parse("1-2"))),
            "left out because hwloc requires objects with CPUs to be nested: L2 cache of CPUs 1-2",
        ),
        (
            (Cache(3, "Unified", CPUSet.parse("0-3"), id=0), Cache(3, "Unified", CPUSet.parse("0-3"), id=1)),
            "left out because hwloc requires objects with CPUs to be nested: L3 cache of CPUs 0-3",
        ),
        (
            (Cache(6, "Unified", CPUSet.parse("0-3")), Cache(None, "Data", CPUSet.parse("0"))),
            f"{UNKNOWN_SHARERS}: L6, some without a level",
        ),
        (
            (Cache(3, "Unified", CPUSet.parse("0"), sharing_known=False),),
            f"{UNKNOWN_SHARERS}: L3",
        ),
    ],
)
def test_caches_that_hwloc_cannot_represent_are_named(caches: tuple[Cache, ...], note: str) -> None:
    text, notes = as_hwloc_xml(replace(parse_synthetic("1s1n4c"), caches=caches))
    assert notes == (note,)
    kept = len(read_printed(text.encode(), "x").machine.caches)
    assert kept == (1 if "nested" in note else 0)


def test_assumptions_are_reported() -> None:
    machine = replace(parse_synthetic("1n1c,hugepages-2Mi=1"), architecture="aarch64")
    assert as_hwloc_xml(machine)[1] == ("normal pages are assumed to be 4 KiB",)
    unknown = Machine(cpus=(ONE,), numa_known=False)
    text, notes = as_hwloc_xml(unknown)
    assert notes == (
        "NUMA nodes are not recorded: one is added, as hwloc does on kernels without NUMA support",
    )
    assert "discovery.numa" not in text


def test_normal_pages_come_first_and_are_the_remaining_memory() -> None:
    text, _ = as_hwloc_xml(parse_synthetic("1n1c,mem=1Gi,hugepages-2Mi=256"))
    pages = [each.attrib for each in ET.fromstring(text).iter("page_type")]  # noqa: S314  # our own text
    assert pages == [{"size": "4096", "count": "131072"}, {"size": "2097152", "count": "256"}]


@pytest.mark.parametrize(
    ("cpus", "text"),
    [
        ("", "0x0"),
        ("0", "0x00000001"),
        ("32", "0x00000001,0x0"),
        ("0,96", "0x00000001,,,0x00000001"),
        ("0-127", "0xffffffff,0xffffffff,0xffffffff,0xffffffff"),
    ],
)
def test_bitmaps_are_those_of_hwloc(cpus: str, text: str) -> None:
    assert bitmap(CPUSet.parse(cpus)) == text


def test_no_name_breaks_the_text() -> None:
    machine = replace(parse_synthetic("1n1c"), model_name='A "fast" <chip> & \x1b[31mmore\0é')
    text, _ = as_hwloc_xml(machine)
    assert read_printed(text.encode(), "x").machine.model_name == 'A "fast" <chip> & [31mmore'
