"""Why the Memory Manager has no hint that a policy accepts, or cannot allocate.

Rules: kubelet v1.36 ``memorymanager/policy_static.go``: a NUMA node whose memory is in use can only be used
alone or in its group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from cpuctl.checkpoints.model import MemoryNode, node_list
from cpuctl.cpuset import CPUSet
from cpuctl.engine.explain.decision import Blocked, Rule, bytes_text, nodes_text
from cpuctl.engine.explain.offers import SINGLE, memory_requested
from cpuctl.engine.hints.common_sets import CommonSets
from cpuctl.engine.hints.coverage import Coverage
from cpuctl.engine.masks import NO_NODES, NODE_0, NodeMask
from cpuctl.engine.memory.hints import MemoryHints
from cpuctl.engine.memory.manager import AllocationFailure
from cpuctl.engine.memory.tables import MEMORY, MemoryRequest, allocatable_in, free_in
from cpuctl.engine.node import Node
from cpuctl.phrases import all_of, counted
from cpuctl.pods.model import Container, StoredPod
from cpuctl.records import Record

Tables = Mapping[int, MemoryNode]
AmountIn = Callable[[Tables, Iterable[int], str], int]
"""Function that adds up the bytes of a resource on some nodes."""


def blocked_by_memory(hints: MemoryHints, container: Container | None, pod: StoredPod, node: Node) -> Blocked:
    """Return the rule by which the policy accepts none of the memory hints, of which there are some."""
    request = memory_requested(node, pod, container) or {}
    tables, policy = node.memory.state.tables, node.topology_manager.policy
    if policy != SINGLE:
        return _too_wide(hints.width, request, tables)
    requested = f"{SINGLE} accepts only hints of one NUMA node"
    if hints.width > 1:
        return (
            Rule.LARGER_THAN_A_NODE,
            (
                f"{requested}, but the request ({amounts(request)}) needs at least {hints.width}, even if "
                "they are empty"
            ),
        )
    if _serves(tables, request, 1):
        return (
            Rule.GROUP_RULE,
            f"{requested}, but the nodes with {amounts(request)} are in groups: {groups(tables)}",
        )
    return Rule.NO_SINGLE_NODE, f"{requested}, but none has {amounts(request)} free: {_free(tables, request)}"


class HintNodes(Record):
    """The NUMA nodes of the merged hint, and what the pod's init containers took there, by resource."""

    nodes: NodeMask
    lent: Mapping[str, int] = {}


def blocked_allocation(
    failure: AllocationFailure, request: MemoryRequest, hint: HintNodes | None, tables: Tables
) -> Blocked:
    """Return the rule behind an error of the Memory Manager; *hint* is None without the nodes of a hint."""
    match failure:
        case AllocationFailure.NOT_EXACT:
            return Rule.QUANTITY_FORM, (
                "a request of memory or huge pages is not written as a whole number of bytes, Ki, Mi or Gi"
            )
        case AllocationFailure.VIOLATES_GROUPS:
            nodes = "" if hint is None else f" {nodes_text(hint.nodes)}"
            return Rule.GROUP_RULE, (
                f"the hint{nodes} has nodes that are used individually or in other groups: {groups(tables)}"
            )
        case AllocationFailure.EXTENSION_NOT_PREFERRED if hint is not None:
            return _extended_too_far(request, hint, tables)
        case AllocationFailure.DEFAULT_NOT_PREFERRED | AllocationFailure.EXTENSION_NOT_PREFERRED:
            return _too_wide(_width(tables, request), request, tables)
        case AllocationFailure.NO_DEFAULT:
            return _none_at_all(request, tables)
        case AllocationFailure.NOT_EXTENDED:
            return _not_extended(request, hint, tables)


def _too_wide(width: int, request: MemoryRequest, tables: Tables) -> Blocked:
    fit = _only_as_wide(width, request)
    if _serves(tables, request, width):
        return Rule.GROUP_RULE, (
            f"{fit} are preferred; enough is free, but on nodes that are used individually or in other "
            f"groups: {groups(tables)}"
        )
    return Rule.WIDTH_FROM_CAPACITY, f"{fit} are preferred, and none has that now: {_free(tables, request)}"


def _only_as_wide(width: int, request: MemoryRequest) -> str:
    nodes = counted(width, "NUMA node")
    return f"{amounts(request)} fit into {nodes} when empty, so only sets of that size"


