"""A pod that is admitted again while it holds pod-level CPUs or memory: what a new allocation loses.

Rule: kubernetes issues 140989 (CPUs) and 140906 (memory), fixed in 1.38: ``AllocatePod`` does not check
whether the pod already has its share, and hints do not treat it as the pod's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpuctl.records import Record

if TYPE_CHECKING:
    from cpuctl.engine.cpu.state import CPUManagerState
    from cpuctl.engine.memory.state import Blocks, MemoryManagerState

CPU_ISSUE, MEMORY_ISSUE = "kubernetes/kubernetes#140989", "kubernetes/kubernetes#140906"


class PodAllocation(Record):
    """What a pod holds as a whole, and how many memory assignments have no owner before it is readmitted.

    ``cpus`` is a mask.
    """

    cpus: int
    memory: Blocks
    ownerless: int

    @property
    def issues(self) -> tuple[str, ...]:
        """The issues that report the defects that affect it."""
        return tuple(issue for issue, held in ((CPU_ISSUE, self.cpus), (MEMORY_ISSUE, self.memory)) if held)


class Readmission(Record):
    """What a pod held that was allocated again or refused; ``lost_*`` then has no owner."""

    held: PodAllocation
    lost_cpus: int
    lost_memory: Blocks

    @property
    def lost(self) -> bool:
        """Whether anything is lost for good: no kubelet starts on such a state."""
        return bool(self.lost_cpus or self.lost_memory)


def pod_allocation_of(cpu: CPUManagerState, memory: MemoryManagerState, uid: str) -> PodAllocation | None:
    """Return what a pod holds as a whole; None if it holds nothing that way."""
    cpus, blocks = cpu.pod_entries.get(uid, 0), memory.pod_blocks.get(uid, ())
    if not cpus and not blocks:
        return None
    return PodAllocation(cpus=cpus, memory=blocks, ownerless=_ownerless(memory))


def readmission_of(held: PodAllocation, cpu: CPUManagerState, memory: MemoryManagerState) -> Readmission:
    """Compare what a pod held with what is recorded after it was admitted again."""
    reallocated = _ownerless(memory) > held.ownerless
    return Readmission(
        held=held,
        lost_cpus=held.cpus & ~cpu.owned,
        lost_memory=held.memory if reallocated else (),
    )


def _ownerless(state: MemoryManagerState) -> int:
    """Count the assignments that are in the tables but in no blocks, node by node."""
    from cpuctl.engine.memory.restart import held_blocks

    counted = sum(node.number_of_assignments for node in state.tables.values())
    return counted - sum(len(held.block.numa_affinity) for held in held_blocks(state))
