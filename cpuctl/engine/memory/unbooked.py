"""Huge pages that pods may take although the Memory Manager has promised them to others.

It accounts for the memory of Guaranteed pods only. Any other pod that requests huge pages takes them, as it
needs them, from any NUMA node on which the kernel finds some: kubernetes issue 134395; KEP-5759 proposes
that kubelets check the free pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from cpuctl.checkpoints.model import MemoryBlock
from cpuctl.engine.memory.state import MemoryManagerState
from cpuctl.engine.memory.tables import is_huge_pages
from cpuctl.pods.model import StoredPod
from cpuctl.pods.requests import pod_requests


class PagesAtRisk(NamedTuple):
    """Huge pages of some NUMA nodes, in bytes: what pods may get of them in total, and what is promised.

    ``outside`` is what pods without an assignment may take in total, on any node; ``takers`` and
    ``holders`` are the names of pods.
    """

    numa_nodes: tuple[int, ...]
    resource: str
    allocatable: int
    guaranteed: int
    outside: int
    holders: tuple[str, ...]
    takers: tuple[str, ...]

    @property
    def missing(self) -> int:
        """The promised pages that may be missing if everything that can be taken is taken here."""
        return min(self.guaranteed, self.guaranteed + self.outside - self.allocatable)


def pages_at_risk(state: MemoryManagerState, active: Mapping[str, StoredPod]) -> Iterator[PagesAtRisk]:
    """Yield the sets of NUMA nodes whose promised huge pages pods without an assignment could take."""
    held = {uid: tuple(_blocks(state, uid)) for uid in {*state.blocks, *state.pod_blocks}}
    guaranteed = [
        (uid, block) for uid, blocks in held.items() for block in blocks if is_huge_pages(block.type)
    ]
    for resource in sorted({block.type for _, block in guaranteed}):
        takers = dict(_takers(active.values(), held, resource))
        outside = sum(takers.values())
        for nodes in sorted({block.numa_affinity for _, block in guaranteed if block.type == resource}):
            inside = [
                (uid, block.size)
                for uid, block in guaranteed
                if block.type == resource and set(block.numa_affinity) <= set(nodes)
            ]
            found = PagesAtRisk(
                numa_nodes=nodes,
                resource=resource,
                allocatable=sum(_allocatable(state, node, resource) for node in nodes),
                guaranteed=sum(size for _, size in inside),
                outside=outside,
                holders=tuple(dict.fromkeys(_name(active, uid) for uid, _ in inside)),
                takers=tuple(takers),
            )
            if outside and found.missing > 0:
                yield found


def _blocks(state: MemoryManagerState, uid: str) -> Iterator[MemoryBlock]:
    """Yield what a pod holds: as a whole, with parts for its containers, or by container."""
    if uid in state.pod_blocks:
        yield from state.pod_blocks[uid]
        return
    for blocks in state.blocks.get(uid, {}).values():
        yield from blocks


def _takers(
    pods: Iterable[StoredPod], held: Mapping[str, Iterable[MemoryBlock]], resource: str
) -> Iterator[tuple[str, int]]:
    """Yield pods that request such pages without an assignment, with the amount that they request."""
    for pod in pods:
        amount = pod_requests(pod).get(resource)
        if (
            amount is not None
            and amount.sign > 0
            and not any(block.type == resource for block in held.get(pod.uid, ()))
        ):
            yield pod.full_name, amount.value


def _allocatable(state: MemoryManagerState, node: int, resource: str) -> int:
    table = state.tables[node].memory_map.get(resource)
    return table.allocatable if table else 0


def _name(active: Mapping[str, StoredPod], uid: str) -> str:
    return active[uid].full_name if uid in active else uid
