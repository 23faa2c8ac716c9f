"""What is unusual about a machine, and what a kubelet makes of it, in plain sentences.

Rule: what cAdvisor hands on is in ``cpuctl.machine.cadvisor.view``; for the rest kubelet v1.36
``cm/cpumanager/topology/topology.go`` and ``cm/topologymanager``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator

from cpuctl.cpuset import CPUSet
from cpuctl.machine.cadvisor.machine_info import MachineInfo
from cpuctl.machine.cadvisor.view import kubelet_view
from cpuctl.machine.model import CPU, Machine, NumaNode
from cpuctl.machine.wording import are, count, have, named

_MOST_NUMA_NODES = 8  # more than these a kubelet's Topology Manager refuses unless told otherwise


def machine_findings(machine: Machine) -> tuple[str, ...]:
    """Say what is unusual, in a fixed order; an ordinary machine gives nothing."""
    info = kubelet_view(machine)
    return (*topology_findings(machine, info), *_last_level_caches(machine, info))


def topology_findings(machine: Machine, info: MachineInfo) -> tuple[str, ...]:
    """Say what is unusual apart from caches; what a kubelet makes of it is counted in what it is told."""
    return (
        *_offline(machine, info),
        *_unnamed_ids(machine),
        *_repeated_core_ids(machine),
        *_asymmetric_siblings(machine),
        *_uneven_cores(machine, info),
        *_packages_by_id_and_by_list(machine),
        *_core_types(machine),
        *_no_numa_nodes(machine, info),
        *_outside(machine, info),
        *_numa_nodes(machine),
        *_memory(machine),
        *_node_files(machine),
    )


def _where(machine: Machine, holds: Callable[[CPU], bool]) -> CPUSet:
    return CPUSet.of(cpu.number for cpu in machine.cpus if holds(cpu))


def _nodes_where(machine: Machine, holds: Callable[[NumaNode], bool]) -> CPUSet:
    return CPUSet.of(node.id for node in machine.numa_nodes if holds(node))


def _seen(info: MachineInfo) -> CPUSet:
    return CPUSet.of(cpu for node in info.nodes for core in node.cores for cpu in core.threads)


def _offline(machine: Machine, info: MachineInfo) -> Iterator[str]:
    if not machine.offline:
        return
    if info.num_cpus > len(machine.online):
        yield (
            f"{are(machine.offline)} offline: without NUMA nodes a kubelet counts such CPUs all the same "
            f"({info.num_cpus} in all), and gives them to nobody."
        )
    else:
        yield f"{are(machine.offline)} offline: a kubelet counts online CPUs only."


def _unnamed_ids(machine: Machine) -> Iterator[str]:
    bare = _where(machine, lambda cpu: cpu.core_id is None and cpu.package_id is None)
    if bare:
        yield f"{have(bare)} neither core id nor package id: a kubelet does not see such CPUs."
    if cpus := _where(machine, lambda cpu: cpu.core_id is None) - bare:
        yield f"{have(cpus)} no core id: a kubelet does not see such CPUs."
    if cpus := _where(machine, lambda cpu: cpu.package_id is None) - bare:
        yield f"{have(cpus)} no package id: a kubelet does not see such CPUs."
    if cpus := _where(machine, lambda cpu: cpu.package_id is not None and cpu.package_id < 0):
        yield f"{have(cpus)} package id -1, unknown: a kubelet takes -1 for a socket."


def _repeated_core_ids(machine: Machine) -> Iterator[str]:
    """Tell of different cores that have the same ids, as on machines whose ids count per cluster."""
    cores: dict[Hashable, set[CPUSet]] = {}
    for cpu in machine.cpus:
        if cpu.core_id is not None:
            key = (cpu.drawer_id, cpu.book_id, cpu.package_id, cpu.numa_node, cpu.core_id)
            cores.setdefault(key, set()).add(cpu.siblings)
    merged = [sorted(sets, key=lambda cpus: cpus.mask) for sets in cores.values() if len(sets) > 1]
    if merged:
        first = " and ".join(str(cpus) for cpus in merged[0][:2])
        verb = "are" if len(merged) > 1 else "is"
        yield (
            f"{count(len(merged), 'core id')} {verb} repeated inside one socket and NUMA node, CPUs {first} "
            "for example: a kubelet takes such cores for one."
        )


def _asymmetric_siblings(machine: Machine) -> Iterator[str]:
    listed_by: dict[CPUSet, int] = {}
    for cpu in machine.cpus:
        listed_by[cpu.siblings] = listed_by.get(cpu.siblings, 0) | 1 << cpu.number
    odd = CPUSet()
    for siblings, mask in listed_by.items():
        if not siblings & machine.online <= CPUSet(mask):
            odd |= CPUSet(mask)
    if odd:
        yield f"Thread siblings disagree about {named(odd)}: the list of the lowest CPU decides."


def _uneven_cores(machine: Machine, info: MachineInfo) -> Iterator[str]:
    sizes = sorted(set(map(len, machine.cores)))
    if len(sizes) > 1:
        cores = sum(len(node.cores) for node in info.nodes)
        average = f", {info.num_cpus // cores}" if cores else ""
        yield (
            f"Cores have {' or '.join(map(str, sizes))} CPUs online: a kubelet counts with the average"
            f"{average}."
        )


def _packages_by_id_and_by_list(machine: Machine) -> Iterator[str]:
    by_id = {(cpu.package_id, cpu.book_id, cpu.drawer_id) for cpu in machine.cpus}
    by_list = {cpu.package_cpus for cpu in machine.cpus}
    pairs = {(cpu.package_id, cpu.book_id, cpu.drawer_id, cpu.package_cpus) for cpu in machine.cpus}
    if None in by_list or any(cpu.package_id in {None, -1} for cpu in machine.cpus):
        return
    if not len(by_id) == len(by_list) == len(pairs):
        yield (
            f"Package ids make {count(len(by_id), 'socket')}, package CPU lists {len(by_list)}: "
            "the sockets shown and a kubelet's labels go by the ids."
        )


def _core_types(machine: Machine) -> Iterator[str]:
    if machine.performance_cpus and machine.efficiency_cpus:
        yield (
            f"Performance cores (CPUs {machine.performance_cpus}) and efficiency cores "
            f"(CPUs {machine.efficiency_cpus}) are alike to a kubelet."
        )
    elif machine.core_kinds.guessed:
        yield (
            f"Maximum frequencies differ as those of different cores do (efficiency cores: CPUs "
            f"{machine.core_kinds.efficiency}): a guess, as the kernel names no kinds of cores; they are "
            "alike to a kubelet."
        )
    capacities = sorted({cpu.capacity for cpu in machine.cpus if cpu.capacity is not None})
    if len(capacities) > 1:
        yield f"CPUs differ in capacity ({', '.join(map(str, capacities))}): they are alike to a kubelet."


def _no_numa_nodes(machine: Machine, info: MachineInfo) -> Iterator[str]:
    if machine.numa_nodes:
        return
    packages = [node.id for node in info.nodes if node.cores]
    ids = f"id{'s' * (len(packages) > 1)} {', '.join(map(str, packages))}"
    by_packages = (
        f"a kubelet takes packages for nodes, and counts {count(len(packages), 'NUMA node')} ({ids})"
    )
    if packages and not machine.numa_known:
        yield (
            "Nothing is recorded of NUMA nodes: they are counted as on a kernel without them, where "
            f"{by_packages}; what they have is not known."
        )
    elif packages:
        yield f"The kernel shows no NUMA nodes: {by_packages}, to its Memory Manager without memory."
    elif not machine.numa_known:
        yield "Nothing is recorded of NUMA nodes and packages: a kubelet without both counts no NUMA node."
    else:
        yield "The kernel shows neither NUMA nodes nor packages: a kubelet counts no NUMA node."


def _outside(machine: Machine, info: MachineInfo) -> Iterator[str]:
    in_nodes = CPUSet.of(cpu for node in machine.numa_nodes for cpu in node.cpus)
    if machine.numa_nodes and (outside := machine.online - in_nodes - _seen(info)):
        yield f"{are(outside)} in no NUMA node: a kubelet does not see such CPUs."


def _numa_nodes(machine: Machine) -> Iterator[str]:
    nodes = _nodes_where(machine, lambda _: True)
    if bare := _nodes_where(machine, lambda node: not node.cpus):
        yield f"{have(bare, 'NUMA node')} no CPUs."
    if empty := _nodes_where(machine, lambda node: node.memory_bytes == 0):
        yield f"{have(empty, 'NUMA node')} no memory."
    if nodes != CPUSet((1 << len(nodes)) - 1):
        yield f"NUMA node numbers have gaps: {nodes}."
    if len(nodes) > _MOST_NUMA_NODES:
        yield (
            f"There are {len(nodes)} NUMA nodes: with a topology manager policy other than none a kubelet "
            f"does not start on more than {_MOST_NUMA_NODES} unless max-allowable-numa-nodes allows it."
        )


def _memory(machine: Machine) -> Iterator[str]:
    if untold := _nodes_where(machine, lambda node: node.memory_bytes is None):
        yield f"Nothing is recorded of the memory of {named(untold, 'NUMA node')}."
    if not machine.hugepages_known:
        yield "Nothing is recorded of huge pages."
    total = machine.memory_bytes or 0
    if untold:
        return
    in_nodes = sum(node.memory_bytes or 0 for node in machine.numa_nodes)
    if total and in_nodes and abs(total - in_nodes) * 100 > total:
        yield (
            f"/proc/meminfo tells of {total >> 20} MiB of memory, the NUMA nodes of {in_nodes >> 20} MiB: "
            "a kubelet uses the one for the machine and the others for its Memory Manager."
        )


def _node_files(machine: Machine) -> Iterator[str]:
    if nodes := _nodes_where(machine, lambda node: node.directory_cpus is not None):
        yield (
            f"The directories of {named(nodes, 'NUMA node')} hold other CPUs than their lists say: "
            "a kubelet goes by the directories."
        )
    expected = {0, len(machine.numa_nodes)}
    if nodes := _nodes_where(machine, lambda node: len(node.distances) not in expected):
        yield f"The distances of {named(nodes, 'NUMA node')} do not match the number of nodes."


def _last_level_caches(machine: Machine, info: MachineInfo) -> Iterator[str]:
    instead = "" if _has_uncore_caches(info) else ": a kubelet uses sockets in place of uncore caches"
    unshared = CPUSet.of(cpu for cache in machine.caches if not cache.told for cpu in cache.cpus)
    if unshared:
        yield f"The kernel does not tell which CPUs share some caches of {named(unshared)}."
    if partial := CPUSet.of(cpu for cache in machine.caches if not cache.complete for cpu in cache.cpus):
        yield (
            f"Files of caches of {named(partial)} are missing: a kubelet passes over all caches of such a "
            "NUMA node."
        )
    if not machine.caches_known and not unshared:
        yield "Nothing is recorded of caches: without them a kubelet uses sockets in place of uncore caches."
        return
    if not machine.l3_groups:
        known = "shared by CPUs that the kernel names" if unshared else "recorded"
        yield f"No level-3 cache is {known}{instead}."
        return
    if any(cache.id is None for cache in machine.caches):
        seen = " and uses sockets in place of uncore caches" if instead else ""
        yield f"Caches have no ids: a kubelet does not see them{seen}."
    if machine.online != CPUSet.of(cpu for group in machine.l3_groups for cpu in group):
        yield "Not every CPU has a level-3 cache."


def _has_uncore_caches(info: MachineInfo) -> bool:
    return any(core.uncore_cache_ids for node in info.nodes for core in node.cores)
