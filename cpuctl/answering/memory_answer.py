"""Memory in answers: what the Memory Manager sets aside for a container, and what is left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cpuctl.answers.decisions import Block, MemoryPart, MemoryTable, TablesPart
    from cpuctl.checkpoints.model import MemoryNode
    from cpuctl.engine.memory.provider import MemoryProvider
    from cpuctl.engine.placement import Placement


def container_memory(placement: Placement) -> MemoryPart:
    """Describe a container's memory, or why it has none; nothing where the policy does nothing."""
    if placement.memory:
        blocks: list[Block] = [
            {
                "resource": block.type,
                "bytes": block.size,
                "numaNodes": block.node_list,
            }
            for block in placement.memory
        ]
        return {"memory": {"cpusetMems": placement.cpuset_mems, "blocks": blocks}}
    if placement.why_no_memory:
        return {"memory": {"cpusetMems": "", "blocks": [], "whyNone": placement.why_no_memory}}
    return {}


def memory_left(provider: MemoryProvider) -> TablesPart:
    """Describe the tables of every NUMA node; nothing where the policy does nothing."""
    if provider.policy is None:
        return {}
    return {"memory": node_answers(provider.state.tables)}


def node_answers(tables: Mapping[int, MemoryNode]) -> list[MemoryTable]:
    """Describe the tables of NUMA nodes, in bytes."""
    from cpuctl.checkpoints.model import node_list

    return [
        {
            "numaNode": number,
            "group": node_list(node.cells),
            "assignments": node.number_of_assignments,
            "resources": [
                {
                    "resource": name,
                    "total": table.total,
                    "systemReserved": table.system_reserved,
                    "allocatable": table.allocatable,
                    "reserved": table.reserved,
                    "free": table.free,
                }
                for name, table in sorted(node.memory_map.items())
            ],
        }
        for number, node in sorted(tables.items())
    ]
