"""Small machines for tests, built in the way in which a kubelet discovers them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.masks import CPUMask
from cpuctl.machine.machine_info import InfoCore, InfoNode, MachineInfo


@dataclass(frozen=True, slots=True)
class CoreAt:
    """One core: its CPUs and its position; without a cache, none is listed for it."""

    cpus: tuple[int, ...]
    numa_node: int = 0
    socket: int = 0
    cache: int | None = None


def mask(text: str) -> CPUMask:
    """Read a CPU list as the mask that the engine works with."""
    return CPUMask(CPUSet.parse(text).mask)


def machine_info(cores: Iterable[CoreAt], *, unlisted_cpus: int = 0) -> MachineInfo:
    """Describe a machine; *unlisted_cpus* are counted in the total, but belong to no core."""
    by_node: dict[int, list[InfoCore]] = {}
    for core in cores:
        caches = () if core.cache is None else (core.cache,)
        entry = InfoCore(socket_id=core.socket, threads=core.cpus, uncore_cache_ids=caches)
        by_node.setdefault(core.numa_node, []).append(entry)
    entries = [entry for node in by_node.values() for entry in node]
    return MachineInfo(
        nodes=tuple(InfoNode(id=node, cores=tuple(inside)) for node, inside in by_node.items()),
        num_cpus=sum(len(entry.threads) for entry in entries) + unlisted_cpus,
        num_sockets=len({entry.socket_id for entry in entries}),
    )


def topology(cores: Iterable[CoreAt], *, unlisted_cpus: int = 0) -> CPUTopology:
    """Discover a topology from its cores."""
    return CPUTopology.discover(machine_info(cores, unlisted_cpus=unlisted_cpus))


def regular(
    *,
    sockets: int = 1,
    nodes: int = 1,
    cores: int,
    threads: int = 1,
    cores_per_cache: int = 0,
    adjacent: bool = False,
) -> CPUTopology:
    """Build *sockets* of *nodes* NUMA nodes of *cores* cores of *threads* threads.

    Threads of a core have consecutive numbers if *adjacent*, else numbers as far apart as there are cores.
    """
    total = sockets * nodes * cores
    return topology(
        CoreAt(
            cpus=tuple(core * threads + n if adjacent else core + n * total for n in range(threads)),
            numa_node=core // cores,
            socket=core // (nodes * cores),
            cache=core // cores_per_cache if cores_per_cache else None,
        )
        for core in range(total)
    )


def uneven(*sizes: tuple[int, int], threads: int = 1) -> CPUTopology:
    """Build one NUMA node for every (socket, number of cores), CPUs numbered node by node."""
    number = count()
    return topology(
        CoreAt(cpus=tuple(next(number) for _ in range(threads)), numa_node=node, socket=socket)
        for node, (socket, cores) in enumerate(sizes)
        for _ in range(cores)
    )


def four_way_288() -> CPUTopology:
    """Build the 4 x 18 cores x 4 threads that upstream's tests take from a Knights Landing.

    Core ids are the hardware's, as in ``topoQuadSocketFourWayHT`` of kubernetes
    ``pkg/kubelet/cm/cpumanager/policy_test.go`` (02a24d55d0f6bd9caec546d13fca9a1580f7953d); discovery would
    use the smallest CPUs instead.
    """
    numbered = [63, *range(16), *range(18, 58), *range(60, 63)]
    first = {63: 37, 0: 0}
    cores = {
        core: (first.get(core, 48 + place), *(48 + place + step for step in (60, 120, 180)))
        for place, core in enumerate(numbered)
    }
    cores |= {64 + place: (1 + place, 13 + place, 25 + place, 38 + place) for place in range(12)}
    masks = {core: CPUMask(CPUSet.of(cpus).mask) for core, cpus in sorted(cores.items())}
    sockets = {
        socket: CPUMask(sum(cpus for core, cpus in masks.items() if core // 2 % 4 == socket))
        for socket in range(4)
    }
    return CPUTopology(
        numa_nodes=sockets,
        sockets=sockets,
        cores=masks,
        uncore_caches=sockets,
        num_cpus=288,
        num_sockets=4,
        num_cores=72,
    )
