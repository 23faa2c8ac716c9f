"""The Memory Manager's static policy: hints and allocation for one container.

Rule: kubelet v1.36 ``memorymanager/policy_static.go``. Sets of NUMA nodes are masks of node ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

from cpuctl.checkpoints.model import MemoryBlock, MemoryNode
from cpuctl.cpuset import CPUSet
from cpuctl.engine.hints.hints import Hint
from cpuctl.engine.hints.node_sets import MEMORY as MEMORY_MANAGER
from cpuctl.engine.hints.node_sets import endless_walk
from cpuctl.engine.hints.topology_manager import NODE_IDS
from cpuctl.engine.masks import NodeMask
from cpuctl.engine.memory.state import Blocks, MemoryManagerState
from cpuctl.engine.memory.tables import (
    MEMORY,
    MemoryRequest,
    charge,
    container_request,
    free_in,
    violates_groups,
)
from cpuctl.engine.outcome import FaultKind, KubeletFault, Rejected, RejectionReason
from cpuctl.pods.model import Container, StoredPod
from cpuctl.records import Record

if TYPE_CHECKING:
    from cpuctl.engine.memory.hints import MemoryHints


class AllocationFailure(StrEnum):
    """Why the static policy cannot allocate, in the kubelet's words."""

    NOT_EXACT = "failed to represent quantity as int64"
    NO_DEFAULT = "failed to get the default NUMA affinity, no NUMA nodes with enough memory is available"
    DEFAULT_NOT_PREFERRED = "failed to find the default preferred hint"
    NOT_EXTENDED = "failed to find NUMA nodes to extend the current topology hint"
    EXTENSION_NOT_PREFERRED = "failed to find the extended preferred hint"
    VIOLATES_GROUPS = "preferred hint violates NUMA node allocation"


class StaticMemoryPolicy(Record):
    """The static policy as constructed at kubelet start: the tables of a node with no memory assigned.

    ``rejects_overlaps``: several NUMA nodes are assigned only if none of them is in use alone or in another
    group; without it groups may overlap. ``compares_groups``: a state file is compared with the sums of
    groups, not with each of their nodes. ``hugepages_known``: all huge pages of the tables are known. A
    provider calls this module through the policy; a node without the policy never loads it.
    """

    tables: Mapping[int, MemoryNode]
    rejects_overlaps: bool = True
    compares_groups: bool = True
    hugepages_known: bool = True

    def fresh_state(self) -> MemoryManagerState:
        """Return the state a kubelet starts with when it finds no file."""
        return MemoryManagerState(dict(self.tables))

    def request(self, container: Container) -> MemoryRequest | None:
        """Return a container's memory request; None if it cannot be represented."""
        return container_request(container)

    def hints(
        self, state: MemoryManagerState, uid: str, request: MemoryRequest
    ) -> MemoryHints | KubeletFault | None:
        """Return the hints for a pod's request, None if it has no hints."""
        return find_hints(state, uid, request)

    def allocate(
        self,
        state: MemoryManagerState,
        pod: StoredPod,
        container: Container,
        request: MemoryRequest | None,
        hint: Hint,
    ) -> Blocks | Rejected | KubeletFault:
        """Give a container the memory of its request, near the hint, and record it in *state*."""
        return allocate(state, pod, container, request, hint, rejects_overlaps=self.rejects_overlaps)


def allocate(
    state: MemoryManagerState,
    pod: StoredPod,
    container: Container,
    request: MemoryRequest | None,
    hint: Hint,
    *,
    rejects_overlaps: bool = True,
) -> Blocks | Rejected | KubeletFault:
    """Give *container* the memory of its *request* and record it in *state*.

    *hint* is what the Topology Manager chose. A *request* of None cannot be represented.
    """
    known = state.assigned(pod.uid, container.name)
    if known is not None:
        state.remember_reuse(pod.uid, container.kind, known)
        return known
    if request is None:
        return _rejected(AllocationFailure.NOT_EXACT, container)
    nodes = choose_nodes(state, pod.uid, request, hint, container, rejects_overlaps=rejects_overlaps)
    return _take(state, pod, container, request, nodes) if isinstance(nodes, int) else nodes


def choose_nodes(
    state: MemoryManagerState,
    uid: str,
    request: MemoryRequest,
    hint: Hint,
    container: Container | None = None,
    *,
    rejects_overlaps: bool = True,
) -> NodeMask | Rejected | KubeletFault:
    """Choose the NUMA nodes (a mask) for a container's request, or for a pod's if *container* is None."""
    nodes = _affinity(state, uid, request, hint)
    if isinstance(nodes, int):
        several = nodes.bit_count() > 1
        if not (several and rejects_overlaps and violates_groups(state.tables, list(CPUSet(nodes)))):
            return nodes
        nodes = AllocationFailure.VIOLATES_GROUPS
    return nodes if isinstance(nodes, KubeletFault) else _rejected(nodes, container, request, state)


