"""Reserved CPUs and memory for a node as configured, and findings about the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from cpuctl.cpuset import CPUSet
from cpuctl.engine.config_lints.lint import Lint
from cpuctl.engine.reserve import (
    CPUReserve,
    MemoryReserve,
    NoProposal,
    Proposal,
    ReserveRequest,
    Spread,
    propose,
)
from cpuctl.inputs.configuration import LoadedKubelet
from cpuctl.machine.machine_info import MachineInfo
from cpuctl.machine.model import Machine
from cpuctl.machine.sources import MachineSource
from cpuctl.operations.configuration import check_kubelet
from cpuctl.records import replace


class Reserved(NamedTuple):
    """Settings with which the kubelet starts, and the lints of a configuration with them."""

    proposal: Proposal
    lints: Sequence[Lint]


def memory_of_node(info: MachineInfo, node: int) -> MemoryReserve:
    """Request all memory from one NUMA node; raise ValueError for one that the machine does not have."""
    known = CPUSet.of(each.id for each in info.nodes if each.id >= 0)
    if node not in known:
        raise ValueError(f"this machine has no NUMA node {node}: expected one of {known}")
    return MemoryReserve(Spread.ONE_NODE, node)


def performance_cpus(machine: Machine) -> tuple[CPUSet, str]:
    """Return the CPUs to choose last, and what is uncertain about them, empty if nothing is."""
    kinds = machine.core_kinds
    if not (kinds.efficiency and kinds.performance):
        return CPUSet(), "this machine does not distinguish performance cores"
    guess = f"that CPUs {kinds.performance} are performance cores is a guess based on maximum frequencies"
    return kinds.performance, guess if kinds.guessed else ""


def reserve(
    source: MachineSource, loaded: LoadedKubelet, cpus: CPUReserve | None, memory: MemoryReserve | None
) -> Reserved | NoProposal:
    """Choose what is requested, and also memory if the kubelet checks it or nothing else is requested.

    Raise ValueError if the machine does not have the requested CPUs.
    """
    if memory is None and (cpus is None or loaded.kubelet.config.memory_manager_policy == "Static"):
        memory = MemoryReserve()
    proposal = propose(source.info, loaded.kubelet, ReserveRequest(cpus=cpus, memory=memory))
    if isinstance(proposal, NoProposal):
        return proposal
    changed = replace(loaded, kubelet=replace(loaded.kubelet, config=proposal.config))
    return Reserved(proposal, check_kubelet(source, changed)[1])
