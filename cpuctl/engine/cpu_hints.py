"""The CPU Manager's topology hints for one request, as a rule instead of a list of up to 2^nodes hints.

Rule: kubelet v1.36 ``policy_static.go``, hint generation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, combinations, takewhile
from typing import Any

from cpuctl.engine.hints import Hint
from cpuctl.engine.topology import CPUTopology

Key = Callable[[int], Any]
"""What sorts sets of nodes, the best first."""


@dataclass(frozen=True, kw_only=True)  # no slots: cached_property needs a __dict__
class CPUHints:
    """The hints of the CPU Manager for one request, as a rule instead of a list.

    A set of nodes is a hint when it holds every reusable CPU (``required`` nodes, ``reusable`` CPUs) and its
    free CPUs with them reach the request. ``width`` is the fewest nodes whose capacity would do, taken or
    not; hints that wide are preferred, with ``align-by-socket`` also those that touch ``sockets`` sockets.
    """

    topology: CPUTopology
    free: dict[int, int]
    required: int
    reusable: int
    request: int
    width: int
    sockets: int = 0

    @classmethod
    def generate(
        cls, topology: CPUTopology, available: int, reusable: int, request: int, *, align_by_socket: bool
    ) -> CPUHints:
        """Make the hints for *request* CPUs out of the *available* and *reusable* ones (masks)."""
        nodes = topology.numa_nodes
        width = _width([mask.bit_count() for mask in nodes.values()], request)
        per_socket = len(nodes) // topology.num_sockets if topology.num_sockets else 0
        return cls(
            topology=topology,
            free={node: (available & mask).bit_count() for node, mask in nodes.items()},
            required=sum(1 << node for node, mask in nodes.items() if reusable & mask),
            reusable=reusable.bit_count(),
            request=request,
            width=width,
            sockets=-(-width // per_socket) if align_by_socket and per_socket else 0,
        )

    def __iter__(self) -> Iterator[Hint]:
        """Yield every hint, by size, then in lexicographic order of node ids."""
        nodes = list(self.free)
        for size in range(1, len(nodes) + 1):
            for chosen in combinations(nodes, size):
                free = self.reusable
                mask = 0
                for node in chosen:
                    free += self.free[node]
                    mask |= 1 << node
                if free >= self.request and not self.required & ~mask:
                    yield Hint(mask, self.prefers(mask))

    def __contains__(self, nodes: int) -> bool:
        if self.required & ~nodes or nodes & ~self.all_nodes:
            return False
        return self.reusable + self._free_in(nodes) >= self.request

    def prefers(self, nodes: int) -> bool:
        """Tell whether a hint for these nodes is preferred."""
        if nodes.bit_count() == self.width:
            return True
        return bool(self.sockets) and self._touched(nodes) == self.sockets

    @cached_property
    def all_nodes(self) -> int:
        """All nodes that own CPUs."""
        return sum(1 << node for node in self.free)

    @cached_property
    def narrowest(self) -> int:
        """Size of the smallest hint, 0 when there is none."""
        free = self.reusable + self._free_in(self.required)
        if free >= self.request and self.required:
            return self.required.bit_count()
        others = sorted((c for node, c in self.free.items() if not self.required >> node & 1), reverse=True)
        for more, total in enumerate(accumulate(others), 1):
            if free + total >= self.request:
                return self.required.bit_count() + more
        return 0

    def best_preferred(self, closest: Key | None) -> int | None:
        """Find the best preferred hint: narrow, then first by *closest* if given, then low."""
        if not self.sockets:
            return self._best_of_size(self.all_nodes, self.width, closest)
        preferred = (hint.nodes for hint in self if hint.preferred and hint.nodes is not None)
        first = next(preferred, None)
        if first is None:
            return None
        same_size = takewhile(lambda nodes: nodes.bit_count() == first.bit_count(), preferred)
        return min([first, *same_size], key=closest or _identity)

    def best_cut(self, nodes: int, size: int, closest: Key | None) -> int | None:
        """Find the best intersection of any hint with *nodes*: of this size, else narrower, else wider."""
        inside = nodes & self.all_nodes
        widest = inside.bit_count()
        for wanted in (size, *range(min(size - 1, widest), 0, -1), *range(size + 1, widest + 1)):
            best = self._best_of_size(inside, wanted, closest)
            if best is not None:
                return best
        return None

    def _best_of_size(self, inside: int, size: int, closest: Key | None) -> int | None:
        """Find the best set of *size* nodes out of *inside* that some hint cuts out of it."""
        missing = self.request - self.reusable - self._free_in(self.all_nodes & ~inside)
        required = self.required & inside
        others = [node for node in self.free if inside >> node & 1 and not required >> node & 1]
        room = size - required.bit_count()
        missing -= self._free_in(required)
        if closest is None:
            chosen = _lowest(others, self.free, room, missing)
            return None if chosen is None or not size else required | chosen
        sets = map(_mask, combinations(others, max(room, 0))) if room >= 0 else iter(())
        enough = (required | nodes for nodes in sets if self._free_in(nodes) >= missing)
        return min(enough, key=closest, default=None)

    def _free_in(self, nodes: int) -> int:
        return sum(count for node, count in self.free.items() if nodes >> node & 1)

    def _touched(self, nodes: int) -> int:
        return len(self.topology.sockets_of(self.topology.in_numa_nodes(nodes)))


def _lowest(nodes: Sequence[int], free: Mapping[int, int], count: int, missing: int) -> int | None:
    """Choose *count* of the *nodes* with *missing* free CPUs between them, high numbers avoided first."""
    if not _reachable(nodes, free, count, missing):
        return None
    chosen, left = 0, list(nodes)
    for node in sorted(nodes, reverse=True):
        left.remove(node)
        if not _reachable(left, free, count, missing):
            chosen |= 1 << node
            count -= 1
            missing -= free[node]
    return chosen


def _reachable(nodes: Sequence[int], free: Mapping[int, int], count: int, missing: int) -> bool:
    if not 0 <= count <= len(nodes):
        return False
    return sum(sorted((free[node] for node in nodes), reverse=True)[:count]) >= missing


def _mask(nodes: Iterable[int]) -> int:
    return sum(1 << node for node in nodes)


def _identity(nodes: int) -> int:
    return nodes


def _width(capacities: Sequence[int], request: int) -> int:
    """Count the largest nodes that together reach the request; all of them where they do not."""
    for count, total in enumerate(accumulate(sorted(capacities, reverse=True)), 1):
        if total >= request:
            return count
    return len(capacities)
