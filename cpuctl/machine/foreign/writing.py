"""Machines as ``lscpu -p -a`` and ``numactl -H`` print them, for programs that parse their output.

Unknown values are written as the tool writes values that the kernel does not report.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence

from cpuctl.cpuset import CPUSet
from cpuctl.errors import InputError
from cpuctl.machine.foreign.numactl import NO_DISTANCES, UNKNOWN_SIZE
from cpuctl.machine.model import Cache, Machine, NumaNode

_CACHE_LETTERS = {"Data": "d", "Instruction": "i"}


def as_lscpu(machine: Machine) -> str:
    """Write one line per CPU, offline ones without a place.

    Cores, sockets and caches are numbered in the order of their lowest CPUs: lscpu also numbers them itself.
    """
    names = sorted({_cache_name(cache) for cache in machine.caches if cache.level})
    cores = _numbered({cpu: core for core in machine.cores for cpu in core} if machine.cores_known else {})
    sockets = _numbered({cpu: each for cpu, each in machine.socket_of.items() if each is not None})
    caches = {name: _numbered(_caches_of(machine, name)) for name in names}
    node_of = {cpu: node.id for node in machine.numa_nodes for cpu in node.cpus}

    def cells(cpu: int) -> Iterator[str]:
        yield str(cpu)
        for numbers in (cores, sockets, node_of):
            yield str(numbers.get(cpu, ""))
        if names:
            yield ""
            # A cache that a CPU does not have does not get a cell.
            yield from [str(numbers[cpu]) for numbers in caches.values() if cpu in numbers] or [""]

    header = ["CPU", "Core", "Socket", "Node", *(["", *names] if names else [])]
    lines = [f"# {','.join(header)}", *(",".join(cells(cpu)) for cpu in machine.online | machine.offline)]
    return "".join(f"{line}\n" for line in lines)


def _cache_name(cache: Cache) -> str:
    return f"L{cache.level}{_CACHE_LETTERS.get(cache.kind, '')}"


def _caches_of(machine: Machine, name: str) -> Mapping[int, Hashable]:
    used: dict[int, Hashable] = {}
    for cache in machine.caches:
        if cache.level and _cache_name(cache) == name:
            for cpu in cache.cpus:
                used.setdefault(cpu, cache)
    return used


def _numbered(owner: Mapping[int, Hashable]) -> Mapping[int, int]:
    numbers: dict[Hashable, int] = {}
    return {cpu: numbers.setdefault(owner[cpu], len(numbers)) for cpu in sorted(owner)}


def as_numactl(machine: Machine) -> str:
    """Write NUMA nodes, their CPUs, memory and distances; raise InputError if there are no nodes."""
    nodes = machine.numa_nodes
    if not nodes:
        raise InputError(
            "has no NUMA nodes, and numactl -H shows nothing else", hint="use -o lscpu to show the CPUs"
        )
    return "".join(f"{line}\n" for line in _numactl_lines(nodes))


def _numactl_lines(nodes: Sequence[NumaNode]) -> Iterator[str]:
    yield f"available: {len(nodes)} nodes ({CPUSet.of(node.id for node in nodes)})"
    for node in nodes:
        yield f"node {node.id} cpus:{''.join(f' {cpu}' for cpu in node.cpus)}"
        yield f"node {node.id} size: {_mebibytes(node.memory_bytes)}"
        yield f"node {node.id} free: {_mebibytes(node.free_bytes)}"
    if not all(len(node.distances) == len(nodes) for node in nodes):
        yield NO_DISTANCES
        return
    yield "node distances:"
    yield f"node {''.join(f'{node.id:3d} ' for node in nodes)}"
    for node in nodes:
        yield f"{node.id:3d}: {''.join(f'{distance:3d} ' for distance in node.distances)}"


def _mebibytes(size: int | None) -> str:
    return UNKNOWN_SIZE if size is None else f"{size >> 20} MB"
