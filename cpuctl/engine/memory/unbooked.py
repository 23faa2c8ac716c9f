"""Huge pages that pods may take although the Memory Manager has promised them to others.

Its books hold the memory of Guaranteed pods alone. Every other pod that asks for huge pages takes them, as it
needs them, from whatever NUMA node the kernel finds some on: kubernetes issue 134395; KEP-5759 proposes that
kubelets look at the pages that are free.
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
    """Huge pages of some NUMA nodes, in bytes: what pods may get of them in all, and what is promised.

    ``outside`` is what pods that are in no books may take in all, on any node; ``takers`` and
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
        """What may be gone of the promised pages if all that can be taken is taken here."""
        return min(self.guaranteed, self.guaranteed + self.outside - self.allocatable)


def pages_at_risk(state: MemoryManagerState, active: Mapping[str, StoredPod]) -> Iterator[PagesAtRisk]:
    """Yield the sets of NUMA nodes whose promised huge pages pods outside of the books could take."""
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
    """Yield what a pod holds: as a whole, of which its containers have parts, or by container."""
    if uid in state.pod_blocks:
        yield from state.pod_blocks[uid]
        return
    for blocks in state.blocks.get(uid, {}).values():
        yield from blocks


def _takers(
    pods: Iterable[StoredPod], held: Mapping[str, Iterable[MemoryBlock]], resource: str
) -> Iterator[tuple[str, int]]:
    """Yield pods that ask for such pages and have none in the books, with how much they ask for."""
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
