"""How well a node serves its pods, in figures, and when one result is better than another.

Exclusive CPUs that two pods share come first, then pods: settings that admit fewer are not better for having
more left. Cache crossings, the shared pool and the remaining space are compared only if both admit the same
number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from cpuctl.engine.admission import Admission
from cpuctl.engine.alignment import devices_aligned
from cpuctl.engine.capacity.capacity import most_requested
from cpuctl.engine.capacity.probe import settled
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.masks import CPUMask, NodeMask
from cpuctl.engine.memory.state import nodes_of
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted, Undetermined
from cpuctl.engine.placement import Placement
from cpuctl.pods.model import ContainerKind

T = TypeVar("T")


class Service(NamedTuple):
    """How well pods are served on one node.

    ``on_one_node`` counts containers with their own CPUs whose CPUs, allocated memory and devices are all on
    one NUMA node; ``memory_too`` counts those of them that have memory pinned there. ``cores`` counts cores
    used by one container that does not share them. ``crossings`` sums the uncore caches beyond the first over
    the containers with their own CPUs; None if the caches are not recorded. ``shared_pool`` is the number of
    CPUs for all other containers, ``largest`` the most CPUs, in whole cores, that one more container is
    admitted with. ``overlapping`` counts pods whose exclusive CPUs are reserved or also another pod's.
    """

    admitted: int
    undetermined: int
    on_one_node: int
    memory_too: int
    cores: int
    crossings: int | None
    shared_pool: int
    largest: int
    overlapping: int

    def beats(self, other: Service) -> bool:
        """Return whether this result is at least as good in all that counts, and better in something."""
        if any(mine < theirs for mine, theirs in zip(self._gains, other._gains, strict=True)):
            return False
        if self.admitted > other.admitted:
            return True
        if any(mine < theirs for mine, theirs in zip(self._rest, other._rest, strict=True)):
            return False
        return self != other

    @property
    def _gains(self) -> tuple[int, ...]:
        return -self.overlapping, self.admitted, self.on_one_node, self.memory_too, self.cores

    @property
    def _rest(self) -> tuple[int, ...]:
        return -self.undetermined, -(self.crossings or 0), self.shared_pool, self.largest


def service_of(node: Node, admissions: Sequence[Admission]) -> Service:
    """Compute the figures for a node that has decided on all pods; the node is not changed."""
    node = settled(node)
    admitted = [each for each in admissions if isinstance(each.verdict, Admitted)]
    placements = [each for admission in admitted for each in _with_own_cpus(admission)]
    aligned = [each for each in placements if _on_one_node(node.topology, each)]
    caches = node.topology.uncore_caches if node.topology.caches_known else None
    return Service(
        admitted=len(admitted),
        undetermined=sum(isinstance(each.verdict, Undetermined) for each in admissions),
        on_one_node=len(aligned),
        memory_too=sum(bool(each.memory) for each in aligned),
        cores=_cores_alone(node, [each.cpus for each in placements]),
        crossings=None
        if caches is None
        else sum(sum(bool(each.cpus & mask) for mask in caches.values()) - 1 for each in placements),
        shared_pool=node.state.default.bit_count(),
        largest=most_requested(node, node.topology.cpus_per_core or 1),
        overlapping=len(node.cpu.overlapping_pods()),
    )


def _with_own_cpus(admission: Admission) -> Iterator[Placement]:
    """Yield the placements of containers with exclusive CPUs or in their pod's pool.

    Ordinary init containers are left out: they end first, and later containers may reuse their CPUs.
    """
    for each in admission.placements:
        if each.container.kind is not ContainerKind.INIT and (each.exclusive or each.in_pod_pool):
            yield each


def _on_one_node(topology: CPUTopology, placement: Placement) -> bool:
    nodes = [number for number, mask in topology.numa_nodes.items() if mask & placement.cpus]
    if len(nodes) != 1:
        return False
    # A package of unknown number that is treated as a node (-1) has no memory.
    only = NodeMask(1 << nodes[0] if nodes[0] >= 0 else 0)
    if any(nodes_of(block) & ~only for block in placement.memory):
        return False
    return devices_aligned(topology, placement.devices, placement.cpus) is not False


def _cores_alone(node: Node, held: Sequence[CPUMask]) -> int:
    """Count the cores in which one container has a CPU, but no other container and not the shared pool."""
    once = twice = 0
    for cpus in held:
        cores = node.topology.siblings(cpus)
        once, twice = once | cores, twice | (once & cores)
    alone = once & ~twice & ~node.topology.siblings(node.state.default)
    return sum(bool(mask & alone) for mask in node.topology.cores.values())


def unbeaten(services: Iterable[tuple[T, Service]]) -> list[tuple[T, Service]]:
    """Return the items that no other beats; of several with equal figures, the first."""
    front: dict[Service, T] = {}
    for item, service in services:
        if service in front or any(each.beats(service) for each in front):
            continue
        front = {each: kept for each, kept in front.items() if not service.beats(each)}
        front[service] = item
    return [(item, service) for service, item in front.items()]
