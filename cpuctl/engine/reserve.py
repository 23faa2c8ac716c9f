"""Settings of reserved CPUs and memory with which a kubelet starts.

The kubelet has no rule for choosing CPUs: it takes what is configured. CPUs are masks. Rule for memory:
kubelet v1.36 ``memorymanager/memory_manager.go`` and ``policy_static.go``: ``reservedMemory`` must equal,
to the byte, what kubeReserved, systemReserved and hard eviction keep, and no node may give more than it
has. Only settings with which a kubelet starts (``check_start``) are proposed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.memory.tables import hugepages_by_name
from cpuctl.engine.node_resources import MEMORY_SETTINGS
from cpuctl.engine.outcome import CORES_UNKNOWN, MEMORY_UNKNOWN, Undetermined, memory_unknown_of
from cpuctl.engine.start import NotStarted, Started, check_start
from cpuctl.golang.text import GoError
from cpuctl.kubelet.config import KubeletConfiguration, ReservedMemory
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.reservations import countable
from cpuctl.machine.machine_info import MachineInfo
from cpuctl.quantity import Quantity
from cpuctl.records import replace


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

    Raise ValueError if there are not enough, or none would be left.
    """
    chosen = 0
    for inside, count in _regions(topology, request):
        chosen |= _choose(topology, inside, count, request)
    if not topology.cpus & ~chosen:
        raise ValueError(f"all {topology.cpus.bit_count()} CPUs would be reserved, leaving none for pods")
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
            raise ValueError(f"{each} CPUs should be reserved, but {where} {inside.bit_count()}")
        yield inside, each


def _choose(topology: CPUTopology, inside: int, count: int, request: CPUReserve) -> int:
    """Take core by core, cache by cache, only part of the last core unless cores are to stay whole."""
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
    """Return a core's sort key: isolated and fast ones last, then the lowest CPU of node, cache and core."""
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
    """Return the chosen CPUs whose group is only partly chosen."""
    split = 0
    for group in groups:
        if group & ~chosen:
            split |= group & chosen
    return split


_MIB = 1 << 20


class Spread(StrEnum):
    """How a reservation is distributed over the nodes."""

    EVEN = "even"
    PROPORTIONAL = "proportional"
    ONE_NODE = "one-node"


def split_memory(
    available: Mapping[int, int], total: int, spread: Spread, node: int | None = None
) -> dict[int, int]:
    """Split *total* bytes over nodes that have *available* bytes; nodes that give nothing are left out.

    All parts but one are whole MiB. *node* names the node for ``ONE_NODE``; without it the lowest that has
    enough gives all. Raise ValueError if there is not enough memory, or no such node.
    """
    if total > sum(available.values()):
        raise ValueError(
            f"{total} bytes should be reserved, but all NUMA nodes together have {sum(available.values())}"
        )
    parts = _in_mib(available, _parts(available, total, spread, node), total)
    return {each: part for each, part in sorted(parts.items()) if part}


