from __future__ import annotations

from dataclasses import dataclass

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.errors import InputError
from cpuctl.machine.model import Cache, Machine
from cpuctl.machine.synthetic import describe_synthetic, parse_synthetic
from cpuctl.machine.synthetic_description import write_bytes
from cpuctl.records import replace

GiB = 1 << 30


def texts(groups: object) -> str:
    """Write groups as ``0-1/2-3`` or, with numbers, ``0:0-1/1:2-3``."""
    if isinstance(groups, dict):
        return "/".join(f"{number}:{cpus}" for number, cpus in groups.items())
    assert isinstance(groups, tuple | list)
    return "/".join(str(cpus) for cpus in groups)


def cores(machine: Machine) -> str:
    return texts(machine.cores)


def nodes(machine: Machine) -> str:
    return texts({node.id: node.cpus for node in machine.numa_nodes})


@dataclass(frozen=True)
class Case:
    text: str
    cores: str
    sockets: str
    nodes: str
    l3: str


LAYOUTS = [
    Case("2c", "0/1", "0:0-1", "0:0-1", "0-1"),
    Case("2c2t", "0,2/1,3", "0:0-3", "0:0-3", "0-3"),
    Case("2c2t,far", "0,2/1,3", "0:0-3", "0:0-3", "0-3"),
    Case("2c2t,near", "0-1/2-3", "0:0-3", "0:0-3", "0-3"),
    Case("2s2c", "0/1/2/3", "0:0-1/1:2-3", "0:0-1/1:2-3", "0-1/2-3"),
    Case("2s4n2c", "0/1/2/3", "0:0-1/1:2-3", "0:0/1:1/2:2/3:3", "0/1/2/3"),
    Case("2s1n2c", "0/1/2/3", "0:0-1/1:2-3", "0:0-3", "0-1/2-3"),
    Case("2s0n2c", "0/1/2/3", "0:0-1/1:2-3", "", "0-1/2-3"),
    Case("2s2c,interleaved", "0/1/2/3", "0:0,2/1:1,3", "0:0,2/1:1,3", "0,2/1,3"),
    Case("4c,l3=2", "0/1/2/3", "0:0-3", "0:0-3", "0-1/2-3"),
    Case("4c,l3=none", "0/1/2/3", "0:0-3", "0:0-3", ""),
    Case("4c,l3=0-2/3", "0/1/2/3", "0:0-3", "0:0-3", "0-2/3"),
    Case("4c,cores=0+2", "0,2/1/3", "0:0-3", "0:0-3", "0-3"),
    Case("4c,cores=none", "0/1/2/3", "0:0-3", "0:0-3", "0-3"),
    Case("4c,sockets=0-2/7:3", "0/1/2/3", "0:0-2/7:3", "0:0-3", "0-3"),
    Case("4c,sockets=none", "0/1/2/3", "", "0:0-3", "0-3"),
    Case("4c,nodes=0-2/3/252:", "0/1/2/3", "0:0-3", "0:0-2/1:3/252:", "0-3"),
    Case("2c2t,offline=3", "0,2/1", "0:0-2", "0:0-2", "0-2"),
    Case("2s2c,offline=2-3", "0/1", "0:0-1", "0:0-1/1:", "0-1"),
    Case("4c,absent=0+2", "1/3", "0:1,3", "0:1,3", "1,3"),
    Case("1p2t+2e", "0,3/1/2", "0:0-3", "0:0-3", "0-3"),
    Case("1p2t2e,near", "0-1/2/3", "0:0-3", "0:0-3", "0-3"),
    Case("2s2p2t+2e,near", "0-1/2-3/4/5/6-7/8-9/10/11", "0:0-5/1:6-11", "0:0-5/1:6-11", "0-5/6-11"),
    Case(
        "2s4n2p2t+2e,near",
        "0-1/2-3/4/5/6-7/8-9/10/11",
        "0:0-5/1:6-11",
        "0:0-1,4/1:2-3,5/2:6-7,10/3:8-9,11",
        "0-1,4/2-3,5/6-7,10/8-9,11",
    ),
    Case("2s1p2t+1e,near,interleaved", "0-1/2-3/4/5", "0:0-1,4/1:2-3,5", "0:0-1,4/1:2-3,5", "0-1,4/2-3,5"),
    Case("4s2n1p1e", "0/1/2/3/4/5/6/7", "0:0-1/1:2-3/2:4-5/3:6-7", "0:0-3/1:4-7", "0-1/2-3/4-5/6-7"),
    Case("2s2n2c,across", "0/1/2/3", "0:0-1/1:2-3", "0:0,2/1:1,3", "0-1/2-3"),
    Case("2s3n3c,across,l3=2", "0/1/2/3/4/5", "0:0-2/1:3-5", "0:0,3/1:1,4/2:2,5", "0-2/3-5"),
    Case("2s2n2c,interleaved,across", "0/1/2/3", "0:0,2/1:1,3", "0:0-1/1:2-3", "0,2/1,3"),
    Case("2c2t,nosmt", "0/1", "0:0-1", "0:0-1", "0-1"),
    Case("2c2t,near,nosmt", "0/2", "0:0,2", "0:0,2", "0,2"),
    Case("4c,cores=0-2,nosmt", "0/3", "0:0,3", "0:0,3", "0,3"),
    Case("2c2t,absent=0,nosmt", "1/2", "0:1-2", "0:1-2", "1-2"),
]


