"""Regular machines from a few figures: which CPUs make a core, a socket, a NUMA node, an L3 group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import or_
from typing import NamedTuple

from cpuctl.cpuset import CPUSet
from cpuctl.machine.model import MAX_CPUS, MAX_NUMA_NODES

_SAME_NODE, _SAME_SOCKET, _OTHER_SOCKET = 10, 12, 21


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The four figures of ``lscpu``: sockets, NUMA nodes in all, cores per socket, CPUs per core.

    Raise ValueError for figures below 1 (NUMA nodes may be 0) and for more CPUs than cpuctl accepts.
    """

    sockets: int
    nodes: int
    cores_per_socket: int
    threads: int

    def __post_init__(self) -> None:
        if min(self.sockets, self.cores_per_socket, self.threads) < 1:
            raise ValueError("sockets, cores and threads must be at least 1")
        if self.cpus > MAX_CPUS or self.nodes > MAX_NUMA_NODES:
            raise ValueError(f"at most {MAX_CPUS} CPUs and {MAX_NUMA_NODES} NUMA nodes are possible")

    @property
    def cores(self) -> int:
        """Cores in all."""
        return self.sockets * self.cores_per_socket

    @property
    def cpus(self) -> int:
        """CPUs in all; their numbers are 0 and up."""
        return self.cores * self.threads

    def __str__(self) -> str:
        return f"{self.sockets}s{self.nodes}n{self.cores_per_socket}c{self.threads}t"


class Numbering(NamedTuple):
    """How CPU numbers run through the machine.

    ``near`` gives the siblings of a core neighbouring numbers, otherwise all cores are counted through once
    per thread. ``interleaved`` deals the cores to sockets, NUMA nodes and L3 groups in turn.
    """

    near: bool = False
    interleaved: bool = False


class Layout(NamedTuple):
    """CPU sets by socket and NUMA node number; cores and L3 groups have no numbers."""

    cores: tuple[CPUSet, ...]
    sockets: Mapping[int, CPUSet]
    nodes: Mapping[int, CPUSet]
    l3_groups: tuple[CPUSet, ...]

    def restricted_to(self, cpus: CPUSet) -> Layout:
        """Return what is left when only *cpus* run; an emptied NUMA node stays, everything else goes."""
        parts = (*self.cores, *self.sockets.values(), *self.l3_groups)
        everything = reduce(or_, (part.mask for part in (*parts, *self.nodes.values())), 0)
        if all(parts) and not everything & ~cpus.mask:
            return self
        sockets = {socket: members & cpus for socket, members in self.sockets.items()}
        return Layout(
            cores=tuple(left for core in self.cores if (left := core & cpus)),
            sockets={socket: members for socket, members in sockets.items() if members},
            nodes={node: members & cpus for node, members in self.nodes.items()},
            l3_groups=tuple(left for group in self.l3_groups if (left := group & cpus)),
        )


def regular_layout(figures: Figures, numbering: Numbering, *, l3_groups: int) -> Layout:
    """Divide the cores evenly into sockets, NUMA nodes and *l3_groups* (in all).

    Raise ValueError where the figures do not divide.
    """
    cores = _cores(figures, near=numbering.near)
    if figures.nodes and figures.nodes % figures.sockets and figures.sockets % figures.nodes:
        raise ValueError(f"{figures.nodes} NUMA nodes and {figures.sockets} sockets do not divide")
    dealt = numbering.interleaved
    return Layout(
        cores=cores,
        sockets=dict(enumerate(_portions(cores, figures.sockets, "sockets", dealt=dealt))),
        nodes=dict(enumerate(_portions(cores, figures.nodes, "NUMA nodes", dealt=dealt))),
        l3_groups=_portions(cores, l3_groups, "L3 groups", dealt=dealt),
    )


def default_distances(
    nodes: Mapping[int, CPUSet], sockets: Mapping[int, CPUSet]
) -> tuple[tuple[int, ...], ...]:
    """Return rows of distances: 10 to itself, 12 inside a socket, 21 to another socket."""
    masks = [members.mask for members in nodes.values()]
    rows = [[_OTHER_SOCKET] * len(masks) for _ in masks]
    for socket in sockets.values():
        inside = [node for node, mask in enumerate(masks) if mask & socket.mask]
        for node in inside:
            for other in inside:
                rows[node][other] = _SAME_SOCKET
    for node, row in enumerate(rows):
        row[node] = _SAME_NODE
    return tuple(map(tuple, rows))


@lru_cache(maxsize=2)  # whoever looks for a description tries both ways again and again
def _cores(figures: Figures, *, near: bool) -> tuple[CPUSet, ...]:
    return tuple(_core(figures, core, near=near) for core in range(figures.cores))


def _core(figures: Figures, core: int, *, near: bool) -> CPUSet:
    if near:
        return CPUSet.of(range(core * figures.threads, (core + 1) * figures.threads))
    return CPUSet.of(range(core, figures.cpus, figures.cores))


def _portions(cores: tuple[CPUSet, ...], count: int, what: str, *, dealt: bool) -> tuple[CPUSet, ...]:
    if not count:
        return ()
    size, rest = divmod(len(cores), count)
    if rest:
        raise ValueError(f"{len(cores)} cores do not divide into {count} {what}")
    if dealt:
        portions = [cores[first::count] for first in range(count)]
    else:
        portions = [cores[first : first + size] for first in range(0, len(cores), size)]
    return tuple(CPUSet(sum(core.mask for core in portion)) for portion in portions)