def _extended_too_far(request: MemoryRequest, hint: HintNodes, tables: Tables) -> Blocked:
    """Return why no set of nodes with those of the hint is preferred."""
    width = _width(tables, request)
    why = (
        f"{_of_hint(request, hint, tables)}; {_ONLY_ADDS}, but {_only_as_wide(width, request)} are preferred"
    )
    if width < hint.nodes.bit_count():
        return Rule.WIDTH_FROM_CAPACITY, f"{why}, and none of the larger ones"
    if _serves(tables, request, width, containing=hint.nodes):
        return Rule.GROUP_RULE, (
            f"{why}; with the hint's nodes, enough is free, but on nodes that are used individually or in "
            f"other groups: {groups(tables)}"
        )
    return Rule.WIDTH_FROM_CAPACITY, (
        f"{why}, and none with the hint's nodes has that now: {_free(tables, request)}"
    )


def _none_at_all(request: MemoryRequest, tables: Tables) -> Blocked:
    for name, amount in request.items():
        free = free_in(tables, tables, name)
        if free < amount:
            have = (
                f"all NUMA nodes together have {bytes_text(free)} free"
                if free
                else "no NUMA node has any free"
            )
            return Rule.NOT_ENOUGH, f"{bytes_text(amount)} of {name} are requested, but {have}"
    return Rule.GROUP_RULE, (
        f"{_requested_and_free(request, tables)}, but they cannot be combined, as nodes in use stay in their "
        f"groups: {groups(tables)}"
    )


def _requested_and_free(request: MemoryRequest, tables: Tables) -> str:
    free = all_of(bytes_text(free_in(tables, tables, name)) for name in request)
    return f"{amounts(request)} are requested, and all NUMA nodes together have {free} free"


def _not_extended(request: MemoryRequest, hint: HintNodes | None, tables: Tables) -> Blocked:
    if MEMORY not in request:
        return Rule.HUGE_PAGES_ALONE, (
            "the hint's NUMA nodes have too few huge pages, and the kubelet only looks for others if the "
            "container also requests memory"
        )
    rule, why = _none_at_all(request, tables)
    if hint is None:
        return rule, why
    if rule is Rule.GROUP_RULE:
        why = (
            f"{_requested_and_free(request, tables)}, but {_ONLY_ADDS}, and nodes in use stay in their "
            f"groups: {groups(tables)}"
        )
    return rule, f"{_of_hint(request, hint, tables)}; {why}"


_ONLY_ADDS = "the kubelet only adds nodes to those of the hint"


def _of_hint(request: MemoryRequest, hint: HintNodes, tables: Tables) -> str:
    """Return what the nodes of the hint have free; what the pod could reuse does not count as such."""
    nodes = CPUSet(hint.nodes)
    reused = {name: amount for name, amount in hint.lent.items() if name in request}
    but = f", not counting the {amounts(reused)} that its init containers used there" if reused else ""
    if len(nodes) == 1:
        free = amounts({name: free_in(tables, nodes, name) for name in request})
        return f"{nodes_text(hint.nodes)}, which the hint names, has {free} free{but}"
    return f"{nodes_text(hint.nodes)}, which the hint names, have {_free(tables, request, nodes)} free{but}"


def _serves(
    tables: Tables,
    request: MemoryRequest,
    size: int,
    amount: AmountIn = free_in,
    containing: NodeMask = NO_NODES,
) -> bool:
    """Return whether any *size* nodes have the requested amount, free by default, regardless of groups."""
    nodes = NodeMask(CPUSet.of(tables).mask)
    coverages = [
        Coverage.of(nodes, {NODE_0 << node: amount(tables, (node,), name) for node in tables}, (), wanted)
        for name, wanted in request.items()
    ]
    required = Coverage.of(nodes, {}, [NODE_0 << node for node in CPUSet(containing)], 0)
    return CommonSets.common([*coverages, required], size).possible


def _width(tables: Tables, request: MemoryRequest) -> int:
    """Return the fewest nodes that would be enough if all memory were free."""
    sizes = range(1, len(tables))
    return next((size for size in sizes if _serves(tables, request, size, allocatable_in)), len(tables))


def amounts(request: MemoryRequest) -> str:
    """Format a request: ``4Gi of memory and 1Gi of hugepages-1Gi``."""
    return all_of(f"{bytes_text(amount)} of {name}" for name, amount in request.items())


def groups(tables: Tables) -> str:
    """Format the groups of the nodes that are in use: ``node 0 alone, nodes 1-2 together``."""
    used = {tuple(sorted(node.cells)) for node in tables.values() if node.number_of_assignments}
    return ", ".join(
        f"nodes {node_list(nodes)} together" if len(nodes) > 1 else f"node {nodes[0]} alone"
        for nodes in sorted(used)
    )


def _free(tables: Tables, request: MemoryRequest, nodes: Iterable[int] | None = None) -> str:
    return ", ".join(
        f"{bytes_text(free_in(tables, (node,), name))} of {name} on node {node}"
        for name in request
        for node in (tables if nodes is None else nodes)
    )
