"""The CPU Manager's topology hints for one request, as a rule instead of a list of up to 2^nodes hints.

Rule: kubelet v1.36 ``policy_static.go``, hint generation. Sets of NUMA nodes are masks of node ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, combinations

from cpuctl.cpuset import CPUSet
from cpuctl.engine.changeable import ByContent
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.hints.coverage import Coverage, SocketRule
from cpuctl.engine.hints.hints import DirectRule, Fit, Hint
from cpuctl.engine.hints.node_search import SetsWithCPUs, best_sets
from cpuctl.engine.hints.node_sets import CPU, endless_walk
from cpuctl.engine.masks import NO_NODES, NODE_0, CPUMask, NodeMask
from cpuctl.engine.outcome import KubeletFault


class CPUHints(ByContent, DirectRule):
    """Hints for ``request`` CPUs out of those ``free`` in each NUMA node (by id) and the ``reusable`` ones.

    A set of nodes is a hint if it contains every reusable CPU (in the ``required`` nodes) and these with its
    free CPUs reach the request. ``width`` is the fewest nodes with enough total capacity, used or not; hints
    of that width are preferred, with ``align-by-socket`` also those that the ``socket_rule`` allows.
    """

    def __init__(
        self,
        *,
        free: Mapping[int, int],
        required: NodeMask,
        reusable: int,
        request: int,
        width: int,
        socket_rule: SocketRule | None,
    ) -> None:
        self.free = free
        self.required = required
        self.reusable = reusable
        self.request = request
        self.width = width
        self.socket_rule = socket_rule
        self.all_nodes = NodeMask(CPUSet.of(free).mask)
        """All nodes with CPUs."""

    @classmethod
    def generate(
        cls,
        topology: CPUTopology,
        available: CPUMask,
        reusable: CPUMask,
        request: int,
        *,
        align_by_socket: bool,
    ) -> CPUHints:
        """Make the hints for *request* CPUs out of the *available* and *reusable* ones (masks)."""
        nodes = topology.numa_nodes
        width = _width([mask.bit_count() for mask in nodes.values()], request)
        return cls(
            free={node: (available & mask).bit_count() for node, mask in nodes.items()},
            required=NodeMask(CPUSet.of(node for node, mask in nodes.items() if reusable & mask).mask),
            reusable=reusable.bit_count(),
            request=request,
            width=width,
            socket_rule=_socket_rule(topology, width) if align_by_socket else None,
        )

    def __bool__(self) -> bool:
        return self.all_nodes in self

    def __iter__(self) -> Iterator[Hint]:
        """Yield every hint, by size, then in lexicographic order of node ids."""
        bits, counts = [NODE_0 << node for node in self.free], self.free.values()
        for size in range(1, len(bits) + 1):
            for chosen, free in zip(combinations(bits, size), combinations(counts, size), strict=True):
                nodes = sum(chosen, NO_NODES)
                if self.reusable + sum(free) >= self.request and not self.required & ~nodes:
                    yield Hint(nodes, self.prefers(nodes))

    def __contains__(self, nodes: NodeMask) -> bool:
        if self.required & ~nodes or nodes & ~self.all_nodes:
            return False
        return self.reusable + self._free_in(nodes) >= self.request

    def prefers(self, nodes: NodeMask) -> bool:
        """Return whether a hint for these nodes is preferred."""
        if nodes.bit_count() == self.width:
            return True
        return self.socket_rule is not None and self.socket_rule.allows(nodes)

    @cached_property
    def coverages(self) -> tuple[Coverage, ...]:
        """The coverages that a set of nodes has to serve to be a hint."""
        free = {NODE_0 << node: count for node, count in self.free.items()}
        required = (NODE_0 << node for node in CPUSet(self.required))
        return (Coverage.of(self.all_nodes, free, required, self.request - self.reusable),)

    @property
    def others(self) -> tuple[NodeMask, ...]:
        """Empty: every hint serves the coverages."""
        return ()

    @cached_property
    def narrowest(self) -> int:
        """Size of the smallest hint, 0 without hints."""
        fewest = self.required.bit_count()
        choice = self._cuts(self.all_nodes, fewest)
        totals = enumerate(accumulate(sorted(choice.free.values(), reverse=True), initial=0), fewest)
        return next((size for size, total in totals if size and total >= choice.missing), 0)

    def best_preferred(self, fit: Fit) -> list[NodeMask]:
        """Find the best preferred hint, like ``best_sets``."""
        for size in range(1, len(self.free) + 1) if self.socket_rule else (self.width,):
            rule = None if size == self.width else self.socket_rule
            if found := best_sets(self._cuts(self.all_nodes, size, rule), fit):
                return found
        return []

    def best_cut(self, nodes: NodeMask, sizes: Iterable[int], fit: Fit) -> list[NodeMask]:
        """Find the best intersections of hints with *nodes* of the first possible size, as ``best_sets``."""
        for size in sizes:
            if found := best_sets(self._cuts(nodes & self.all_nodes, size), fit):
                return found
        return []

    def _cuts(self, inside: NodeMask, size: int, rule: SocketRule | None = None) -> SetsWithCPUs:
        """Return the sets of *size* nodes that are intersections of hints with *inside*.

        A hint may include any nodes outside, so their CPUs always count.
        """
        taken = self.required & inside
        return SetsWithCPUs(
            taken=taken,
            free={node: free for node, free in self.free.items() if (inside & ~taken) >> node & 1},
            more=size - taken.bit_count(),
            missing=self.request - self.reusable - self._free_in(self.all_nodes & ~inside | taken),
            rule=rule,
        )

    def _free_in(self, nodes: NodeMask) -> int:
        return sum(count for node, count in self.free.items() if nodes >> node & 1)


def find_hints(
    topology: CPUTopology, available: CPUMask, reusable: CPUMask, request: int, *, align_by_socket: bool
) -> CPUHints | KubeletFault:
    """Make the hints for a request with ``CPUHints.generate``; a fault if the kubelet would not answer."""
    if fault := endless_walk(CPU, len(topology.numa_nodes), "a request for exclusive CPUs"):
        return fault
    return CPUHints.generate(topology, available, reusable, request, align_by_socket=align_by_socket)


def _width(capacities: Sequence[int], request: int) -> int:
    """Return how many of the largest nodes together reach the request, or the number of all nodes."""
    for count, total in enumerate(accumulate(sorted(capacities, reverse=True)), 1):
        if total >= request:
            return count
    return len(capacities)


def _socket_rule(topology: CPUTopology, width: int) -> SocketRule | None:
    """Return the rule for as many sockets as *width* nodes fill on average; None with fewer nodes."""
    per_socket = topology.num_numa_nodes // topology.num_sockets if topology.num_sockets else 0
    if not per_socket:
        return None
    of_node = {node: topology.sockets_of(mask) for node, mask in topology.numa_nodes.items()}
    return SocketRule(wanted=-(-width // per_socket), of_node=of_node)