def find_hints(
    state: MemoryManagerState, uid: str, request: MemoryRequest
) -> MemoryHints | KubeletFault | None:
    """Return the hints for a pod's request, None if it has no hints.

    Return a fault if a NUMA node has no table of a resource, or an id that no mask can hold.
    """
    for node in state.tables:
        if node not in NODE_IDS:
            return _crash(
                f"making a mask with NUMA node {node}, although masks only hold 0 to {NODE_IDS[-1]}"
            )
    if unknown := _unknown(state, state.tables, request):
        return unknown
    if not request:
        return None
    if fault := endless_walk(MEMORY_MANAGER, len(state.tables), "the memory of a Guaranteed pod"):
        return fault
    from cpuctl.engine.memory.hints import MemoryHints

    hints = MemoryHints.generate(state.tables, request, state.reusable_for(uid))
    return hints or None


def _affinity(
    state: MemoryManagerState, uid: str, request: MemoryRequest, hint: Hint
) -> NodeMask | AllocationFailure | KubeletFault:
    """Choose the nodes to allocate on: those of the hint, more if they are short; the best without a hint."""
    chosen = hint if hint.nodes is not None else _default(state, uid, request, hint)
    if not isinstance(chosen, Hint):
        return chosen
    assert chosen.nodes is not None
    members = list(CPUSet(chosen.nodes))
    if unknown := _unknown(state, members, request):
        return unknown
    if any(free_in(state.tables, members, name) < amount for name, amount in request.items()):
        extended = _extended(state, uid, request, chosen)
        if not isinstance(extended, Hint):
            return extended
        assert extended.nodes is not None
        return extended.nodes
    return chosen.nodes


def _default(
    state: MemoryManagerState, uid: str, request: MemoryRequest, hint: Hint
) -> Hint | AllocationFailure | KubeletFault:
    hints = find_hints(state, uid, request)
    if isinstance(hints, KubeletFault):
        return hints
    if hints is None:
        return AllocationFailure.NO_DEFAULT
    if MEMORY not in request:
        # The kubelet searches the hints for memory for the best one, and uses the result even if it is nil.
        return _crash("choosing NUMA nodes for a container that requests huge pages, but no memory")
    best = hints.best()
    assert best is not None
    return AllocationFailure.DEFAULT_NOT_PREFERRED if hint.preferred and not best.preferred else best


def _extended(
    state: MemoryManagerState, uid: str, request: MemoryRequest, hint: Hint
) -> Hint | AllocationFailure | KubeletFault:
    hints = find_hints(state, uid, request)
    if isinstance(hints, KubeletFault):
        return hints
    assert hint.nodes is not None
    best = hints.best(hint.nodes) if hints and MEMORY in request else None
    if best is None:
        return AllocationFailure.NOT_EXTENDED
    return AllocationFailure.EXTENSION_NOT_PREFERRED if hint.preferred and not best.preferred else best


def _take(
    state: MemoryManagerState, pod: StoredPod, container: Container, request: MemoryRequest, nodes: NodeMask
) -> Blocks:
    members = tuple(CPUSet(nodes))
    lent = state.reusable_for(pod.uid)
    for name, amount in sorted(request.items()):
        charge(state.tables, members, name, max(amount - lent.get((nodes, name), 0), 0))
    blocks = tuple(
        MemoryBlock(numa_affinity=members, type=name, size=amount) for name, amount in sorted(request.items())
    )
    state.remember_reuse(pod.uid, container.kind, blocks)
    state.record(pod, container, blocks)
    return blocks


def _unknown(state: MemoryManagerState, nodes: Iterable[int], request: MemoryRequest) -> KubeletFault | None:
    """Return the crash over a resource that a node has no table of: the kubelet assumes that it has one."""
    names = sorted(request)
    for node in nodes:
        for name in names:
            if name not in state.tables[node].memory_map:
                return _crash(f"looking up {name} of NUMA node {node}, which has no such huge pages")
    return None


def _crash(where: str) -> KubeletFault:
    why = "runtime error: invalid memory address or nil pointer dereference"
    return KubeletFault(kind=FaultKind.CRASH, where=f"Memory Manager, {where}", why=why)


def _rejected(
    failure: AllocationFailure,
    container: Container | None,
    request: MemoryRequest | None = None,
    state: MemoryManagerState | None = None,
) -> Rejected:
    details = {}
    if request and state:
        details = {
            "requestedBytes": request.get(MEMORY, 0),
            "freeBytes": free_in(state.tables, state.tables, MEMORY),
        }
    return Rejected(
        reason=RejectionReason.UNEXPECTED_ADMISSION,
        message=f"Allocate failed due to [memorymanager] {failure}, which is unexpected",
        container=container.name if container else "",
        details=details,
    )
