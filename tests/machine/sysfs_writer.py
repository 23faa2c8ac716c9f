"""The opposite of the sysfs reader: the files that a kernel on a given machine would show."""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.cpuset import CPUSet
from cpuctl.machine.model import CPU, Cache, Machine, NumaNode
from cpuctl.machine.synthetic import parse_synthetic

CPU_DIR = "sys/devices/system/cpu"
NODE_DIR = "sys/devices/system/node"

Files = dict[str, str | None]
"""Texts by path; None is a link."""


def small_machine(description: str = "2s2n2c2t,hugepages-2Mi=8,hugepages-1Gi=0") -> dict[str, str]:
    """Return the files, without links, of 8 CPUs by default: socket 0 is 0-1,4-5, core 0 is 0,4."""
    files = sysfs_files(parse_synthetic(description))
    return {path: text for path, text in files.items() if text is not None}


def without_memory(description: str) -> dict[str, str]:
    """Return the files of a machine with unrecorded memory."""
    return {path: text for path, text in small_machine(description).items() if not path.endswith("meminfo")}


def sysfs_files(machine: Machine) -> Files:
    """Write every file of a machine that its model covers."""
    files: Files = dict(_lists(machine))
    for cpu in machine.cpus:
        files |= _cpu_files(cpu)
        for index, cache in enumerate(machine.caches_by_cpu.get(cpu.number, ())):
            files |= _cache_files(cpu.number, index, cache)
    for node in machine.numa_nodes:
        files |= _node_files(node)
    if not machine.numa_nodes and machine.numa_known:
        files["sys/bus/cpu"] = None
    if machine.memory_bytes is not None:
        files["proc/meminfo"] = f"MemTotal:       {machine.memory_bytes // 1024} kB\nMemFree:  0 kB\n"
    sockets = "\n".join(f"physical id\t: {cpu.package_id}" for cpu in machine.cpus)
    files["proc/cpuinfo"] = f"processor\t: 0\nmodel name\t: {machine.model_name or 'Test CPU'}\n{sockets}\n"
    return files


def cpu_map(cpus: CPUSet) -> str:
    """Write a mask of 64 CPUs or more the way kernels do."""
    digits = f"{cpus.mask:x}"
    digits = digits.rjust(max(16, -(-len(digits) // 8) * 8), "0")
    return ",".join(digits[i : i + 8] for i in range(0, len(digits), 8)) + "\n"


def _lists(machine: Machine) -> Iterator[tuple[str, str]]:
    lists = {
        "online": machine.online,
        "present": machine.present,
        "possible": machine.possible,
        "offline": machine.offline,
        "isolated": machine.isolated,
        "nohz_full": machine.nohz_full,
    }
    for name, cpus in lists.items():
        if cpus is not None:
            yield f"{CPU_DIR}/{name}", f"{cpus}\n"
    if machine.performance_cpus is not None:
        yield "sys/devices/cpu_core/cpus", f"{machine.performance_cpus}\n"
    if machine.efficiency_cpus is not None:
        yield "sys/devices/cpu_atom/cpus", f"{machine.efficiency_cpus}\n"


def _cpu_files(cpu: CPU) -> Files:
    directory = f"{CPU_DIR}/cpu{cpu.number}/topology"
    numbers = {
        "physical_package_id": cpu.package_id,
        "die_id": cpu.die_id,
        "cluster_id": 65535 if cpu.cluster_id is None else cpu.cluster_id,
        "core_id": cpu.core_id,
    }
    files: Files = {f"{directory}/{name}": f"{n}\n" for name, n in numbers.items() if n is not None}
    for name, cpus in {"thread_siblings": cpu.siblings, "core_siblings": cpu.package_cpus}.items():
        if cpus is not None:
            files[f"{directory}/{name}_list"] = f"{cpus}\n"
            files[f"{directory}/{name}"] = cpu_map(cpus)
    return files


def _cache_files(cpu: int, index: int, cache: Cache) -> Files:
    directory = f"{CPU_DIR}/cpu{cpu}/cache/index{index}"
    files: Files = {
        f"{directory}/level": f"{cache.level}\n",
        f"{directory}/type": f"{cache.kind}\n",
        f"{directory}/shared_cpu_list": f"{cache.cpus}\n",
        f"{directory}/shared_cpu_map": cpu_map(cache.cpus),
    }
    if cache.id is not None:
        files[f"{directory}/id"] = f"{cache.id}\n"
    if cache.size_bytes is not None:
        files[f"{directory}/size"] = f"{cache.size_bytes >> 10}K\n"
    return files


def _node_files(node: NumaNode) -> Files:
    directory = f"{NODE_DIR}/node{node.id}"
    files: Files = {f"{directory}/cpu{cpu}": None for cpu in node.cpus}
    files |= {f"{directory}/cpulist": f"{node.cpus}\n", f"{directory}/cpumap": cpu_map(node.cpus)}
    if node.distances:
        files[f"{directory}/distance"] = " ".join(map(str, node.distances)) + "\n"
    if node.memory_bytes is not None:
        prefix, total = f"Node {node.id}", node.memory_bytes // 1024
        files[f"{directory}/meminfo"] = (
            f"{prefix} MemTotal:  {total} kB\n{prefix} MemFree:   {total // 2} kB\n"
        )
    for size, pages in node.hugepages.items():
        files[f"{directory}/hugepages/hugepages-{size}kB/nr_hugepages"] = f"{pages}\n"
        files[f"{directory}/hugepages/hugepages-{size}kB/free_hugepages"] = f"{pages // 2}\n"
    return files
