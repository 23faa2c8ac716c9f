"""What is unusual about a machine, and what a kubelet makes of it, in plain sentences.

Rule: what cAdvisor hands on is in ``cpuctl.machine.cadvisor.view``; for the rest kubelet v1.36
``cm/cpumanager/topology/topology.go`` and ``cm/topologymanager``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator

from cpuctl.cpuset import CPUSet
from cpuctl.machine.model import CPU, Machine, NumaNode
from cpuctl.machine.wording import are, count, have, named

_MOST_NUMA_NODES = 8  # more than these a kubelet's Topology Manager refuses unless told otherwise


def machine_findings(machine: Machine) -> tuple[str, ...]:
    """Say what is unusual, in a fixed order; an ordinary machine gives nothing."""
    return (*topology_findings(machine), *_last_level_caches(machine))


def topology_findings(machine: Machine) -> tuple[str, ...]:
    """Say what is unusual apart from caches."""
    return tuple(sentence for find in _FINDERS for sentence in find(machine))


def _where(machine: Machine, holds: Callable[[CPU], bool]) -> CPUSet:
    return CPUSet.of(cpu.number for cpu in machine.cpus if holds(cpu))


def _nodes_where(machine: Machine, holds: Callable[[NumaNode], bool]) -> CPUSet:
    return CPUSet.of(node.id for node in machine.numa_nodes if holds(node))


def _offline(machine: Machine) -> Iterator[str]:
    if machine.offline:
        yield f"{are(machine.offline)} offline: a kubelet counts online CPUs only."


def _unnamed_ids(machine: Machine) -> Iterator[str]:
    if cpus := _where(machine, lambda cpu: cpu.core_id is None):
        yield f"{have(cpus)} no core id: a kubelet does not see such CPUs."
    if cpus := _where(machine, lambda cpu: cpu.package_id is None):
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


def _uneven_cores(machine: Machine) -> Iterator[str]:
    sizes = sorted(set(map(len, machine.cores)))
    if len(sizes) > 1:
        yield (
            f"Cores have {' or '.join(map(str, sizes))} CPUs online: a kubelet counts with the average, "
            f"{len(machine.cpus) // len(machine.cores)}."
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
            "both the sockets shown and a kubelet go by the ids."
        )


def _core_types(machine: Machine) -> Iterator[str]:
    if machine.performance_cpus and machine.efficiency_cpus:
        yield (
            f"Performance cores (CPUs {machine.performance_cpus}) and efficiency cores "
            f"(CPUs {machine.efficiency_cpus}) are alike to a kubelet."
        )
    capacities = sorted({cpu.capacity for cpu in machine.cpus if cpu.capacity is not None})
    if len(capacities) > 1:
        yield f"CPUs differ in capacity ({', '.join(map(str, capacities))}): they are alike to a kubelet."


def _numa_nodes(machine: Machine) -> Iterator[str]:
    nodes = _nodes_where(machine, lambda _: True)
    if not nodes:
        yield "The kernel shows no NUMA nodes: a kubelet takes every socket for one."
        return
    if outside := machine.online - CPUSet.of(cpu for node in machine.numa_nodes for cpu in node.cpus):
        yield f"{are(outside)} in no NUMA node: a kubelet does not see such CPUs."
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
    total = machine.memory_bytes or 0
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


def _last_level_caches(machine: Machine) -> Iterator[str]:
    if not machine.l3_groups:
        yield "No level-3 cache is recorded: a kubelet uses sockets in place of uncore caches."
        return
    if any(cache.id is None for cache in machine.caches):
        yield "Caches have no ids: a kubelet does not see them and uses sockets in place of uncore caches."
    if machine.online != CPUSet.of(cpu for group in machine.l3_groups for cpu in group):
        yield "Not every CPU has a level-3 cache."


_FINDERS: tuple[Callable[[Machine], Iterator[str]], ...] = (
    _offline,
    _unnamed_ids,
    _repeated_core_ids,
    _asymmetric_siblings,
    _uneven_cores,
    _packages_by_id_and_by_list,
    _core_types,
    _numa_nodes,
    _memory,
    _node_files,
)
