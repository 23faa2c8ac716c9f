"""The CPUs of a machine out of ``/sys/devices/system/cpu``.

Files: *Documentation/ABI/stable/sysfs-devices-system-cpu* and *Documentation/admin-guide/cputopology.rst*.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import NamedTuple

from cpuctl.cpuset import CPUSet
from cpuctl.errors import InputError
from cpuctl.machine.kernel_text import parse_flag
from cpuctl.machine.model import CPU
from cpuctl.machine.sysfs.kernel_files import KernelFiles
from cpuctl.machine.wording import are, have, named

CPU_DIRECTORY = "sys/devices/system/cpu"

_NO_CLUSTER = 65535  # what firmware tables without clusters make kernels print
_SIBLING_LISTS = ("thread_siblings_list", "core_cpus_list")
_SIBLING_MAPS = ("thread_siblings", "core_cpus")
_PACKAGE_LISTS = ("core_siblings_list", "package_cpus_list")
_PACKAGE_MAPS = ("core_siblings", "package_cpus")


class CPUStates(NamedTuple):
    """Which CPUs there are and what state they are in."""

    online: CPUSet
    present: CPUSet
    possible: CPUSet | None
    isolated: CPUSet
    nohz_full: CPUSet

    @property
    def offline(self) -> CPUSet:
        """Present CPUs that do not run (the kernel's own ``offline`` also counts slots never filled)."""
        return self.present - self.online


def read_cpu_states(files: KernelFiles) -> CPUStates:
    """Read the CPU lists; without them, the CPU directories and their ``online`` switches tell.

    Raise InputError for a file that makes no sense, and where no CPU is online.
    """
    directories = files.numbered(CPU_DIRECTORY, "cpu")
    online = files.cpu_list(f"{CPU_DIRECTORY}/online")
    switched_off = _switched_off(files, directories)
    if online is None:
        online = directories - switched_off
        files.notes.append(
            "There is no list of online CPUs: every CPU that is not switched off counts as online."
        )
    elif online & switched_off:
        files.notes.append(
            f"{are(online & switched_off)} online by the list {CPU_DIRECTORY}/online, which is used, "
            "and offline by their own switches."
        )
    if not online:
        raise InputError("found no online CPU, expected at least one", where=CPU_DIRECTORY)
    present = files.cpu_list(f"{CPU_DIRECTORY}/present")
    return CPUStates(
        online=online,
        present=online | (directories if present is None else present),
        possible=files.cpu_list(f"{CPU_DIRECTORY}/possible"),
        isolated=files.cpu_list(f"{CPU_DIRECTORY}/isolated") or CPUSet(),
        nohz_full=files.cpu_list(f"{CPU_DIRECTORY}/nohz_full") or CPUSet(),
    )


def _switched_off(files: KernelFiles, directories: CPUSet) -> CPUSet:
    # A CPU without the file cannot be switched off: the boot CPU, or all of them.
    paths = {cpu: f"{CPU_DIRECTORY}/cpu{cpu}/online" for cpu in directories}
    empty = CPUSet.of(cpu for cpu, path in paths.items() if files.is_blank(path))
    if empty:
        files.notes.append(f"{have(empty)} an empty online switch, which tells nothing and is passed over.")
    switches = ((cpu, files.value(paths[cpu], parse_flag)) for cpu in directories - empty)
    return CPUSet.of(cpu for cpu, switch in switches if switch is False)


def read_cpus(files: KernelFiles, online: CPUSet, node_of: Mapping[int, int]) -> tuple[CPU, ...]:
    """Read every online CPU; *node_of* names its NUMA node.

    A CPU without topology files has no ids: cAdvisor passes over such CPUs. Raise InputError for a CPU that
    has no directory.
    """
    _require_directories(files, online)
    cpus = [_read_cpu(files, cpu, online, node_of.get(cpu)) for cpu in online]
    return tuple(_with_siblings_by_ids(files, cpus))


def _require_directories(files: KernelFiles, online: CPUSet) -> None:
    missing = online - files.numbered(CPU_DIRECTORY, "cpu")
    if missing:
        where = f"{CPU_DIRECTORY}/cpu{missing.lowest}"
        raise InputError(
            f"found no such directory, expected one for every online CPU ({online})", where=where
        )


def _read_cpu(files: KernelFiles, number: int, online: CPUSet, node: int | None) -> CPU:
    directory = f"{CPU_DIRECTORY}/cpu{number}"
    topology = f"{directory}/topology/"
    cluster = files.number(f"{topology}cluster_id")
    siblings = files.cpu_set(topology, _SIBLING_LISTS, _SIBLING_MAPS)
    package = files.cpu_set(topology, _PACKAGE_LISTS, _PACKAGE_MAPS)
    return CPU(
        number=number,
        siblings=_with_itself(number, siblings & online) if siblings else CPUSet(),
        numa_node=node,
        package_id=files.number(f"{topology}physical_package_id"),
        package_cpus=_with_itself(number, package & online) if package else None,
        die_id=files.number(f"{topology}die_id"),
        cluster_id=None if cluster == _NO_CLUSTER else cluster,
        core_id=files.number(f"{topology}core_id"),
        book_id=files.number(f"{topology}book_id"),
        drawer_id=files.number(f"{topology}drawer_id"),
        capacity=files.number(f"{directory}/cpu_capacity"),
        max_khz=files.number(f"{directory}/cpufreq/cpuinfo_max_freq"),
        min_khz=files.number(f"{directory}/cpufreq/cpuinfo_min_freq"),
    )


def _with_itself(number: int, cpus: CPUSet) -> CPUSet:
    return cpus | CPUSet(1 << number)


def _with_siblings_by_ids(files: KernelFiles, cpus: list[CPU]) -> list[CPU]:
    """Where the kernel names no siblings, make CPUs with equal ids siblings."""
    unnamed = [cpu for cpu in cpus if not cpu.siblings]
    if not unnamed:
        return cpus
    cores: dict[Hashable, int] = {}
    for cpu in unnamed:
        cores[_core_key(cpu)] = cores.get(_core_key(cpu), 0) | 1 << cpu.number
    numbers = CPUSet.of(cpu.number for cpu in unnamed)
    files.notes.append(
        f"The kernel names no thread siblings of {named(numbers)}: equal core ids make a core."
    )
    return [cpu if cpu.siblings else cpu._replace(siblings=CPUSet(cores[_core_key(cpu)])) for cpu in cpus]


def _core_key(cpu: CPU) -> Hashable:
    if cpu.core_id is None or cpu.core_id < 0:
        return cpu.number, None
    return cpu.drawer_id, cpu.book_id, cpu.package_id, cpu.die_id, cpu.cluster_id, cpu.core_id