@pytest.mark.parametrize("case", LAYOUTS, ids=lambda case: case.text)
def test_layouts(case: Case) -> None:
    machine = parse_synthetic(f"synthetic:{case.text}")
    assert cores(machine) == case.cores
    assert texts(dict(machine.sockets)) == case.sockets
    assert nodes(machine) == case.nodes
    assert texts(machine.l3_groups) == case.l3


def test_the_figures_match_lscpu() -> None:
    machine = parse_synthetic("2s4n16c2t")
    assert (len(machine.online), len(machine.sockets), len(machine.numa_nodes)) == (64, 2, 4)
    assert set(map(len, machine.cores)) == {2}


def test_states_of_cpus() -> None:
    machine = parse_synthetic("8c,offline=7,absent=6,isolated=2-3,nohz_full=3,pcores=0-1,ecores=2-5")
    assert (str(machine.online), str(machine.offline), str(machine.present)) == ("0-5", "7", "0-5,7")
    assert (str(machine.isolated), str(machine.nohz_full)) == ("2-3", "3")
    assert (str(machine.performance_cpus), str(machine.efficiency_cpus)) == ("0-1", "2-5")


def test_kinds_of_cores() -> None:
    """An i7 of 8 performance cores with siblings and 12 efficiency cores without, numbered by firmware."""
    machine = parse_synthetic("8p2t+12e,near")
    assert (len(machine.online), len(machine.cores)) == (28, 20)
    assert (str(machine.performance_cpus), str(machine.efficiency_cpus)) == ("0-15", "16-27")
    asleep = parse_synthetic("8p2t+12e,near,nosmt")
    assert (str(asleep.performance_cpus), str(asleep.efficiency_cpus)) == ("0,2,4,6,8,10,12,14", "16-27")
    assert str(asleep.offline) == "1,3,5,7,9,11,13,15"
    plain = parse_synthetic("8c2t+12c,near")
    assert plain.cores == machine.cores
    assert (plain.performance_cpus, plain.efficiency_cpus) == (None, None)
    assert str(parse_synthetic("8p2t+12e,near,pcores=0-3").performance_cpus) == "0-3"


@pytest.mark.parametrize(
    ("text", "want", "total"),
    [
        ("2n4c", [64 * GiB, 64 * GiB], 128 * GiB),
        ("2n4c,mem=1Gi", [GiB, GiB], 2 * GiB),
        ("2n4c,mem=1Gi/512Mi", [GiB, 512 << 20], 1536 << 20),
        ("2n4c,mem=1000/-", [1000, None], 1000),
        ("2n4c,mem=-", [None, None], None),
        ("0n4c,mem=5Gi", [], 5 * GiB),
    ],
)
def test_memory(text: str, want: list[int | None], total: int | None) -> None:
    machine = parse_synthetic(text)
    assert [node.memory_bytes for node in machine.numa_nodes] == want
    assert machine.memory_bytes == total


def test_huge_pages() -> None:
    machine = parse_synthetic("2n4c,hugepages-2Mi=512,hugepages-1Gi=4/-")
    assert [dict(node.hugepages) for node in machine.numa_nodes] == [{2048: 512, 1 << 20: 4}, {2048: 512}]
    assert machine.hugepages == {2048: 1024, 1 << 20: 4}


