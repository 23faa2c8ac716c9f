"""The files that describe the machine: those that cpuctl reads, and those that lscpu and hwloc need.

Files: *Documentation/ABI/stable/sysfs-devices-system-cpu*, *Documentation/ABI/stable/sysfs-devices-node*.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Final

from cpuctl.capture.collected import Area, Link, Progress
from cpuctl.capture.node.files import NodeFiles
from cpuctl.machine.devices.pci import (
    MOST_DEVICES,
    PCI_BUS,
    PCI_CLASS,
    PCI_FILES,
    PHYSICAL_FUNCTION,
    is_for_pods,
    pci_paths,
)

AREA: Final = "topology"

_CPUS = "sys/devices/system/cpu"
_NODES = "sys/devices/system/node"
_HUGEPAGES = "sys/kernel/mm/hugepages"
_ARCHITECTURE = "proc/sys/kernel/arch"

_CPU_DIRECTORY = re.compile(r"cpu[0-9]{1,5}", re.ASCII)
_NODE_DIRECTORY = re.compile(r"node[0-9]{1,5}", re.ASCII)
_HUGEPAGE_DIRECTORY = re.compile(r"hugepages-[0-9]{1,18}kB", re.ASCII)
_CACHE_DIRECTORY = re.compile(r"index[0-9]{1,3}", re.ASCII)

_IDS = ("physical_package_id", "die_id", "cluster_id", "core_id", "book_id", "drawer_id")
_GROUPS = ("core_cpus", "die_cpus", "cluster_cpus", "package_cpus", "thread_siblings", "core_siblings")
_GROUPS_OF_Z = ("book_siblings", "drawer_siblings")

_WANTED = {
    _CPUS: {"isolated", "kernel_max", "nohz_full", "offline", "online", "possible", "present"},
    f"{_CPUS}/smt": {"active", "control"},
    "sys/devices/cpu_atom": {"cpus"},
    "sys/devices/cpu_core": {"cpus"},
    _NODES: {"has_cpu", "has_generic_initiator", "has_memory", "has_normal_memory", "online", "possible"},
}
_BUSES = frozenset({"cpu", "node"})
"""Entries that distinguish kernels without NUMA nodes from recordings without them."""
_CPU_FILES = frozenset({"cpu_capacity", "online"})
_TOPOLOGY_FILES = frozenset(_IDS).union(*((name, f"{name}_list") for name in (*_GROUPS, *_GROUPS_OF_Z)))
_CACHE_FILES = frozenset({"id", "level", "shared_cpu_list", "shared_cpu_map", "size", "type"})
_FREQUENCY_FILES = frozenset({"cpuinfo_max_freq", "cpuinfo_min_freq"})
_NODE_FILES = frozenset({"cpulist", "cpumap", "distance", "meminfo"})
_HUGEPAGE_FILES = frozenset({"free_hugepages", "nr_hugepages", "resv_hugepages", "surplus_hugepages"})

_DEVICES = "sys/devices"
_PCIE_ROOT = re.compile(r"pci([0-9a-f]{4}:[0-9a-f]{2})", re.ASCII)
_ROOT_FILES = frozenset({"cpulistaffinity"})

_X86 = ("processor", "vendor_id", "cpu family", "model", "model name", "stepping", "physical id", "siblings")
_ALSO_X86 = ("core id", "cpu cores", "apicid")
_ARM = ("CPU implementer", "CPU architecture", "CPU variant", "CPU part", "CPU revision", "Processor")
_OTHERS = ("cpu", "cpu model", "uarch", "family", "revision", "hart")
_KEPT_KEYS = frozenset((*_X86, *_ALSO_X86, *_ARM, *_OTHERS))


def record_topology(files: NodeFiles, progress: Progress, *, architecture: str) -> Area:
    """Record CPUs, caches, NUMA nodes and memory; *architecture* is used if no file names it."""
    before = len(files.members)
    for directory, wanted in _WANTED.items():
        files.copy_some(directory, wanted)
    _record_procfs(files, architecture)
    cpus = [name for name in files.names(_CPUS) if _CPU_DIRECTORY.fullmatch(name)]
    for done, name in enumerate(cpus):
        progress(AREA, done, len(cpus))
        _record_cpu(files, f"{_CPUS}/{name}")
    nodes = [name for name in files.names(_NODES) if _NODE_DIRECTORY.fullmatch(name)]
    for name in nodes:
        _record_node(files, f"{_NODES}/{name}")
    _record_hugepages(files, _HUGEPAGES)
    _record_pcie_roots(files)
    _record_pci_devices(files)
    for name in _BUSES.intersection(files.names("sys/bus")):
        files.keep(f"sys/bus/{name}", None)
    return Area(
        name=AREA,
        entries=len(files.members) - before,
        counts={"cpus": len(cpus), "numaNodes": len(nodes)},
    )


def _record_procfs(files: NodeFiles, architecture: str) -> None:
    files.copy("proc/meminfo")
    files.copy("proc/sys/kernel/osrelease")
    if not files.copy(_ARCHITECTURE) and architecture:
        files.keep(_ARCHITECTURE, f"{architecture}\n")
    cpuinfo = files.read("proc/cpuinfo")
    if cpuinfo is not None:
        files.keep("proc/cpuinfo", reduced_cpuinfo(cpuinfo))


def _record_cpu(files: NodeFiles, directory: str) -> None:
    files.keep(directory, None)
    files.copy_some(f"{directory}/topology", _TOPOLOGY_FILES)
    files.copy_some(f"{directory}/cpufreq", _FREQUENCY_FILES)
    for name in files.names(directory):
        if name in _CPU_FILES:
            files.copy(f"{directory}/{name}")
        elif _NODE_DIRECTORY.fullmatch(name):
            files.keep(f"{directory}/{name}", Link(f"../../node/{name}"))
    for name in files.names(f"{directory}/cache"):
        if _CACHE_DIRECTORY.fullmatch(name):
            files.copy_some(f"{directory}/cache/{name}", _CACHE_FILES)


def _record_node(files: NodeFiles, directory: str) -> None:
    files.keep(directory, None)
    for name in files.names(directory):
        if name in _NODE_FILES:
            files.copy(f"{directory}/{name}")
        elif _CPU_DIRECTORY.fullmatch(name):
            files.keep(f"{directory}/{name}", Link(f"../../cpu/{name}"))
    _record_hugepages(files, f"{directory}/hugepages")


def _record_hugepages(files: NodeFiles, directory: str) -> None:
    for name in files.names(directory):
        if _HUGEPAGE_DIRECTORY.fullmatch(name):
            files.copy_some(f"{directory}/{name}", _HUGEPAGE_FILES)


def _record_pcie_roots(files: NodeFiles) -> None:
    """Record which CPUs are near each PCIe root, which DRA drivers report of devices."""
    for name in files.names(_DEVICES):
        if root := _PCIE_ROOT.fullmatch(name):
            files.copy_some(f"{_DEVICES}/{name}/pci_bus/{root[1]}", _ROOT_FILES)


def _record_pci_devices(files: NodeFiles) -> None:
    """Record the devices that are usually assigned to pods: what they are, and their NUMA node."""
    bus, _, name = PCI_BUS.rpartition("/")
    if name in files.names(bus):
        files.keep(PCI_BUS, None)  # shows that devices were recorded, even if there are none
    for path in islice(pci_paths(files), MOST_DEVICES):
        if is_for_pods(text := files.read(f"{path}/{PCI_CLASS}") or ""):
            files.keep(f"{path}/{PCI_CLASS}", text)
            names = files.names(path)
            for name in PCI_FILES.intersection(names):
                files.copy(f"{path}/{name}")
            if PHYSICAL_FUNCTION in names:
                files.keep(f"{path}/{PHYSICAL_FUNCTION}", None)


def reduced_cpuinfo(text: str) -> str:
    """Keep the lines that identify processors and their place, and the blank lines between processors."""
    kept = (line for line in text.splitlines() if not line or line.partition(":")[0].strip() in _KEPT_KEYS)
    return "".join(f"{line}\n" for line in kept)
