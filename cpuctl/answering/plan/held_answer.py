"""What rejected pods keep: the kubelet releases it only when its managers next clean up.

Rule: kubelet v1.36 ``pkg/kubelet/cm``: the CPU Manager also cleans up while it reconciles
(``cpu_manager.go``, ``reconcileState``); the Memory Manager (``removeStaleState``) and the device manager
(``UpdateAllocatedDevices``) do so only for the next pod.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from cpuctl.answering.topology.devices_answer import nodes_key
from cpuctl.cpuset import CPUSet

if TYPE_CHECKING:
    from cpuctl.answers.decisions import Block
    from cpuctl.answers.plan import HeldByRejected, HeldDevices, HeldOthers
    from cpuctl.engine.devices.provider import DeviceProvider
    from cpuctl.engine.memory.provider import MemoryProvider
    from cpuctl.engine.node import Node
    from cpuctl.pods.model import StoredPod

_NEXT_POD = "until the next pod arrives"
_ANOTHER_POD = "until another pod is admitted"
_RECONCILED = f"{_NEXT_POD} or the CPU Manager reconciles (cpuManagerReconcilePeriod)"


def held_answers(node: Node, pods: Iterable[StoredPod]) -> list[HeldByRejected]:
    """Describe what rejected pods still hold; those that hold nothing are left out."""
    return [held for each in pods if (held := _held(node, each))]


def _held(node: Node, pod: StoredPod) -> HeldByRejected | None:
    at_next = _NEXT_POD if node.forgets_pods else _ANOTHER_POD
    cpus, others = node.state.held_by(pod.uid), _others(node, pod.uid, at_next)
    if not cpus and not others:
        return None
    return {
        "namespace": pod.namespace,
        "name": pod.name,
        "cpus": str(CPUSet(cpus)),
        "until": _RECONCILED if cpus and node.forgets_pods else at_next,
        **others,
    }


def _others(node: Node, uid: str, until: str) -> HeldOthers:
    held: HeldOthers = {}
    if memory := _memory(node.memory, uid):
        held["memory"] = memory
    if devices := list(_devices(node.devices, uid)):
        held["devices"] = devices
    if held:
        held["othersUntil"] = until
    return held


def _memory(provider: MemoryProvider, uid: str) -> list[Block]:
    """Add up the blocks of a pod's containers; the pod's own blocks, if any, include them."""
    if provider.policy is None:
        return []
    state = provider.state
    of_containers = (block for blocks in state.blocks.get(uid, {}).values() for block in blocks)
    amounts: Counter[tuple[str, str]] = Counter()
    for block in state.pod_blocks.get(uid) or of_containers:
        amounts[block.type, block.node_list] += block.size
    return [
        {"resource": resource, "bytes": size, "numaNodes": nodes}
        for (resource, nodes), size in sorted(amounts.items())
        if size
    ]


def _devices(provider: DeviceProvider, uid: str) -> Iterator[HeldDevices]:
    for resource, pool in provider.pools.items():
        if devices := provider.state.of_pod(uid, resource):
            for nodes, count in sorted(pool.counts(devices).items()):
                yield {"resource": resource, "numaNodes": nodes_key(nodes), "count": count}
