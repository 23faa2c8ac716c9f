"""The findings on a machine and its counts agree, on odd machines as well."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.topology import CPUTopology, differing_views
from cpuctl.errors import InputError
from cpuctl.golang.text import GoError
from cpuctl.machine.machine_info import MachineInfo, kubelet_view
from cpuctl.machine.model import Machine
from cpuctl.machine.sources import read_machine
from cpuctl.machine.sysfs import read_machine_files
from cpuctl.machine.tree import MemoryTree
from tests.machine.sysfs_writer import CPU_DIR, small_machine

FIXTURES = Path(__file__).parents[2] / "fixtures"
RECORDED = sorted(
    str(path) for path in (*FIXTURES.glob("machines/*.tar.xz"), *FIXTURES.glob("nodes/*/node.tar.xz"))
)
SHAPES = (
    "2s2n2c2t,l3=4",
    "1s1n4c1t,l3=2",
    "2s4n4c2t",
    "1s0n4c2t",
    "2s2n2c2t,offline=3+7",
    "4s4n1c1t,l3=none",
)
LOST = (
    r"/node/", r"/node1/", r"/node1/cpulist", r"/meminfo", r"^proc/meminfo", r"hugepages", r"/cache/",
    r"/index0/id", r"/index0/level", r"/index0/shared", r"/index0/size", r"/index0/type", r"cpu1/cache",
    r"physical_package_id", r"core_siblings", r"core_id", r"thread_siblings", r"cpu1/topology",
    r"cpu/present", r"cpu/offline", r"cpuinfo",
)  # fmt: skip
CHANGED = {
    "packages without number": (r"physical_package_id$", "-1\n"),
    "one package without number": (r"cpu1/topology/physical_package_id$", "-1\n"),
    "core IDs that repeat": (r"core_id$", "0\n"),
    "a map that is empty": (r"/index0/shared_cpu_map$", "0\n"),
    "a list that is empty": (r"/index0/shared_cpu_list$", "\n"),
    "fewer CPUs online": (rf"^{CPU_DIR}/online$", "0-2\n"),
    "CPUs that do not run": (rf"^{CPU_DIR}/present$", "0-15\n"),
    "a node without memory": (r"/node1/meminfo$", "Node 1 MemTotal: 0 kB\nNode 1 MemFree: 0 kB\n"),
}


@cache
def shape(text: str) -> dict[str, str]:
    return small_machine(text)


def numbers(pattern: str, text: str) -> list[int]:
    found = re.search(pattern, text)
    return [int(each) for each in re.findall(r"-?\d+", found[1])] if found else []


def cpus(text: str) -> CPUSet:
    """Read the first list of CPUs in a sentence."""
    return CPUSet.parse(re.findall(r"CPUs? (\d(?:[\d,-]*\d)?)", text)[0])


def check(machine: Machine, info: MachineInfo) -> None:
    """Compare every sentence that contains a count with the actual count."""
    stated = " ".join(each.message for each in machine.findings)
    check_cpus(machine, info, stated)
    check_nodes(machine, info, stated)
    try:
        topology = CPUTopology.discover(info)
    except GoError:
        return
    check_topology(machine, topology, stated)


def check_cpus(machine: Machine, info: MachineInfo, stated: str) -> None:
    if machine.offline and "offline" in stated:
        assert ("the kubelet counts only online CPUs" in stated) == (info.num_cpus <= len(machine.online))
    for count in numbers(r"still counts such CPUs \((\d+) in total\)", stated):
        assert count == info.num_cpus
    seen = CPUSet.of(cpu for node in info.nodes for core in node.cores for cpu in core.threads)
    unseen = [
        each.message
        for each in machine.findings
        if each.message.endswith("the kubelet does not see such CPUs")
    ]
    assert all(seen.isdisjoint(cpus(each)) for each in unseen)
    if any(each.message.endswith("so its view is unknown") for each in machine.findings):
        assert not seen
    else:
        assert (machine.online == seen) == (not unseen)


def check_nodes(machine: Machine, info: MachineInfo, stated: str) -> None:
    nodes = sorted(node.id for node in info.nodes if node.cores)
    if "treats packages as NUMA nodes" in stated:
        assert not machine.numa_nodes
        assert machine.numa_known == ("the kernel shows no NUMA nodes" in stated)
        assert numbers(r"counts \d+ NUMA nodes? \(IDs? ([-\d, ]+)\)", stated) == nodes
    if "the kubelet counts no NUMA node" in stated:
        assert nodes == []
    missing = [node.id for node in machine.numa_nodes if node.memory_bytes is None]
    assert bool(missing) == ("memory is not recorded for" in stated)
    open_ = missing if machine.numa_nodes or machine.numa_known else sorted(node.id for node in info.nodes)
    assert list(info.nodes_without_memory) == open_


def check_topology(machine: Machine, topology: CPUTopology, stated: str) -> None:
    for average in numbers(r"the kubelet assumes (\d+) per core", stated):
        assert average == topology.cpus_per_core
    sockets, caches = set(topology.sockets.values()), set(topology.uncore_caches.values())
    if "instead of uncore caches" in stated:
        assert caches == sockets
    for sentence in differing_views(machine, topology):
        counts = {
            "NUMA nodes": topology.num_numa_nodes,
            "sockets": len(sockets),
            "L3 caches": topology.num_uncore_caches,
        }
        for what in (what for what in counts if sentence.startswith(what)):
            assert numbers(r"kubelet (\d+)", sentence) == [counts[what]]
        if sentence.startswith("the kubelet does not know CPU"):
            assert cpus(sentence) == machine.online - CPUSet(topology.cpus)


@pytest.mark.parametrize("recording", RECORDED)
def test_findings_of_recorded_machines_agree_with_their_counts(recording: str) -> None:
    source = read_machine(recording)
    check(source.machine, source.info)


@given(
    text=st.sampled_from(SHAPES),
    lost=st.sets(st.sampled_from(LOST), max_size=3),
    changed=st.sets(st.sampled_from(sorted(CHANGED)), max_size=3),
)
def test_findings_of_odd_machines_agree_with_their_counts(
    text: str, lost: set[str], changed: set[str]
) -> None:
    files = dict(shape(text))
    for name in sorted(changed):
        pattern, content = CHANGED[name]
        files.update({path: content for path in files if re.search(pattern, path)})
    files = {path: each for path, each in files.items() if not any(re.search(part, path) for part in lost)}
    try:
        machine = read_machine_files(MemoryTree(files))
    except InputError:
        return
    check(machine, kubelet_view(machine))
