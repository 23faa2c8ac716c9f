"""The driver ``dra.cpu`` as values: its configuration, and how it divides a machine into devices.

Rule: kubernetes-sigs/dra-driver-cpu at de98098, ``pkg/cpuinfo`` and ``internal/driverconfig``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from cpuctl.cpuset import CPUSet
from cpuctl.machine.model import CPU, Machine

DRIVER = "dra.cpu"
_NO_CLUSTER = 65535
"""The value that the kernel prints for a cluster id of -1."""
_UNKNOWN = -1
_NONE = CPUSet()


class DeviceMode(StrEnum):
    """The kind of devices: individual CPUs, or groups of CPUs of which claims consume a share."""

    GROUPED = "grouped"
    INDIVIDUAL = "individual"


class GroupBy(StrEnum):
    """The criterion of groups in grouped mode."""

    NUMA_NODE = "numanode"
    SOCKET = "socket"
    MACHINE = "machine"


class DriverSettings(NamedTuple):
    """The part of the driver's configuration that determines devices; the defaults are the driver's.

    ``reserved`` CPUs are not in any slice, and containers of the driver's node do not run on them.
    """

    mode: DeviceMode = DeviceMode.GROUPED
    group_by: GroupBy = GroupBy.NUMA_NODE
    reserved: CPUSet = CPUSet()
    expose_pcie_roots: bool = False
    node_allocatable_mapping: bool = False


class DriverCPU(NamedTuple):
    """A CPU with the ids that the driver reads; ``sibling`` is None unless its core has exactly two CPUs.

    ``cache`` is the id of its level-3 cache, -1 if it has none.
    """

    number: int
    socket: int
    cluster: int
    core: int
    numa_node: int
    cache: int
    core_type: str = "standard"
    sibling: int | None = None

    @property
    def physical_core(self) -> tuple[int, int, int]:
        """Socket, cluster and core: the driver identifies a core by all three when it looks for siblings."""
        return self.socket, self.cluster, self.core


class _Discovered(NamedTuple):
    cpus: Mapping[int, DriverCPU]
    online: CPUSet
    smt_enabled: bool
    pcie_roots: Mapping[str, CPUSet] = {}
    skipped: CPUSet = CPUSet()


class DriverMachine(_Discovered):
    """A machine as the driver sees it: CPUs by number, ascending, and the CPUs near every PCIe root.

    ``skipped`` are online CPUs that lack a socket, core, NUMA node or cache directory: the driver logs a line
    and continues without them.
    """

    @classmethod
    def discover(
        cls,
        machine: Machine,
        *,
        smt_control: bool | None = None,
        pcie_roots: Mapping[str, CPUSet] | None = None,
        cacheless: CPUSet = _NONE,
    ) -> DriverMachine:
        """Label every CPU; *smt_control* is the content of ``smt/control``, None without this file.

        *cacheless* CPUs do not have a cache directory, not even an empty one.
        """
        read = [
            _driver_cpu(machine, cpu)
            for cpu in machine.cpus
            if _complete(cpu) and cpu.number not in cacheless
        ]
        cores: dict[tuple[int, int, int], list[int]] = defaultdict(list)
        for each in read:
            cores[each.physical_core].append(each.number)
        cpus = {each.number: each._replace(sibling=_sibling(each, cores)) for each in read}
        return cls(
            cpus=cpus,
            online=machine.online,
            smt_enabled=len(cpus) > len(cores) if smt_control is None else smt_control,
            pcie_roots=pcie_roots or {},
            skipped=machine.online - CPUSet.of(cpus),
        )

    @cached_property
    def all_cpus(self) -> CPUSet:
        """The CPUs that the driver knows."""
        return CPUSet.of(self.cpus)

    @cached_property
    def numa_nodes(self) -> Mapping[int, CPUSet]:
        """CPUs by NUMA node, ascending."""
        return _grouped((cpu.numa_node, cpu.number) for cpu in self.cpus.values())

    @cached_property
    def sockets(self) -> Mapping[int, CPUSet]:
        """CPUs by socket, ascending."""
        return _grouped((cpu.socket, cpu.number) for cpu in self.cpus.values())

    @cached_property
    def caches(self) -> Mapping[int, CPUSet]:
        """CPUs by level-3 cache, ascending; -1 for those without."""
        return _grouped((cpu.cache, cpu.number) for cpu in self.cpus.values())

    @cached_property
    def physical_cores(self) -> tuple[tuple[DriverCPU, ...], ...]:
        """The CPUs of every core, as distinguished by socket, cluster and core id; by lowest CPU."""
        cores: dict[tuple[int, int, int], list[DriverCPU]] = defaultdict(list)
        for cpu in self.cpus.values():
            cores[cpu.physical_core].append(cpu)
        return tuple(tuple(each) for each in cores.values())

    @cached_property
    def repeated_core_ids(self) -> tuple[int, ...]:
        """Core ids that several cores share: the driver treats these cores as one when it picks CPUs."""
        seen: dict[int, int] = defaultdict(int)
        for core in self.physical_cores:
            seen[core[0].core] += 1
        return tuple(sorted(core for core, times in seen.items() if times > 1))

    def roots_near(self, cpus: CPUSet) -> tuple[str, ...]:
        """Return the names of the PCIe roots near any of these CPUs, sorted."""
        return tuple(
            sorted(root for root, near in self.pcie_roots.items() if not cpus.isdisjoint(near & self.online))
        )


def _complete(cpu: CPU) -> bool:
    """Return whether the driver would accept a CPU: it skips negative ids of socket, core and NUMA node."""
    return all(each is not None and each >= 0 for each in (cpu.package_id, cpu.core_id, cpu.numa_node))


def _driver_cpu(machine: Machine, cpu: CPU) -> DriverCPU:
    assert cpu.package_id is not None
    assert cpu.core_id is not None
    assert cpu.numa_node is not None
    cluster = _UNKNOWN if cpu.cluster_id in (None, _NO_CLUSTER) else cpu.cluster_id
    assert cluster is not None
    cache = next((each for each in machine.caches_by_cpu.get(cpu.number, ()) if each.level == 3), None)
    return DriverCPU(
        number=cpu.number,
        socket=cpu.package_id,
        cluster=cluster,
        core=cpu.core_id,
        numa_node=cpu.numa_node,
        cache=_UNKNOWN if cache is None else cache.cpus.lowest if cache.id is None else cache.id,
        core_type=_core_type(machine, cpu.number),
    )


def _core_type(machine: Machine, cpu: int) -> str:
    """Return a CPU's type of core as the kernel reports it, for example in ``/sys/devices/cpu_atom/cpus``."""
    if machine.efficiency_cpus is None:
        return "standard"
    return "e-core" if cpu in machine.efficiency_cpus else "p-core"


def _sibling(cpu: DriverCPU, cores: Mapping[tuple[int, int, int], list[int]]) -> int | None:
    threads = cores[cpu.physical_core]
    return sum(threads) - cpu.number if len(threads) == 2 else None


def _grouped(labelled: Iterable[tuple[int, int]]) -> dict[int, CPUSet]:
    masks: dict[int, int] = {}
    for element, cpu in labelled:
        masks[element] = masks.get(element, 0) | 1 << cpu
    return {element: CPUSet(masks[element]) for element in sorted(masks)}
