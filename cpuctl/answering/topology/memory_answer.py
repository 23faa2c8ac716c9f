"""Memory of a machine's NUMA nodes as a kubelet counts it: a member of the answer of ``cpuctl topology``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpuctl.answering.config.starts import start_answer
from cpuctl.engine.memory.tables import MEMORY, NodeAmounts, hugepages_by_name, memory_account
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.machine.machine_info import InfoNode
from cpuctl.machine.model import NumaNode
from cpuctl.machine.sources import MachineSource

if TYPE_CHECKING:
    from cpuctl.answers.topology import Amounts, Memory
    from cpuctl.operations.configuration import StartOutcome


def topology_memory(source: MachineSource, config: KubeletConfiguration, outcome: StartOutcome) -> Memory:
    """Count the memory of every NUMA node, and report whether a kubelet starts with that count."""
    free = {
        (node.id, name): amount for node in source.machine.numa_nodes for name, amount in _free(node).items()
    }
    return {
        "policy": config.memory_manager_policy,
        "start": start_answer(outcome),
        "amounts": [
            _amounts(line, free.get((line.numa_node, line.resource)))
            for line in memory_account(source.info, config.reserved_memory)
        ],
    }


def _amounts(line: NodeAmounts, free: int | None) -> Amounts:
    return {
        "numaNode": line.numa_node,
        "resource": line.resource,
        "total": line.total,
        "reserved": line.reserved,
        "hugePages": line.huge_pages,
        "allocatable": None if line.overdrawn else line.allocatable,
        "overcommitted": line.overdrawn,
        "free": free,
    }


def _free(node: NumaNode) -> dict[str, int]:
    """Return the free memory that the kernel reports, if it does."""
    memory = {} if node.free_bytes is None else {MEMORY: node.free_bytes}
    return memory | hugepages_by_name(InfoNode(id=node.id, cores=(), hugepages=node.free_hugepages))
