"""What the kubelet knows about its machine: the values from cAdvisor.

The kubelet never reads sysfs itself; its managers see only these values (cAdvisor's ``MachineInfo``,
``info/v1/machine.go``), quirks included. Rules: ``utils/sysinfo/sysinfo.go`` and ``machine/machine.go``.
cAdvisor visits directories in the order of their names, so ``cpu10`` precedes ``cpu2``, and identifies a core
by core id and package id, on s390x since v0.50 also by book and drawer: ``MachineInfo.without_books`` is what
older versions report.
"""

from collections.abc import Hashable, Iterator, Mapping
from typing import Self

from cpuctl.cpuset import CPUSet
from cpuctl.machine.model import CPU, Cache, Machine, NumaNode
from cpuctl.records import Record, replace


class InfoCore(Record):
    """One core entry: its threads (CPU numbers, as discovered) and the ids of the uncore caches it lists.

    ``book_id`` and ``drawer_id`` group sockets on s390x; other machines do not have them.
    """

    socket_id: int
    threads: tuple[int, ...]
    uncore_cache_ids: tuple[int, ...] = ()
    core_id: int = 0
    book_id: int | None = None
    drawer_id: int | None = None


class InfoNode(Record):
    """One NUMA node entry; ``hugepages`` counts pages by page size in KiB.

    ``memory_known`` is False if nothing is recorded about the node's memory, which is then unknown.
    ``distances`` are the kernel's relative values, 10 to the node itself, in the kernel's node order.
    """

    id: int
    cores: tuple[InfoCore, ...]
    memory_bytes: int = 0
    hugepages: Mapping[int, int] = {}
    distances: tuple[int, ...] = ()
    memory_known: bool = True


class MachineInfo(Record):
    """The node entries and the three totals that cAdvisor counts separately.

    ``ephemeral_storage`` is the size of the kubelet's file system in bytes, None if unknown; ``memory_bytes``
    is 0 if unknown, and ``hugepages_known`` is False if the huge pages of some node are unknown.
    ``caches_known`` is False if it is unknown which CPUs share caches: unreported caches may exist.
    ``cores_known`` is False if no CPU has both a known core and a known package.
    """

    nodes: tuple[InfoNode, ...]
    num_cpus: int
    num_sockets: int
    memory_bytes: int = 0
    ephemeral_storage: int | None = None
    hugepages_known: bool = True
    caches_known: bool = True
    cores_known: bool = True

    @property
    def nodes_without_memory(self) -> tuple[int, ...]:
        """The NUMA nodes whose memory is not recorded."""
        return tuple(sorted(node.id for node in self.nodes if not node.memory_known))

    @property
    def threads_per_core(self) -> int:
        """The number of CPUs of the largest core."""
        return max((len(core.threads) for node in self.nodes for core in node.cores), default=1)

    @property
    def num_cores(self) -> int:
        """The number of cores in the node entries."""
        return sum(len(node.cores) for node in self.nodes)

    @property
    def cpus_per_core(self) -> int:
        """The average that the CPU Manager takes for every core, rounded down; 0 without cores.

        Rule: kubelet v1.36 ``cm/cpumanager/topology/topology.go`` (``CPUsPerCore``).
        """
        return self.num_cpus // self.num_cores if self.num_cores else 0

    @property
    def without_books(self) -> Self:
        """The view of a cAdvisor without books and drawers, which merges cores with the same id."""
        if all(core.book_id is core.drawer_id is None for node in self.nodes for core in node.cores):
            return self
        return replace(self, nodes=tuple(map(_without_books, self.nodes)))


def _without_books(node: InfoNode) -> InfoNode:
    cores: dict[tuple[int, int], InfoCore] = {}
    for core in node.cores:
        same = cores.setdefault((core.core_id, core.socket_id), replace(core, threads=()))
        # Directories of CPUs are read in the order of their names.
        threads = tuple(sorted(same.threads + core.threads, key=str))
        cores[core.core_id, core.socket_id] = replace(same, threads=threads, book_id=None, drawer_id=None)
    return replace(node, cores=tuple(cores.values()))


