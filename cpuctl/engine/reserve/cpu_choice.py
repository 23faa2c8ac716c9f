"""Choosing reserved CPUs that leave cores, caches and performance cores whole.

The kubelet knows no such rule: it takes what it is told. CPUs are masks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from cpuctl.engine.cpu.topology import CPUTopology


@dataclass(frozen=True, slots=True, kw_only=True)
class CPUReserve:
    """How many CPUs to reserve, and what to leave whole.

    ``per_numa`` takes an equal share of them, rounded up, from every NUMA node, ``whole_cores`` rounds up to
    whole cores, and ``performance`` are CPUs to be taken last. ``isolated`` ones come even after those: the
    kernel keeps the system's processes off them.
    """

    count: int
    per_numa: bool = False
    whole_cores: bool = False
    performance: int = 0
    isolated: int = 0


class CPUChoice(NamedTuple):
    """The CPUs to reserve; of those, the ones whose core or cache is shared with pods, and fast ones."""

    cpus: int
    split_cores: int
    split_caches: int
    performance: int


def choose_reserved(topology: CPUTopology, request: CPUReserve) -> CPUChoice:
    """Choose CPUs, those near CPU 0 first: the kernel's own work tends to be there.

    Raise ValueError where there are not as many, or none would be left.
    """
    chosen = 0
    for inside, count in _regions(topology, request):
        chosen |= _choose(topology, inside, count, request)
    if not topology.cpus & ~chosen:
        raise ValueError(f"all {topology.cpus.bit_count()} CPUs would be reserved, and none left for pods")
    return CPUChoice(
        cpus=chosen,
        split_cores=_split(topology.cores.values(), chosen),
        split_caches=_split(topology.uncore_caches.values(), chosen),
        performance=chosen & request.performance,
    )


def _regions(topology: CPUTopology, request: CPUReserve) -> Iterator[tuple[int, int]]:
    if request.count < 1:
        raise ValueError(f"expected at least one CPU to reserve, found {request.count}")
    nodes = topology.numa_nodes if request.per_numa else {0: topology.cpus}
    each = -(-request.count // len(nodes))
    for node, inside in nodes.items():
        if each > inside.bit_count():
            where = f"NUMA node {node} has" if request.per_numa else "the machine has"
            raise ValueError(f"{each} CPUs are to be reserved, but {where} {inside.bit_count()}")
        yield inside, each


def _choose(topology: CPUTopology, inside: int, count: int, request: CPUReserve) -> int:
    """Take core after core, cache after cache, the last core in part unless cores are to stay whole."""
    chosen = 0
    for core in sorted(_cores(topology, inside), key=lambda mask: _distance(topology, mask, request)):
        missing = count - chosen.bit_count()
        if missing <= 0:
            break
        chosen |= core if request.whole_cores else _lowest(core, missing)
    return chosen


def _cores(topology: CPUTopology, inside: int) -> list[int]:
    return [mask & inside for mask in topology.cores.values() if mask & inside]


def _distance(topology: CPUTopology, core: int, request: CPUReserve) -> tuple[bool, bool, int, int, int]:
    """Sort cores: isolated and fast ones last, then by the lowest CPU of the node, the cache and the core."""
    node = _group(topology.numa_nodes.values(), core)
    cache = _group(topology.uncore_caches.values(), core)
    return (
        bool(core & request.isolated),
        bool(core & request.performance),
        node & -node,
        cache & -cache,
        core & -core,
    )


def _group(groups: Iterable[int], core: int) -> int:
    return next(mask for mask in groups if mask & core)


def _lowest(mask: int, count: int) -> int:
    left = mask
    for _ in range(min(count, mask.bit_count())):
        left &= left - 1
    return mask & ~left


def _split(groups: Iterable[int], chosen: int) -> int:
    """Join the chosen CPUs whose group is chosen in part only."""
    split = 0
    for group in groups:
        if group & ~chosen:
            split |= group & chosen
    return split
