"""Who has the CPUs of each NUMA node, and what other pods hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from cpuctl.engine.memory.state import nodes_of
from cpuctl.engine.node import Node
from cpuctl.pods.model import StoredPod


class NodeShare(NamedTuple):
    """The CPUs (masks) of one NUMA node; what is neither reserved nor free is held by containers."""

    node: int
    cpus: int
    reserved: int
    own: int
    held: int
    free: int


class Holder(NamedTuple):
    """A pod, the exclusive CPUs (mask) it holds, and its bytes by resource and NUMA nodes (a mask).

    ``running`` is False for one that has ended.
    """

    uid: str
    name: str
    cpus: int
    memory: Mapping[tuple[str, int], int]
    running: bool


def node_shares(node: Node, pod: StoredPod) -> tuple[NodeShare, ...]:
    """Split every NUMA node up, as the CPU Manager sees it; nothing without the static policy."""
    if node.cpu.policy is None:
        return ()
    reserved = node.cpu.policy.reserved
    own, free = node.cpu.state.held_by(pod.uid), node.cpu.state.default & ~reserved
    return tuple(
        NodeShare(
            node=number,
            cpus=cpus,
            reserved=cpus & reserved,
            own=cpus & own,
            held=cpus & ~(reserved | own | free),
            free=cpus & free,
        )
        for number, cpus in node.topology.numa_nodes.items()
    )


def holders(node: Node, pod: StoredPod) -> Iterator[Holder]:
    """Yield the other pods that hold CPUs or memory, in the order of their lowest CPU."""
    cpu, memory = node.cpu.state, node.memory.state
    uids = cpu.owners | memory.blocks.keys() | memory.pod_blocks.keys()
    cpus = {uid: cpu.held_by(uid) for uid in sorted(uids - {pod.uid})}
    for uid, mask in sorted(cpus.items(), key=lambda each: each[1] & -each[1]):
        other = node.active.get(uid)
        name = other.full_name if other else uid
        yield Holder(uid=uid, name=name, cpus=mask, memory=_memory_held(node, uid), running=other is not None)


def _memory_held(node: Node, uid: str) -> dict[tuple[str, int], int]:
    """Add up a pod's blocks; what its containers have of the pod's own is told, not charged."""
    state = node.memory.state
    whole = state.pod_blocks.get(uid)
    lists = state.blocks.get(uid, {}).values() if whole is None else (whole,)
    held: dict[tuple[str, int], int] = {}
    for block in chain.from_iterable(lists):
        key = block.type, nodes_of(block)
        held[key] = held.get(key, 0) + block.size
    return held