def kubelet_view(machine: Machine) -> MachineInfo:
    """Return the machine information that a kubelet on this machine uses."""
    if machine.numa_nodes:
        nodes = [_node(machine, node) for node in sorted(machine.numa_nodes, key=lambda node: str(node.id))]
        num_cpus = sum(len(core.threads) for node in nodes for core in node.cores)
    else:
        nodes = _nodes_by_package(machine)
        # Without NUMA nodes cAdvisor counts CPU directories, including those of offline CPUs.
        num_cpus = len(machine.online if machine.present is None else machine.present)
    return MachineInfo(
        nodes=tuple(nodes),
        num_cpus=num_cpus,
        num_sockets=machine.cpuinfo_sockets or _count_package_ids(machine),
        memory_bytes=machine.memory_bytes or 0,
        hugepages_known=machine.hugepages_known,
        caches_known=machine.caches_known,
        cores_known=any(cpu.core_id is not None and cpu.package_id is not None for cpu in machine.cpus),
    )


def _count_package_ids(machine: Machine) -> int:
    return len({cpu.package_id or 0 for cpu in machine.cpus})


def _node(machine: Machine, node: NumaNode) -> InfoNode:
    members = node.cpus if node.directory_cpus is None else node.directory_cpus
    return InfoNode(
        id=node.id,
        cores=_cores(machine, members),
        memory_bytes=node.memory_bytes or 0,
        hugepages=node.hugepages,
        distances=node.distances,
        memory_known=node.memory_bytes is not None,
    )


def _nodes_by_package(machine: Machine) -> list[InfoNode]:
    packages = sorted({cpu.package_id for cpu in machine.cpus if cpu.package_id is not None})
    return [
        InfoNode(
            id=package,
            cores=_cores(machine, CPUSet.of(cpu.number for cpu in machine.cpus if cpu.package_id == package)),
            memory_known=machine.numa_known,
        )
        for package in packages
    ]


def _cores(machine: Machine, members: CPUSet) -> tuple[InfoCore, ...]:
    """Group a node's CPUs into core entries; a CPU without core id or package id is left out."""
    entries: dict[Hashable, list[CPU]] = {}
    for number in sorted(members, key=str):
        cpu = machine.cpu_by_number[number]
        if cpu.core_id is not None and cpu.package_id is not None:
            key = (cpu.core_id, cpu.package_id, cpu.book_id, cpu.drawer_id)
            entries.setdefault(key, []).append(cpu)
    uncore_ids = list(_uncore_cache_ids(machine, list(entries.values())))
    return tuple(
        InfoCore(
            socket_id=cpus[0].package_id or 0,
            core_id=cpus[0].core_id or 0,
            book_id=cpus[0].book_id,
            drawer_id=cpus[0].drawer_id,
            threads=tuple(cpu.number for cpu in cpus),
            uncore_cache_ids=uncore_ids[index] if index < len(uncore_ids) else (),
        )
        for index, cpus in enumerate(entries.values())
    )


def _uncore_cache_ids(machine: Machine, entries: list[list[CPU]]) -> Iterator[tuple[int, ...]]:
    """Yield every core entry's caches above level 2, except those shared by as many CPUs as the node has.

    cAdvisor reads id and size of every cache of each core's first CPU, and stops for the whole node at the
    first missing file (on Arm, where caches have no ids, at the first core).
    """
    for cpus in entries:
        caches = machine.caches_by_cpu.get(cpus[0].number, ())
        if not caches or any(_lacks_a_file(cache) for cache in caches):
            return
        node_size = len(entries) * len(cpus)
        # It counts the bits of the kernel's map, zero if that is empty.
        uncore = (
            cache
            for cache in caches
            if (cache.level or 0) > 2 and len(cache.cpus) * cache.sharing_known != node_size
        )
        yield tuple(cache.id for cache in uncore if cache.id is not None)


def _lacks_a_file(cache: Cache) -> bool:
    return not cache.complete or cache.id is None or cache.size_bytes is None