def test_unrecorded_facts_are_unknown() -> None:
    unknown = parse_synthetic("4c,l3=-,hugepages=-")
    assert (unknown.l3_groups, unknown.caches_known, unknown.hugepages_known) == ((), False, False)
    without = parse_synthetic("4c,l3=none,hugepages-2Mi=0")
    assert (without.l3_groups, without.caches_known, without.hugepages_known) == ((), True, True)


def test_distances() -> None:
    regular = parse_synthetic("2s4n2c")
    assert [node.distances for node in regular.numa_nodes][:2] == [(10, 12, 21, 21), (12, 10, 21, 21)]
    given = parse_synthetic("2n4c,distances=10+99/98+10")
    assert [node.distances for node in given.numa_nodes] == [(10, 99), (98, 10)]
    assert [node.distances for node in parse_synthetic("2n4c,distances=none").numa_nodes] == [(), ()]


def test_ids_are_numbered_as_by_firmware() -> None:
    """Core ids start again in every socket."""
    machine = parse_synthetic("2s2c2t")
    assert [(cpu.package_id, cpu.core_id) for cpu in machine.cpus] == [(0, 0), (0, 1), (1, 0), (1, 1)] * 2


REFUSALS = [
    ("", "", "expected a form such as 2s4n16c2t, or 8p2t+12e1t for two core types, found ''"),
    ("2s", "2s", "expected a form"),
    ("4n2s8c", "4n2s8c", "expected a form"),
    ("0c", "0c", "sockets, cores and threads must be at least 1"),
    ("9999c", "9999c", "at most 8192 CPUs and 1024 NUMA nodes are possible"),
    ("2048n4096c", "2048n4096c", "at most 8192 CPUs and 1024 NUMA nodes"),
    ("1s4p4x", "1s4p4x", "expected a form such as 2s4n16c2t, or 8p2t+12e1t for two core types"),
    ("+8c", "+8c", "expected a form"),
    ("4p0e", "4p0e", "sockets, cores and threads must be at least 1"),
    ("2n4p2t+3e", "", "3 cores do not divide evenly into 2 NUMA nodes"),
    ("2s4p2t+4e,l3=3", "", "2 sockets with several core types do not divide evenly into 3 L3 groups"),
    ("2s3n4c,across", "", "4 cores do not divide evenly into 3 NUMA nodes"),
    ("2s3n4c", "", "3 NUMA nodes and 2 sockets do not divide evenly"),
    ("3n4c", "", "4 cores do not divide evenly into 3 NUMA nodes"),
    ("4c,l3=3", "", "4 cores do not divide evenly into 3 L3 groups"),
    ("4c,fast", "fast", "expected one of far, near"),
    ("4c,mem", "mem", "expected one of far, near"),
    ("4c,near=1", "near=1", "expected one of far, near"),
    ("4c,mem=1Gi,mem=2Gi", "mem=2Gi", "contradicts or repeats an earlier option"),
    ("4c,near,far", "far", "contradicts or repeats an earlier option"),
    ("4c,mem=1G", "mem=1G", "found '1G', expected a number"),
    ("4c,mem=-1Gi", "mem=-1Gi", "found -1, expected a non-negative number"),
    ("4c,mem=1Gi/1Gi", "", "mem has 2 values for 1 NUMA nodes"),
    ("4c,hugepages-2Mi=1/2", "", "huge pages of 2048 KiB has 2 values for 1 NUMA nodes"),
    ("4c,hugepages=1", "hugepages=1", "expected -, or a page size: hugepages-2Mi"),
    ("4c,hugepages-=1", "hugepages-", "found '', expected a number"),
    ("4c,hugepages-1=1", "hugepages-1", "expected a page size of at least 1Ki"),
    ("4c,distances=10/10", "", "distances has 2 rows for 1 NUMA nodes"),
    ("4c,distances=a", "distances=a", "found 'a', expected a number"),
    ("4c,offline=0-3", "", "no CPU is online"),
    ("4c,offline=4", "", "offline names CPU 4, but the last CPU is 3"),
    ("4c,l3=0-9", "", "l3 names CPUs 4-9, but the last CPU is 3"),
    ("4c,nodes=0-2/2-3", "nodes=0-2/2-3", "CPUs 2 are in two groups"),
    ("4c,nodes=5:0-1/5:2-3", "nodes=5:0-1/5:2-3", "number 5 is not greater than the one before it"),
    ("4c,nodes=x:0", "nodes=x:0", "found 'x', expected a number"),
    ("4c,nodes=9999:0", "", "NUMA nodes with numbers below 8192"),
    ("4c,offline=8192", "offline=8192", "found number 8192, expected at most 8191"),
    ("4c,nodes=0/8192", "nodes=0/8192", "found number 8192, expected at most 8191"),
    ("4c,cores=0,2", "2", "expected one of far, near"),
]


