"""Every finding about a machine, and the ordinary machine without findings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.diagnostics import Severity
from cpuctl.machine.findings import machine_findings
from cpuctl.machine.model import CPU, Machine, MachineFinding, NumaNode
from cpuctl.machine.synthetic import parse_synthetic
from cpuctl.phrases import are, counted, have, named
from cpuctl.records import replace
from tests.support.costs import seconds_below


def cpus(text: str) -> CPUSet:
    return CPUSet.parse(text)


def with_cpus(machine: Machine, change: Callable[[CPU], CPU]) -> Machine:
    return replace(machine, cpus=tuple(map(change, machine.cpus)))


def with_nodes(machine: Machine, change: Callable[[NumaNode], NumaNode]) -> Machine:
    return replace(machine, numa_nodes=tuple(map(change, machine.numa_nodes)))


BASE = parse_synthetic("2s2n2c2t")


@dataclass(frozen=True)
class Case:
    """A machine and its findings, one per line."""

    name: str
    machine: Machine
    want: str


CASES = [
    Case("an ordinary machine", BASE, ""),
    Case("a big ordinary machine", parse_synthetic("2s8n64c2t,l3=16"), ""),
    Case(
        "an offline CPU",
        parse_synthetic("2c2t,offline=3"),
        "CPU 3 is offline: the kubelet counts only online CPUs\n"
        "cores have 1 or 2 CPUs online: the kubelet assumes 1 per core (3 CPUs / 2 cores, rounded down)",
    ),
    Case(
        "no ids",
        with_cpus(BASE, lambda cpu: cpu._replace(core_id=None, package_id=None)),
        "CPUs 0-7 have neither core ID nor package ID: the kubelet needs both, so its view is unknown",
    ),
    Case(
        "one id without the other",
        with_cpus(
            BASE,
            lambda cpu: cpu._replace(core_id=None) if cpu.number < 2 else cpu._replace(package_id=None),
        ),
        "CPUs 0-1 have no core ID: the kubelet does not see such CPUs\n"
        "CPUs 2-7 have no package ID: the kubelet does not see such CPUs",
    ),
    Case(
        "package ID -1",
        with_cpus(BASE, lambda cpu: cpu._replace(package_id=-1) if cpu.number == 2 else cpu),
        "CPU 2 has package ID -1 (unknown): the kubelet treats -1 as a socket",
    ),
    Case(
        "core IDs per cluster",
        with_cpus(BASE, lambda cpu: cpu._replace(core_id=0)),
        "2 core IDs are repeated within a socket and NUMA node, for example CPUs 0,4 and 1,5: the kubelet "
        "treats such cores as one core",
    ),
    Case(
        "siblings that disagree",
        with_cpus(
            parse_synthetic("4c"), lambda cpu: cpu if cpu.number else cpu._replace(siblings=cpus("0-1"))
        ),
        "thread siblings disagree about CPU 0: the list of the lowest CPU is used\n"
        "cores have 1 or 2 CPUs online: the kubelet assumes 1 per core (4 CPUs / 4 cores)",
    ),
    Case(
        "siblings beyond the machine",
        with_cpus(parse_synthetic("2c"), lambda cpu: cpu._replace(siblings=cpus(f"{cpu.number},7"))),
        "",
    ),
    Case(
        "siblings that disagree in a row",
        with_cpus(parse_synthetic("4c"), lambda cpu: cpu._replace(siblings=cpus(f"{cpu.number}-3"))),
        "thread siblings disagree about CPUs 0-2: the list of the lowest CPU is used",
    ),
    Case(
        "packages that disagree",
        with_cpus(BASE, lambda cpu: cpu._replace(package_cpus=cpus("0-7"))),
        "package IDs make 2 sockets, package CPU lists 1: "
        "the sockets shown and the kubelet's labels use the IDs",
    ),
    Case(
        "core types",
        parse_synthetic("8c,pcores=0-3,ecores=4-7"),
        "the kubelet does not distinguish performance cores (CPUs 0-3) from efficiency cores (CPUs 4-7)",
    ),
    Case(
        "capacities",
        with_cpus(BASE, lambda cpu: cpu._replace(capacity=1024 if cpu.number < 4 else 512)),
        "CPUs differ in capacity (512, 1024): the kubelet does not distinguish them",
    ),
    Case(
        "no NUMA nodes",
        parse_synthetic("0n4c"),
        "the kernel shows no NUMA nodes: the kubelet treats packages as NUMA nodes and counts 1 NUMA node "
        "(ID 0), without memory for its Memory Manager",
    ),
    Case(
        "no NUMA nodes, several sockets",
        parse_synthetic("2s0n4c"),
        "the kernel shows no NUMA nodes: the kubelet treats packages as NUMA nodes and counts "
        "2 NUMA nodes (IDs 0, 1), without memory for its Memory Manager",
    ),
    Case(
        "no NUMA nodes, sockets of unknown number",
        with_cpus(parse_synthetic("2s0n4c"), lambda cpu: cpu._replace(package_id=-1)),
        "CPUs 0-7 have package ID -1 (unknown): the kubelet treats -1 as a socket\n"
        "4 core IDs are repeated within a socket and NUMA node, for example CPUs 0 and 4: "
        "the kubelet treats such "
        "cores as one core\n"
        "the kernel shows no NUMA nodes: the kubelet treats packages as NUMA nodes and "
        "counts 1 NUMA node (ID -1), "
        "without memory for its Memory Manager",
    ),
    Case(
        "neither NUMA nodes nor packages",
        with_cpus(parse_synthetic("0n4c"), lambda cpu: cpu._replace(package_id=None, core_id=None)),
        "CPUs 0-3 have neither core ID nor package ID: the kubelet needs both, so its view is "
        "unknown\n"
        "the kernel shows neither NUMA nodes nor packages: the kubelet counts no NUMA nodes",
    ),
    Case(
        "offline CPUs without NUMA nodes",
        parse_synthetic("0n4c,offline=3"),
        "CPU 3 is offline: without NUMA nodes, the kubelet still counts such CPUs (4 in total), "
        "but never assigns them\n"
        "the kernel shows no NUMA nodes: the kubelet treats packages as NUMA nodes and "
        "counts 1 NUMA node (ID 0), "
        "without memory for its Memory Manager",
    ),
    Case(
        "uneven cores where offline CPUs count",
        parse_synthetic("0n3c2t,offline=5"),
        "CPU 5 is offline: without NUMA nodes, the kubelet still counts such CPUs (6 in total), "
        "but never assigns them\n"
        "cores have 1 or 2 CPUs online: the kubelet assumes 2 per core (6 CPUs / 3 cores)\n"
        "the kernel shows no NUMA nodes: the kubelet treats packages as NUMA nodes and "
        "counts 1 NUMA node (ID 0), "
        "without memory for its Memory Manager",
    ),
    Case(
        "frequencies of different cores",
        with_cpus(
            parse_synthetic("4c"),
            lambda cpu: cpu._replace(max_khz=3_900_000 if cpu.number < 2 else 2_808_000),
        ),
        "maximum frequencies suggest several core types (efficiency cores: CPUs 2-3): a guess, "
        "as the kernel does not report core types; the kubelet does not distinguish them",
    ),
    Case(
        "frequencies of favoured cores",
        with_cpus(parse_synthetic("4c"), lambda cpu: cpu._replace(max_khz=5_000_000 + cpu.number * 200_000)),
        "",
    ),
    Case(
        "CPUs outside all nodes",
        parse_synthetic("4c,nodes=0-2"),
        "CPU 3 is in no NUMA node: the kubelet does not see such CPUs",
    ),
    Case(
        "bare nodes",
        parse_synthetic("4c,nodes=0-3/252:,mem=1Gi/0"),
        "NUMA node 252 has no CPUs: the kubelet's CPU Manager counts 1 NUMA node with CPUs, its Memory "
        "and Topology Managers count all 2\n"
        "NUMA node 252 has no memory\nNUMA node numbers have gaps: 0,252",
    ),
    Case(
        "nine nodes",
        parse_synthetic("9n9c"),
        "there are 9 NUMA nodes: with a Topology Manager policy other than none, the kubelet does not start "
        "with more than 8 unless max-allowable-numa-nodes allows more",
    ),
    Case(
        "memory that does not add up",
        replace(BASE, memory_bytes=256 << 30),
        "/proc/meminfo reports 262144 MiB of memory, the NUMA nodes report 131072 MiB: "
        "the kubelet uses the former for the machine and the latter for its Memory Manager",
    ),
    Case(
        "directories that disagree",
        with_nodes(BASE, lambda node: replace(node, directory_cpus=cpus("0"))),
        "the directories of NUMA nodes 0-1 list different CPUs from the cpulist files: "
        "the kubelet uses the directories",
    ),
    Case(
        "ragged distances",
        with_nodes(BASE, lambda node: replace(node, distances=(10, 21)[: node.id + 1])),
        "the distances of NUMA node 0 do not match the number of nodes",
    ),
    Case(
        "no L3",
        parse_synthetic("4c,l3=none"),
        "no level-3 cache is recorded: the kubelet uses sockets instead of uncore caches",
    ),
    Case(
        "caches without IDs",
        replace(BASE, caches=tuple(cache._replace(id=None) for cache in BASE.caches)),
        "caches have no IDs: the kubelet does not see them and uses sockets instead of uncore caches",
    ),
    Case("L3 for some", parse_synthetic("4c,l3=0-2"), "not every CPU has a level-3 cache"),
]


def test_a_core_of_all_cpus_costs_no_more_than_others() -> None:
    machine = parse_synthetic("1c8192t")
    with seconds_below(5):
        assert machine_findings(machine) == ()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_findings(case: Case) -> None:
    assert "\n".join(each.message for each in machine_findings(case.machine)) == case.want


def test_findings_name_the_files_they_come_from() -> None:
    """The file itself if a single CPU or node is affected, else a pattern for all of them."""
    every = machine_findings(with_cpus(BASE, lambda cpu: cpu._replace(package_id=-1)))
    lone = machine_findings(
        with_cpus(BASE, lambda cpu: cpu._replace(package_id=-1) if cpu.number == 2 else cpu)
    )
    assert every[0].place == "sys/devices/system/cpu/cpu*/topology/physical_package_id"
    assert lone[0].place == "sys/devices/system/cpu/cpu2/topology/physical_package_id"
    gaps = machine_findings(parse_synthetic("4c,nodes=0-1/3:2-3"))
    assert gaps == (
        MachineFinding(
            Severity.NOTE,
            "node-numbers",
            "sys/devices/system/node",
            "NUMA node numbers have gaps: 0,3",
            expected="0-1",
            detected="0,3",
        ),
    )


@pytest.mark.parametrize("text", ["4c,nodes=0-1/3:2-3", "0n4c", "4c,l3=none"])
def test_a_machine_without_files_has_findings_without_places(text: str) -> None:
    machine = parse_synthetic(text)
    assert machine.findings
    assert {finding.place for finding in machine.findings} == {""}


def test_words_agree_in_number() -> None:
    one, two = cpus("3"), cpus("3-4")
    assert (named(one), named(two, "NUMA node")) == ("CPU 3", "NUMA nodes 3-4")
    assert (are(one), are(two)) == ("CPU 3 is", "CPUs 3-4 are")
    assert (have(one), have(two)) == ("CPU 3 has", "CPUs 3-4 have")
    assert (counted(1, "socket"), counted(2, "socket"), counted(0, "socket")) == (
        "1 socket",
        "2 sockets",
        "0 sockets",
    )
