"""Settings of reserved CPUs and memory with which a kubelet starts.

Rule: kubelet v1.36 ``memorymanager/memory_manager.go``: ``reservedMemory`` must equal what kubeReserved,
systemReserved and hard eviction keep. Nothing is proposed that ``check_start`` would not let start.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.memory.tables import hugepages_by_name
from cpuctl.engine.outcome import memory_unknown_of
from cpuctl.engine.reservation_summary import MEMORY_SETTINGS
from cpuctl.engine.reserve.cpu_choice import CPUChoice, CPUReserve, choose_reserved
from cpuctl.engine.reserve.memory_split import Spread, split_memory
from cpuctl.engine.start import NotStarted, Started, check_start
from cpuctl.golang.text import GoError
from cpuctl.kubelet.config import KubeletConfiguration, ReservedMemory
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.reserving.reserved_memory import countable
from cpuctl.machine.cadvisor.machine_info import MachineInfo
from cpuctl.quantity import Quantity

_BYTE = 10**9
"""One byte in the unit of ``Quantity.nano``."""


class MemoryReserve(NamedTuple):
    """How to lay memory out; *node* names the node where one gives all."""

    spread: Spread = Spread.EVEN
    node: int | None = None


class ReserveRequest(NamedTuple):
    """What to choose; None leaves the configuration's own setting as it is."""

    cpus: CPUReserve | None = None
    memory: MemoryReserve | None = None


class MemoryProposal(NamedTuple):
    """The bytes to reserve in all, and those of each NUMA node."""

    total: int
    parts: Mapping[int, int]


class Proposal(NamedTuple):
    """A configuration with which the kubelet starts, and what was chosen for it."""

    config: KubeletConfiguration
    started: Started
    cpus: CPUChoice | None
    memory: MemoryProposal | None


class NoProposal(NamedTuple):
    """Nothing of what was asked for makes the kubelet start: why, and its own answer where it has one."""

    why: str
    outcome: NotStarted | None = None


def propose(info: MachineInfo, kubelet: Kubelet, request: ReserveRequest) -> Proposal | NoProposal:
    """Choose what is asked for, and start a kubelet with it.

    Raise ValueError where the machine does not have the CPUs that are asked for.
    """
    config, choice = kubelet.config, None
    memory: MemoryProposal | None = None
    if request.cpus is not None:
        try:
            topology = CPUTopology.discover(info, knows_books=kubelet.gates.release.knows_books)
        except GoError as error:
            return NoProposal(f"the kubelet would not take this machine: {error}")
        choice = choose_reserved(topology, request.cpus)
        # The list takes the place of kubeReserved's and systemReserved's CPUs, and changes no memory.
        config = config._replace(reserved_system_cpus=str(CPUSet(choice.cpus)))
    if request.memory is not None:
        split = _memory(info, kubelet._replace(config=config), request.memory)
        if isinstance(split, NoProposal):
            return split
        memory = split
        listed = reserved_memory(memory.parts)
        config = config._replace(memory_manager_policy="Static", reserved_memory=listed)
    outcome = check_start(info, kubelet._replace(config=config))
    if not isinstance(outcome, Started):
        return _not_started(outcome)
    return Proposal(config=config, started=outcome, cpus=choice, memory=memory)


def memory_room(info: MachineInfo) -> dict[int, int]:
    """Return the bytes that every NUMA node has of memory that is not set aside as huge pages."""
    return {node.id: max(0, node.memory_bytes - sum(hugepages_by_name(node).values())) for node in info.nodes}


def reserved_memory(parts: Mapping[int, int]) -> tuple[ReservedMemory, ...]:
    """Write bytes by NUMA node as the configuration has them."""
    return tuple(
        ReservedMemory(numa_node=node, limits={"memory": countable(part)}) for node, part in parts.items()
    )


def _memory(info: MachineInfo, kubelet: Kubelet, request: MemoryReserve) -> MemoryProposal | NoProposal:
    """Split what is kept from pods over the NUMA nodes."""
    if not info.memory_bytes:
        return NoProposal("the machine information does not tell how much memory there is")
    if untold := info.nodes_without_memory:
        return NoProposal(memory_unknown_of(untold))
    without = kubelet.config._replace(memory_manager_policy="None", reserved_memory=())
    started = check_start(info, kubelet._replace(config=without))
    if not isinstance(started, Started):
        return _not_started(started)
    if not started.gates.enabled("MemoryManager"):
        return NoProposal("the feature gate MemoryManager is off: nothing looks at reservedMemory")
    kept = started.reserved.get("memory", Quantity())
    if why := _unsplittable(kept):
        return NoProposal(why)
    total = kept.nano // _BYTE
    try:
        parts = split_memory(memory_room(info), total, request.spread, request.node)
    except ValueError as error:
        return NoProposal(f"what is not set aside as huge pages does not suffice: {error}")
    return MemoryProposal(total=total, parts=parts)


def _unsplittable(kept: Quantity) -> str:
    """Say why no reservation can equal an amount, nothing where one can."""
    if kept.sign <= 0:
        none = "no memory is kept from pods, and the Static policy starts only with some"
        return f"{none}: set {MEMORY_SETTINGS}"
    if kept.nano % _BYTE:
        fraction = f"{kept} of memory are kept from pods, which is no whole number of bytes"
        return f"{fraction}, and no reservedMemory can equal it: mend {MEMORY_SETTINGS}"
    return ""


def _not_started(outcome: NotStarted) -> NoProposal:
    return NoProposal("the kubelet would not start for another reason", outcome)
