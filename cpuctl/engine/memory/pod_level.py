"""A pod's memory: charged at once, then divided among its containers as slices and a pool for the rest.

Rule: KEP-5526 and kubelet v1.36 ``memorymanager/policy_static.go``, ``AllocatePod``.
"""

from __future__ import annotations

from collections.abc import Callable

from cpuctl.checkpoints.model import MemoryBlock
from cpuctl.cpuset import CPUSet
from cpuctl.engine.hints.hints import Hint
from cpuctl.engine.memory.manager import choose_nodes
from cpuctl.engine.memory.state import Blocks, MemoryManagerState
from cpuctl.engine.memory.tables import MemoryRequest, charge, is_memory, wrapped
from cpuctl.engine.outcome import KubeletFault, Rejected, RejectionReason
from cpuctl.engine.pod_level import empty_pool
from cpuctl.pods.model import Container, ContainerKind, StoredPod

Claims = Callable[[Container], MemoryRequest]
"""What a container gets exclusively; empty for one that shares."""


def pod_level_request(pod: StoredPod) -> MemoryRequest | None:
    """Return what a pod requests as a whole; None if an amount is not written as a whole number."""
    request = {}
    for name, quantity in (pod.resources.requests if pod.resources else {}).items():
        if is_memory(name) and quantity.sign > 0:
            amount = quantity.exact_int64
            if amount is None:
                return None
            request[name] = amount
    return request


def empty_memory_pool(pod: StoredPod, claims: Claims, total: MemoryRequest) -> str:
    """Return why no memory would be left for the pod's shared containers; empty if some is left."""
    return empty_pool(pod.all_containers, claims, total)


def allocate_bubble(
    state: MemoryManagerState, pod: StoredPod, claims: Claims, total: MemoryRequest, hint: Hint
) -> dict[str, Blocks] | Rejected | KubeletFault:
    """Give a pod its *total* memory near the *hint*, and return each container's part of it."""
    if why := empty_memory_pool(pod, claims, total):
        return Rejected(reason=RejectionReason.EMPTY_POD_SHARED_POOL, message=why)
    nodes = choose_nodes(state, pod.uid, total, hint)
    if not isinstance(nodes, int):
        return nodes
    members = tuple(CPUSet(nodes))
    parts = {name: _blocks(members, part) for name, part in _parts(pod, claims, total).items()}
    for name, amount in sorted(total.items()):
        charge(state.tables, members, name, amount)
    state.pod_blocks[pod.uid] = _blocks(members, total)
    state.blocks.setdefault(pod.uid, {}).update(parts)
    return parts


def _blocks(members: tuple[int, ...], request: MemoryRequest) -> Blocks:
    return tuple(
        MemoryBlock(numa_affinity=members, type=name, size=amount)
        for name, amount in sorted(request.items())
        if amount
    )


def _without(left: MemoryRequest, own: MemoryRequest, container: Container) -> dict[str, int]:
    """Take a container's own memory from the pool.

    If an app container takes some of a resource that the pod's total does not name, the pool wraps around:
    the kubelet then writes 2^64 minus that amount into the blocks of every container that shares the pool.
    """
    names = left.keys() if container.kind is ContainerKind.SIDECAR else left.keys() | own.keys()
    return {name: wrapped(left.get(name, 0) - own.get(name, 0)) for name in names}


def _parts(pod: StoredPod, claims: Claims, total: MemoryRequest) -> dict[str, MemoryRequest]:
    """Return each container's part: init containers get what sidecars before them leave, others the pool."""
    parts: dict[str, MemoryRequest] = {}
    left = dict(total)
    for container in pod.all_containers:
        own = claims(container)
        if container.kind is ContainerKind.INIT:
            parts[container.name] = own or dict(left)
        elif own:
            parts[container.name] = own
            left = _without(left, own, container)
    return {each.name: parts.get(each.name, left) for each in pod.all_containers}
