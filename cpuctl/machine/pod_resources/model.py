"""What the kubelet's pod resources API answers (``k8s.io/kubelet/pkg/apis/podresources/v1``), as values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from cpuctl.cpuset import CPUSet
from cpuctl.machine.model import MAX_CPUS, MAX_NUMA_NODES

NO_NODE = -1
"""The NUMA node of something that is not next to a node."""


class MemoryHeld(NamedTuple):
    """``size`` bytes of memory or of huge pages (``type`` is the resource's name) on a set of NUMA nodes."""

    type: str
    size: int
    nodes: CPUSet


class ContainerAllocation(NamedTuple):
    """What a container holds exclusively: CPUs, memory, devices by resource."""

    name: str
    cpus: CPUSet = CPUSet()
    memory: tuple[MemoryHeld, ...] = ()
    devices: Mapping[str, frozenset[str]] = {}


class PodAllocation(NamedTuple):
    """A pod that the kubelet lists; ``cpus`` and ``memory`` are those that it holds as a whole."""

    namespace: str
    name: str
    containers: tuple[ContainerAllocation, ...] = ()
    cpus: CPUSet = CPUSet()
    memory: tuple[MemoryHeld, ...] = ()

    @property
    def full_name(self) -> str:
        """Namespace and name."""
        return f"{self.namespace}/{self.name}"


class PodResources(NamedTuple):
    """The answers of ``List`` and ``GetAllocatableResources`` (its CPUs); None if one is missing.

    ``problems`` say why. ``alone`` are the answers of ``Get`` by full pod name: a pod, or the text of a
    rejection.
    """

    pods: tuple[PodAllocation, ...] | None = None
    allocatable: CPUSet | None = None
    problems: tuple[str, ...] = ()
    alone: Mapping[str, PodAllocation | str] = {}

    @property
    def answered_pods(self) -> tuple[PodAllocation, ...]:
        """All pods in any answer."""
        return (*(self.pods or ()), *(each for each in self.alone.values() if not isinstance(each, str)))


def cpu_set(numbers: Iterable[int]) -> CPUSet:
    """Return a set of CPU numbers; raise ValueError for one that no machine has."""
    return CPUSet.of(_checked(number, MAX_CPUS, "CPU") for number in numbers)


def node_set(numbers: Iterable[int]) -> CPUSet:
    """Return a set of NUMA nodes without ``NO_NODE``; raise ValueError for one that no machine has."""
    nodes = (number for number in numbers if number != NO_NODE)
    return CPUSet.of(_checked(number, MAX_NUMA_NODES, "NUMA node") for number in nodes)


def _checked(number: int, limit: int, what: str) -> int:
    if not 0 <= number < limit:
        raise ValueError(f"{what} {number} is out of range (0 to {limit - 1})")
    return number
