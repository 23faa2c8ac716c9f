"""Where a kubelet's view of a machine departs from its kernel's.

The kubelet knows only the CPUs that cAdvisor lists: a core by its (core id, package id) inside a NUMA node,
an uncore cache by the first one listed for a core, or else by the socket.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.machine.model import Machine
from cpuctl.phrases import named


def differing_views(machine: Machine, topology: CPUTopology) -> Iterator[str]:
    """Yield one sentence for every way in which the two views split the CPUs differently."""
    missing = machine.online - CPUSet(topology.cpus)
    if missing:
        yield f"the kubelet does not know {named(missing)}, which {_verb(missing)} online"
    extra = CPUSet(topology.cpus) - machine.online
    if extra:
        yield f"the kubelet knows {named(extra)}, which {_verb(extra)} not online"
    for what, kernel, kubelet in _partitions(machine, topology):
        # That CPUs are missing is told: how the others go together is another matter.
        shared = {mask & topology.cpus for mask in kernel} - {0}
        if shared != kubelet:
            counts = f"{what}: {len(kernel)} for the kernel, {len(kubelet)} for the kubelet"
            yield (
                counts + _example("the kernel", shared - kubelet) + _example("the kubelet", kubelet - shared)
            )


def _verb(cpus: CPUSet) -> str:
    return "are" if len(cpus) > 1 else "is"


def _partitions(machine: Machine, topology: CPUTopology) -> Iterator[tuple[str, set[int], set[int]]]:
    if machine.numa_known:
        nodes = _masks(node.cpus for node in machine.numa_nodes)
        yield "NUMA node", nodes, set(topology.numa_nodes.values())
    if machine.sockets:
        yield "socket", _masks(machine.sockets.values()), set(topology.sockets.values())
    if machine.cores_known:
        yield "core", _masks(machine.cores), set(topology.cores.values())
    if machine.caches_known:
        yield "L3 cache", _masks(machine.l3_groups), set(topology.uncore_caches.values())


def _masks(groups: Iterable[CPUSet]) -> set[int]:
    return {group.mask for group in groups if group}


def _example(who: str, masks: set[int]) -> str:
    if not masks:
        return ""
    cpus = CPUSet(min(masks, key=_lowest_bit))
    return f"; only {who} {f'puts CPUs {cpus} together' if len(cpus) > 1 else f'keeps CPU {cpus} apart'}"


def _lowest_bit(mask: int) -> int:
    return mask & -mask


def cpu_labels(topology: CPUTopology) -> Mapping[int, tuple[int, int, int, int]]:
    """Return the NUMA node, socket, core and uncore cache of every CPU, as the kubelet numbers them."""
    labels: dict[int, list[int]] = {cpu: [] for cpu in CPUSet(topology.cpus)}
    for elements in (topology.numa_nodes, topology.sockets, topology.cores, topology.uncore_caches):
        for element, mask in elements.items():
            for cpu in CPUSet(mask):
                labels[cpu].append(element)
    return {cpu: (node, socket, core, cache) for cpu, (node, socket, core, cache) in labels.items()}
