"""Memory in answers: a container's allocation by the Memory Manager, and the remaining memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from cpuctl.cpuset import CPUSet
from cpuctl.phrases import named, some_of
from cpuctl.quantity import Format, Quantity

if TYPE_CHECKING:
    from cpuctl.answers.decisions import Block, MemoryPart, MemoryTable, TablesPart
    from cpuctl.answers.plan import PlanWarning
    from cpuctl.checkpoints.model import MemoryNode
    from cpuctl.engine.memory.provider import MemoryProvider
    from cpuctl.engine.memory.unbooked import PagesAtRisk
    from cpuctl.engine.node import Node
    from cpuctl.engine.placement import Placement


def container_memory(placement: Placement) -> MemoryPart:
    """Describe a container's memory, or why it has none; return nothing if the policy does nothing."""
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
    """Describe the tables of every NUMA node; return nothing if the policy does nothing."""
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


def huge_page_warnings(node: Node) -> Iterator[PlanWarning]:
    """Warn of promised huge pages that pods outside the Memory Manager's accounts could take."""
    if node.memory.policy is None:
        return
    # Most machines have no huge pages, and so no choice.
    if not any(_promises_pages(each) for each in node.memory.state.tables.values()):
        return

    from cpuctl.engine.memory.unbooked import pages_at_risk

    for found in pages_at_risk(node.memory.state, node.active):
        yield {
            "hugePages": {
                "resource": found.resource,
                "numaNodes": str(CPUSet.of(found.numa_nodes)),
                "allocatable": found.allocatable,
                "guaranteed": found.guaranteed,
                "usableByOthers": found.outside,
                "missing": found.missing,
            },
            "message": _risk(found),
        }


def _promises_pages(node: MemoryNode) -> bool:
    from cpuctl.engine.memory.tables import is_huge_pages

    return any(is_huge_pages(name) and table.reserved for name, table in node.memory_map.items())


def _risk(found: PagesAtRisk) -> str:
    where = named(CPUSet.of(found.numa_nodes), "NUMA node")
    return (
        f"{_bytes(found.guaranteed)} of {found.resource} on {where} are guaranteed to "
        f"{some_of(found.holders)}, but {_bytes(found.missing)} of them may be unavailable when needed: "
        f"{some_of(found.takers)}, which the Memory Manager does not track, may take "
        f"{_bytes(found.outside)} from any NUMA node, and only "
        f"{_bytes(found.allocatable - found.guaranteed)} there are not guaranteed to anyone (kubernetes "
        "issue 134395)"
    )


def _bytes(amount: int) -> str:
    return str(Quantity.from_value(amount, Format.BINARY_SI))
