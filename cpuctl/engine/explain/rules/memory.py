"""Why the Memory Manager's hints hold nothing that a policy takes, and why it cannot allocate.

Rule: kubelet v1.36 ``pkg/kubelet/cm/memorymanager/policy_static.go``. A NUMA node that is in use serves only
by itself or in its group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from cpuctl.checkpoints.model import MemoryNode
from cpuctl.cpuset import CPUSet
from cpuctl.engine.explain.decision import Blocked, Rule, bytes_text, counted, nodes_text
from cpuctl.engine.explain.offers import SINGLE, memory_asked
from cpuctl.engine.hints.common_sets import CommonSets
from cpuctl.engine.hints.coverage import Coverage
from cpuctl.engine.masks import NodeMask
from cpuctl.engine.memory.hints import MemoryHints
from cpuctl.engine.memory.manager import AllocationFailure
from cpuctl.engine.memory.requests import MemoryRequest
from cpuctl.engine.memory.tables import MEMORY, allocatable_in, free_in
from cpuctl.engine.node import Node
from cpuctl.pods.model import Container, StoredPod

Tables = Mapping[int, MemoryNode]
AmountIn = Callable[[Tables, Iterable[int], str], int]
"""Adds up the bytes that some nodes have of a resource."""


def blocked_by_memory(hints: MemoryHints, container: Container | None, pod: StoredPod, node: Node) -> Blocked:
    """Name the rule that keeps a policy from every hint; there are some."""
    request = memory_asked(node, pod, container) or {}
    tables, policy = node.memory.state.tables, node.topology_manager.policy
    if policy != SINGLE:
        return _too_wide(hints.width, request, tables)
    asked = f"{SINGLE} takes only hints of one NUMA node"
    if hints.width > 1:
        return Rule.LARGER_THAN_A_NODE, f"{asked}, and {amounts(request)} take {hints.width} when all is free"
    if _serves(tables, request, 1):
        return (
            Rule.GROUP_RULE,
            f"{asked}, and the nodes with {amounts(request)} are in groups: {groups(tables)}",
        )
    return Rule.NO_SINGLE_NODE, f"{asked}, and none has {amounts(request)} free: {_free(tables, request)}"


def blocked_allocation(
    failure: AllocationFailure, request: MemoryRequest, affinity: NodeMask | None, tables: Tables
) -> Blocked:
    """Name the rule behind an error of the Memory Manager.

    *affinity* are the NUMA nodes (a mask) that the hints came to, None without any.
    """
    match failure:
        case AllocationFailure.NOT_EXACT:
            return Rule.QUANTITY_FORM, (
                "a request is not written as a whole number of bytes or of Ki, Mi, Gi, as the API would"
            )
        case AllocationFailure.VIOLATES_GROUPS:
            nodes = "" if affinity is None else f" {nodes_text(affinity)}"
            return Rule.GROUP_RULE, (
                f"the hint{nodes} has nodes in use by themselves or in other groups: {groups(tables)}"
            )
        case AllocationFailure.DEFAULT_NOT_PREFERRED | AllocationFailure.EXTENSION_NOT_PREFERRED:
            return _too_wide(_width(tables, request), request, tables)
        case AllocationFailure.NO_DEFAULT:
            return _none_at_all(request, tables)
        case AllocationFailure.NOT_EXTENDED:
            return _not_extended(request, affinity, tables)


def _too_wide(width: int, request: MemoryRequest, tables: Tables) -> Blocked:
    nodes = counted(width, "NUMA node")
    fit = f"{amounts(request)} fit into {nodes} when all is free, so only sets of that size"
    if _serves(tables, request, width):
        return Rule.GROUP_RULE, (
            f"{fit} are preferred; as much is free, but on nodes that are in use by themselves or in other "
            f"groups: {groups(tables)}"
        )
    return Rule.WIDTH_FROM_CAPACITY, f"{fit} are preferred, and none has that now: {_free(tables, request)}"


def _none_at_all(request: MemoryRequest, tables: Tables) -> Blocked:
    for name, amount in request.items():
        free = free_in(tables, tables, name)
        if free < amount:
            return Rule.NOT_ENOUGH, (
                f"it asks for {bytes_text(amount)} of {name}, {bytes_text(free)} of the whole node are free"
            )
    return Rule.GROUP_RULE, (
        f"{amounts(request)} are free only on NUMA nodes that do not go together, as those in use stay in "
        f"their groups: {groups(tables)}"
    )


def _not_extended(request: MemoryRequest, affinity: NodeMask | None, tables: Tables) -> Blocked:
    if MEMORY not in request:
        return Rule.HUGE_PAGES_ALONE, (
            "the hint's NUMA nodes have too few huge pages, and the kubelet looks for others only where the "
            "container requests memory, too"
        )
    rule, why = _none_at_all(request, tables)
    if affinity is None:
        return rule, why
    lacking = f"the hint is {nodes_text(affinity)}, with {_free(tables, request, CPUSet(affinity))} free"
    return rule, f"{lacking}; {why}"


def _serves(tables: Tables, request: MemoryRequest, size: int, amount: AmountIn = free_in) -> bool:
    """Tell whether some *size* nodes have as much, free by default, whatever groups they are in."""
    nodes = CPUSet.of(tables).mask
    coverages = [
        Coverage.of(nodes, {1 << node: amount(tables, (node,), name) for node in tables}, (), wanted)
        for name, wanted in request.items()
    ]
    return CommonSets.common(coverages, size).possible


def _width(tables: Tables, request: MemoryRequest) -> int:
    """Count the fewest nodes that would do if all were free."""
    sizes = range(1, len(tables))
    return next((size for size in sizes if _serves(tables, request, size, allocatable_in)), len(tables))


def amounts(request: MemoryRequest) -> str:
    """Write a request: ``4Gi of memory and 1Gi of hugepages-1Gi``."""
    return " and ".join(f"{bytes_text(amount)} of {name}" for name, amount in request.items())


def groups(tables: Tables) -> str:
    """Write the groups of the nodes that are in use: ``{0} {1-2}``."""
    used = {CPUSet.of(node.cells).mask for node in tables.values() if node.number_of_assignments}
    return " ".join(f"{{{CPUSet(nodes)}}}" for nodes in sorted(used))


def _free(tables: Tables, request: MemoryRequest, nodes: Iterable[int] | None = None) -> str:
    return ", ".join(
        f"{bytes_text(free_in(tables, (node,), name))} of {name} on node {node}"
        for name in request
        for node in (tables if nodes is None else nodes)
    )
