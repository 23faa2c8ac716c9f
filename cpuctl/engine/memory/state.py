"""The Memory Manager's state: the memory that each container has, and what one pod may reuse.

Rule: kubelet v1.36 ``pkg/kubelet/cm/memorymanager``. Sets of NUMA nodes are masks of node ids.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Self, TypeAlias

from cpuctl.cpuset import CPUSet
from cpuctl.engine.changeable import Changeable
from cpuctl.engine.masks import NodeMask
from cpuctl.pods.model import Container, ContainerKind, StoredPod
from cpuctl.records import replace

if TYPE_CHECKING:
    from cpuctl.checkpoints.model import MemoryBlock, MemoryStateFile
    from cpuctl.engine.memory.tables import Tables

Blocks: TypeAlias = "tuple[MemoryBlock, ...]"


def nodes_of(block: MemoryBlock) -> NodeMask:
    """Return the NUMA nodes of a block as a mask, without an unknown package (-1)."""
    return NodeMask(CPUSet.of(node for node in block.numa_affinity if node >= 0).mask)


class MemoryManagerState(Changeable):
    """What the kubelet keeps in ``memory_manager_state``, and the memory that one pod may reuse.

    The memory of an ordinary init container may go to later containers of its pod on the same nodes:
    ``reusable``, in bytes by nodes and resource, is never saved, and kept only for the pod last allocated to.
    ``pod_blocks`` is the memory that pods hold as a whole (KEP-5526): their containers' memory is part of it.
    """

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.blocks: dict[str, dict[str, Blocks]] = {}
        self.reusable_by = ""
        self.reusable: dict[tuple[NodeMask, str], int] = {}
        self.pod_blocks: dict[str, Blocks] = {}

    def copy(self) -> Self:
        """Return an independent state with the same content."""
        copied = super().copy()
        copied.blocks = {uid: dict(containers) for uid, containers in self.blocks.items()}
        return copied

    def assigned(self, uid: str, container: str) -> Blocks | None:
        """Return the memory assigned to a container, None if it has no assignment."""
        return self.blocks.get(uid, {}).get(container)

    def reusable_for(self, uid: str) -> Mapping[tuple[NodeMask, str], int]:
        """Return the memory that a container of this pod may use although it is already taken."""
        return self.reusable if self.reusable_by == uid else {}

    def remember_reuse(self, uid: str, kind: ContainerKind, blocks: Blocks) -> None:
        """Lend an ordinary init container's memory to its successors; others keep what they take."""
        if self.reusable_by != uid:
            self.reusable_by, self.reusable = uid, {}
        for block in blocks:
            key = nodes_of(block), block.type
            lent = self.reusable.pop(key, 0)
            left = max(lent, block.size) if kind is ContainerKind.INIT else lent - block.size
            if left > 0:
                self.reusable[key] = left

    def record(self, pod: StoredPod, container: Container, blocks: Blocks) -> None:
        """Record a container's blocks; those of earlier init containers shrink by what is reused."""
        held = self.blocks.setdefault(pod.uid, {})
        held[container.name] = blocks
        for block in blocks:
            left = block.size
            for earlier in _ended_before(pod, container):
                held_earlier, left = _shrunk(held.get(earlier.name, ()), block, left)
                if held_earlier:
                    held[earlier.name] = held_earlier

    def remove_container(self, uid: str, container: str) -> None:
        """Release a container's memory; a pod's memory as a whole is released with its last container."""
        from cpuctl.engine.memory.tables import release

        containers = self.blocks.get(uid, {})
        if container not in containers:
            return
        blocks = containers.pop(container)
        if uid in self.pod_blocks:
            blocks = () if containers else self.pod_blocks.pop(uid)
        release(self.tables, blocks)
        if not containers:
            del self.blocks[uid]

    def start_container(self, pod: StoredPod, container: str) -> None:
        """Release the memory of the ordinary init containers that have ended when this one starts."""
        for each in pod.all_containers:
            if each.name == container:
                return
            if each.kind is ContainerKind.INIT:
                self.remove_container(pod.uid, each.name)

    def keep_only(
        self, containers: Mapping[str, Collection[str]], gone: Collection[str] | None = None
    ) -> None:
        """Release what none of these containers holds, by pod UID; *gone* limits it to some pods."""
        for uid in list(self.blocks) if gone is None else gone:
            for name in sorted(self.blocks.get(uid, {}).keys() - set(containers.get(uid, ()))):
                self.remove_container(uid, name)

    def as_file(self, *, pod_level: bool = False) -> MemoryStateFile:
        """Return what the kubelet writes for this state; *pod_level* is its gate PodLevelResourceManagers."""
        from cpuctl.checkpoints.model import MemoryStateFile

        return MemoryStateFile(
            policy_name="Static",
            machine_state=dict(self.tables),
            entries={uid: dict(containers) for uid, containers in self.blocks.items()},
            pod_entries=dict(self.pod_blocks) if pod_level else {},
        )

    @classmethod
    def of_file(cls, saved: MemoryStateFile) -> MemoryManagerState:
        """Return the state that a file holds."""
        state = cls(dict(saved.machine_state))
        state.blocks = {uid: dict(containers) for uid, containers in saved.entries.items()}
        state.pod_blocks = dict(saved.pod_entries)
        return state


def _ended_before(pod: StoredPod, container: Container) -> Iterable[Container]:
    """Yield the ordinary init containers before a container."""
    for each in pod.init_containers:
        if each.name == container.name:
            return
        if each.kind is ContainerKind.INIT:
            yield each


def _shrunk(held: Blocks, used: MemoryBlock, amount: int) -> tuple[Blocks, int]:
    """Subtract an amount from the blocks of the type and nodes of *used*; return them and the rest."""
    shrunk = []
    for block in held:
        again = 0
        if (block.type, set(block.numa_affinity)) == (used.type, set(used.numa_affinity)):
            again = min(amount, block.size)
        amount -= again
        shrunk.append(replace(block, size=block.size - again) if again else block)
    return tuple(shrunk), amount
