"""The recorded machine reads back as the same machine."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

import pytest

from cpuctl.capture.archive import Compression, make_capture, write_members
from cpuctl.capture.collected import Link
from cpuctl.capture.node.node import Node, live_node, record, recorded_node
from cpuctl.capture.node.topology import reduced_cpuinfo
from cpuctl.machine.model import Machine
from cpuctl.machine.sources import MachineSource, read_machine
from cpuctl.records import replace
from tests.capture.node_texts import node, node_texts, recorded

MACHINES = Path(__file__).parents[3] / "fixtures" / "machines"


def captured(source: Node, directory: Path) -> MachineSource:
    """Record a node, and read the machine from the archive."""
    path = directory / "node.tar.gz"
    with path.open("wb") as file:
        write_members(make_capture(record(source), cpuctl="test").members, file, Compression.GZIP)
    return read_machine(str(path))


@pytest.mark.parametrize("name", ["2s-2numa-32cpu.tar.xz", "2s-8numa-64cpu.tar.xz"])
def test_a_recorded_machine_is_read_back_identically(name: str, tmp_path: Path) -> None:
    root = tmp_path / "root"
    with tarfile.open(MACHINES / name) as tar:
        tar.extractall(root, filter="tar")
    again, before = captured(recorded_node(root), tmp_path), read_machine(str(root))
    assert again.machine == before.machine
    assert again.info == before.info


def without_free_memory(machine: Machine) -> Machine:
    """Omit what changes from one moment to the next: free memory."""
    nodes = tuple(replace(each, free_bytes=None, free_hugepages={}) for each in machine.numa_nodes)
    return replace(machine, numa_nodes=nodes)


def test_the_live_machine_is_read_back(tmp_path: Path) -> None:
    again, before = captured(live_node(), tmp_path), read_machine("live")
    assert without_free_memory(again.machine) == without_free_memory(before.machine)


def test_the_live_node_names_its_architecture_if_the_kernel_has_no_file_for_it() -> None:
    assert live_node().architecture == os.uname().machine
    texts = {path: text for path, text in node_texts().items() if path != "proc/sys/kernel/arch"}
    collected = record(node(texts, architecture="riscv64"))
    assert collected.members["proc/sys/kernel/arch"] == "riscv64\n"
    assert record(node(architecture="riscv64")).members["proc/sys/kernel/arch"] == "x86_64\n"


def test_links_between_cpus_and_nodes_point_to_each_other() -> None:
    texts = {"sys/devices/system/cpu/cpu3/node1": None, "sys/devices/system/node/node1/cpu3": None}
    members = recorded(texts).members
    assert members["sys/devices/system/cpu/cpu3/node1"] == Link("../../node/node1")
    assert members["sys/devices/system/node/node1/cpu3"] == Link("../../cpu/cpu3")


def test_a_kernel_without_numa_nodes_differs_from_a_recording_without_them() -> None:
    """Only these two buses matter: a kernel with NUMA nodes has a bus for them."""
    members = recorded(
        {"sys/bus/cpu/uevent": "", "sys/bus/node/uevent": "", "sys/bus/pci/uevent": ""}
    ).members
    assert {path for path in members if path.startswith("sys/bus")} == {"sys/bus/cpu", "sys/bus/node"}


def test_other_files_of_the_kernel_are_not_recorded() -> None:
    cpu = "sys/devices/system/cpu"
    texts = {
        f"{cpu}/online": "0\n",
        f"{cpu}/vulnerabilities/meltdown": "Vulnerable\n",
        f"{cpu}/cpu0/crash_notes": "1000\n",
        f"{cpu}/cpu0/cpufreq/scaling_cur_freq": "1\n",
        f"{cpu}/cpu0/cpufreq/cpuinfo_max_freq": "2\n",
        f"{cpu}/cpufreq/policy0/cpuinfo_max_freq": "2\n",
    }
    kept = {path for path in recorded(texts).members if not path.endswith("/cpu0")}
    assert kept == {f"{cpu}/online", f"{cpu}/cpu0/cpufreq/cpuinfo_max_freq"}


CPUINFO = """\
processor\t: 0
vendor_id\t: GenuineIntel
model name\t: Test CPU
physical id\t: 1
core id\t\t: 4
flags\t\t: fpu vme
bugs\t\t: spectre_v1

processor\t: 1
Serial\t\t: 0000000012345678
"""


def test_cpuinfo_keeps_names_and_places() -> None:
    kept = reduced_cpuinfo(CPUINFO).splitlines()
    removed = set(CPUINFO.splitlines()) - set(kept)
    assert kept == [line for line in CPUINFO.splitlines() if line not in removed]
    assert {line.partition("\t")[0] for line in removed} == {"flags", "bugs", "Serial"}


def test_cpuinfo_of_a_mainframe_loses_its_identification() -> None:
    text = (
        "vendor_id       : IBM/S390\nprocessor 0: version = FF,  identification = 0133E8,  machine = 2964\n"
    )
    assert reduced_cpuinfo(text) == "vendor_id       : IBM/S390\n"


def test_cpus_near_pcie_roots_are_recorded_for_drivers_that_publish_them() -> None:
    path = "sys/devices/pci0000:16/pci_bus/0000:16/cpulistaffinity"
    others = ("sys/devices/pci0000:16/0000:16:00.0/vendor", "sys/devices/pnp0/uevent")
    members = record(node({**node_texts(), path: "0-3\n", **dict.fromkeys(others, "1\n")})).members
    assert members[path] == "0-3\n"
    assert not members.keys() & set(others)