@pytest.mark.parametrize(
    ("text", "option", "want"), REFUSALS, ids=[text or "empty" for text, _, _ in REFUSALS]
)
def test_refusals_name_the_option(text: str, option: str, want: str) -> None:
    with pytest.raises(InputError) as error:
        parse_synthetic(f"synthetic:{text}")
    assert error.value.where == f"synthetic:{text}" + (f": {option}" if option else "")
    assert want in error.value.message
    assert "synthetic:2s4n16c2t" in error.value.hint


def test_numbers_of_sockets_may_be_as_large_as_firmware_makes_them() -> None:
    machine = parse_synthetic("2n4c,sockets=9000000000000000000:0-1/9000000000000000001:2-3")
    assert list(machine.sockets) == [9_000_000_000_000_000_000, 9_000_000_000_000_000_001]
    assert [node.distances for node in machine.numa_nodes] == [(10, 21), (21, 10)]


DESCRIPTIONS = [
    "1s1n4c1t",
    "2s4n16c2t",
    "2s4n16c2t,near",
    "2s2n4c2t,interleaved",
    "2s2n4c2t,l3=4",
    "2s2n4c2t,l3=none",
    "2s2n4c2t,mem=1Gi/2Gi",
    "1s2n4c1t,mem=-",
    "1s1n8c2t,offline=3+5",
    "1s1n4c2t,absent=3",
    "1s1n4c1t,l3=0:3",
    "1s1n8c1t,cores=0+3/1-2",
    "1s1n2p2t+4e1t,near",
    "1s1n2c2t+4c1t",
    "2s4n4p2t+2e1t,interleaved",
    "2s2n8p2t+12e1t,offline=3",
    "1s1n4p1t+4e1t,isolated=6-7",
    "2s4n16c2t,nosmt",
    "1s1n8p2t+12e1t,near,nosmt",
    "1s1n4c4t,near,nosmt",
    "2s2n8c2t,across",
    "2s4n8c2t,near,across",
    "2s2n4c2t,interleaved,across",
    "1s2n4c1t,nodes=0-2/7:3",
    "1s2n8c1t,hugepages-2Mi=4/-,hugepages-1Gi=1",
    "1s2n4c1t,distances=10+11/11+10",
    "1s0n4c1t,mem=8Gi",
    "1s1n4c1t,sockets=none",
    "1s1n4c1t,l3=-",
    "1s2n4c2t,hugepages-2Mi=4/-,l3=-,hugepages=-",
]


@pytest.mark.parametrize("text", DESCRIPTIONS)
def test_descriptions_are_printed_back(text: str) -> None:
    assert describe_synthetic(parse_synthetic(text)) == f"synthetic:{text}"


def test_a_machine_without_description_says_why() -> None:
    base = parse_synthetic("4c")
    overlapping = [Cache(level=3, kind="Unified", cpus=CPUSet.parse(text)) for text in ("0-2", "2-3")]
    with pytest.raises(ValueError, match="CPUs 2 share more than one level-3 cache"):
        describe_synthetic(replace(base, caches=tuple(overlapping)))
    partly = replace(base, caches_known=False)
    with pytest.raises(
        ValueError, match="the CPUs that share a level-3 cache are recorded only for some of them"
    ):
        describe_synthetic(partly)
    node, other = parse_synthetic("2n4c").numa_nodes
    ragged = replace(parse_synthetic("2n4c"), numa_nodes=(replace(node, distances=()), other))
    with pytest.raises(ValueError, match="some NUMA nodes have distances and others have none"):
        describe_synthetic(ragged)


@pytest.mark.parametrize(
    ("number", "want"), [(0, "0"), (1, "1"), (1024, "1Ki"), (1536 << 20, "1536Mi"), (1 << 60, "1024Pi")]
)
def test_bytes_are_written_in_the_largest_exact_unit(number: int, want: str) -> None:
    assert write_bytes(number) == want


def test_states_of_cpus_as_masks() -> None:
    listed, masked = "40c,isolated=2+32-35,offline=7", "40c,isolated=0xf+00000004,offline=0x80"
    assert parse_synthetic(masked) == parse_synthetic(listed)
