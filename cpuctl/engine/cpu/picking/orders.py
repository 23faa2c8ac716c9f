"""In which order pickers look at NUMA nodes, sockets, cores and caches.

Rule: kubelet v1.36 ``cpu_assignment.go``. An order lists elements by (free CPUs, id) inside their parents,
parents in their own order. Where elements do not nest (a socket across NUMA nodes that reach across
sockets) an element is listed, and then counted, more than once: the kubelet does the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from cpuctl.engine.cpu.topology import CPUTopology, Masks
from cpuctl.engine.masks import NO_CPUS, CPUMask


class Orders:
    """The orders of one moment: computed from the free CPUs a step starts with.

    Elements that hold some of the CPUs a container has already (``own``, when it is resized) come first.
    """

    def __init__(self, topology: CPUTopology, free: CPUMask, own: CPUMask = NO_CPUS) -> None:
        self.topology = topology
        self.free = free
        self.own = own

    @cached_property
    def numa_nodes(self) -> list[int]:
        """All NUMA nodes with a free CPU."""
        nodes = self.topology.numa_nodes
        if self.topology.numa_first:
            return self._by_free(nodes, self.free, self.own)
        return [
            node for socket in self.sockets for node in self._within(nodes, self.topology.sockets[socket])
        ]

    @cached_property
    def sockets(self) -> list[int]:
        """All sockets with a free CPU."""
        sockets = self.topology.sockets
        if not self.topology.numa_first:
            return self._by_free(sockets, self.free, self.own)
        return [
            socket
            for node in self.numa_nodes
            for socket in self._within(sockets, self.topology.numa_nodes[node])
        ]

    @property
    def core_parents(self) -> Iterator[CPUMask]:
        """Masks of the elements inside which cores are sorted: the lower of socket and NUMA node."""
        if self.topology.numa_first:
            return (self.topology.sockets[socket] for socket in self.sockets)
        return (self.topology.numa_nodes[node] for node in self.numa_nodes)

    def cores_within(self, parent: CPUMask) -> list[int]:
        """List the cores with a free CPU in a parent's mask."""
        return self._within(self.topology.cores_inside(parent), parent)

    @property
    def cores(self) -> list[int]:
        """All cores with a free CPU."""
        return [core for parent in self.core_parents for core in self.cores_within(parent)]

    @property
    def uncore_caches(self) -> Iterator[int]:
        """All uncore caches with a free CPU; mostly the first few will do."""
        caches, nodes = self.topology.uncore_caches, self.topology.numa_nodes
        return (cache for node in self.numa_nodes for cache in self._within(caches, nodes[node]))

    def _within(self, elements: Masks, parent: CPUMask) -> list[int]:
        return self._by_free(elements, self.free & parent, self.own & parent)

    def _by_free(self, elements: Masks, inside: CPUMask, own: CPUMask) -> list[int]:
        """Elements that meet *inside*: with *own* CPUs first, by free CPUs of the whole, then id."""
        free = self.free
        met = [
            (not mask & own, (free & mask).bit_count(), element)
            for element, mask in elements.items()
            if mask & inside
        ]
        met.sort()
        return [element for _, _, element in met]