def _parts(available: Mapping[int, int], total: int, spread: Spread, node: int | None) -> dict[int, int]:
    match spread:
        case Spread.ONE_NODE:
            return {_giving_all(available, total, node): total}
        case Spread.EVEN:
            return _even(available, total)
        case Spread.PROPORTIONAL:
            everything = sum(available.values())
            return {each: total * has // everything for each, has in available.items() if has}


def _giving_all(available: Mapping[int, int], total: int, node: int | None) -> int:
    if node is not None and node not in available:
        raise ValueError(f"there is no NUMA node {node}")
    able = [each for each in sorted(available) if available[each] >= total and node in (None, each)]
    if not able:
        where = "no single NUMA node has" if node is None else f"NUMA node {node} does not have"
        raise ValueError(
            f"{where} {total} bytes to reserve; the largest has {max(available.values(), default=0)}"
        )
    return able[0]


def _even(available: Mapping[int, int], total: int) -> dict[int, int]:
    """Take the same part from every node, the smallest first: what they lack, the others give."""
    parts, left = {}, total
    smallest_first = sorted(available, key=lambda each: (available[each], each))
    for given, each in enumerate(smallest_first):
        parts[each] = min(available[each], left // (len(available) - given))
        left -= parts[each]
    return parts


def _in_mib(available: Mapping[int, int], parts: dict[int, int], total: int) -> dict[int, int]:
    """Round parts down to MiB, and take the rest from the nodes with the most left."""
    rounded = {each: part // _MIB * _MIB for each, part in parts.items()}
    left = total - sum(rounded.values())
    for each in sorted(rounded, key=lambda each: (rounded[each] - available[each], each)):
        more = min(left, available[each] - rounded[each])
        rounded[each] += more
        left -= more
    return rounded


_BYTE = 10**9
"""One byte in the unit of ``Quantity.nano``."""


class MemoryReserve(NamedTuple):
    """How to distribute memory; ``node`` names the node if one gives all."""

    spread: Spread = Spread.EVEN
    node: int | None = None


class ReserveRequest(NamedTuple):
    """What to choose; None leaves the configuration's own setting as it is."""

    cpus: CPUReserve | None = None
    memory: MemoryReserve | None = None


class MemoryProposal(NamedTuple):
    """The bytes to reserve in total, and those of each NUMA node."""

    total: int
    parts: Mapping[int, int]


class Proposal(NamedTuple):
    """A configuration with which the kubelet starts, and what was chosen for it."""

    config: KubeletConfiguration
    started: Started
    cpus: CPUChoice | None
    memory: MemoryProposal | None


class NoProposal(NamedTuple):
    """Why the kubelet does not start with what was requested, with its own answer if it has one."""

    why: str
    outcome: NotStarted | None = None


def propose(info: MachineInfo, kubelet: Kubelet, request: ReserveRequest) -> Proposal | NoProposal:
    """Choose what is requested, and start a kubelet with it.

    Raise ValueError if the machine does not have the requested CPUs.
    """
    config, choice = kubelet.config, None
    memory: MemoryProposal | None = None
    if request.cpus is not None:
        if not info.cores_known:
            return NoProposal(CORES_UNKNOWN)
        try:
            topology = CPUTopology.discover(info, knows_books=kubelet.gates.release.knows_books)
        except GoError as error:
            return NoProposal(f"the kubelet does not support this machine: {error}")
        choice = choose_reserved(topology, request.cpus)
        # The list replaces kubeReserved's and systemReserved's CPUs, and changes no memory.
        config = replace(config, reserved_system_cpus=str(CPUSet(choice.cpus)))
    if request.memory is not None:
        split = _memory(info, replace(kubelet, config=config), request.memory)
        if isinstance(split, NoProposal):
            return split
        memory = split
        listed = reserved_memory(memory.parts)
        config = replace(config, memory_manager_policy="Static", reserved_memory=listed)
    outcome = check_start(info, replace(kubelet, config=config))
    if not isinstance(outcome, Started):
        return _not_started(outcome)
    return Proposal(config=config, started=outcome, cpus=choice, memory=memory)


def memory_available(info: MachineInfo) -> dict[int, int]:
    """Return the bytes of every NUMA node's memory that is not set aside as huge pages."""
    return {node.id: max(0, node.memory_bytes - sum(hugepages_by_name(node).values())) for node in info.nodes}


def reserved_memory(parts: Mapping[int, int]) -> tuple[ReservedMemory, ...]:
    """Convert bytes by NUMA node to the form of the configuration."""
    return tuple(
        ReservedMemory(numa_node=node, limits={"memory": countable(part)}) for node, part in parts.items()
    )


def _memory(info: MachineInfo, kubelet: Kubelet, request: MemoryReserve) -> MemoryProposal | NoProposal:
    """Split what is kept from pods over the NUMA nodes."""
    if not info.memory_bytes:
        return NoProposal(MEMORY_UNKNOWN)
    if unrecorded := info.nodes_without_memory:
        return NoProposal(memory_unknown_of(unrecorded))
    without = replace(kubelet.config, memory_manager_policy="None", reserved_memory=())
    started = check_start(info, replace(kubelet, config=without))
    if not isinstance(started, Started):
        return _not_started(started)
    if not started.gates.enabled("MemoryManager"):
        return NoProposal("the feature gate MemoryManager is off: reservedMemory is ignored")
    kept = started.reserved.get("memory", Quantity())
    if why := _unsplittable(kept):
        return NoProposal(why)
    total = kept.nano // _BYTE
    try:
        parts = split_memory(memory_available(info), total, request.spread, request.node)
    except ValueError as error:
        return NoProposal(f"there is too little memory besides huge pages: {error}")
    return MemoryProposal(total=total, parts=parts)


def _unsplittable(kept: Quantity) -> str:
    """Return why no reservation can equal an amount; empty if one can."""
    if kept.sign <= 0:
        none = "no memory is reserved, but the Memory Manager's Static policy requires some"
        return f"{none}: set {MEMORY_SETTINGS}"
    if kept.nano % _BYTE:
        fraction = f"{kept} of memory are reserved, which is not a whole number of bytes"
        return f"{fraction}, and no reservedMemory can equal it: fix {MEMORY_SETTINGS}"
    return ""


def _not_started(outcome: NotStarted) -> NoProposal:
    if isinstance(outcome, Undetermined):
        return NoProposal("whether the kubelet would start is unknown", outcome)
    return NoProposal("the kubelet would not start with these settings", outcome)
