"""The Memory Manager's state: who has which memory, and what one pod may use again.

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
    """Return the NUMA nodes of a block as a mask, which holds no unknown package (-1)."""
    return NodeMask(CPUSet.of(node for node in block.numa_affinity if node >= 0).mask)


class MemoryManagerState(Changeable):
    """What the kubelet keeps in ``memory_manager_state``, and the memory one pod may use again.

    The memory of an ordinary init container may go to later containers of its pod on the same nodes:
    ``reusable``, in bytes by nodes and resource, is kept in memory only and for the pod last allocated to.
    ``pod_blocks`` is the memory that pods hold as a whole (KEP-5526): what their containers have is known
    from it.
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
        """Return a container's memory, None when it has none of its own."""
        return self.blocks.get(uid, {}).get(container)

    def reusable_for(self, uid: str) -> Mapping[tuple[NodeMask, str], int]:
        """Return the memory a container of this pod may use although it is taken already."""
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
        """Enter a container's blocks; those of init containers shrink by what is used again."""
        held = self.blocks.setdefault(pod.uid, {})
        held[container.name] = blocks
        for block in blocks:
            left = block.size
            for earlier in _ended_before(pod, container):
                held_earlier, left = _shrunk(held.get(earlier.name, ()), block, left)
                if held_earlier:
                    held[earlier.name] = held_earlier

    def remove_container(self, uid: str, container: str) -> None:
        """Release a container's memory; that of a pod as a whole goes with its last container."""
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
        """Release everything that is not held by one of these containers, by pod UID; *gone* may be alone."""
        for uid in list(self.blocks) if gone is None else gone:
            for name in sorted(self.blocks.get(uid, {}).keys() - set(containers.get(uid, ()))):
                self.remove_container(uid, name)

    def as_file(self, *, pod_level: bool = False) -> MemoryStateFile:
        """Return what the kubelet writes for this state; *pod_level* is its gate for pods as a whole."""
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
    """Take an amount off the blocks that are like the one *used*; return them, and what is left over."""
    shrunk = []
    for block in held:
        again = 0
        if (block.type, set(block.numa_affinity)) == (used.type, set(used.numa_affinity)):
            again = min(amount, block.size)
        amount -= again
        shrunk.append(replace(block, size=block.size - again) if again else block)
    return tuple(shrunk), amount
