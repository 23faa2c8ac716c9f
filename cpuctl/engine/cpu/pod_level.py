"""A pod's CPUs: allocated as a whole, then cut into slices for its containers and a pool for the rest.

Rule: KEP-5526 and kubelet v1.36 ``policy_static.go``, ``AllocatePod``. CPU sets are masks throughout.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from cpuctl.engine.cpu.manager import CPURequest, StaticPolicy
from cpuctl.engine.cpu.state import CPUManagerState
from cpuctl.engine.masks import CPUMask, NodeMask
from cpuctl.engine.outcome import (
    AllocationError,
    KubeletFault,
    Picked,
    PickStep,
    Rejected,
    RejectionReason,
    Undetermined,
)
from cpuctl.engine.pod_level import empty_pool
from cpuctl.pods.model import Container, ContainerKind, StoredPod

Claims = Callable[[Container], int]
"""Function that returns how many exclusive CPUs a container is due; 0 for one that shares."""

_Failure = AllocationError | KubeletFault | Undetermined
_NOTHING: Mapping[str, CPUMask] = MappingProxyType({})


class CPUBubble(NamedTuple):
    """Where each container of a pod runs, and how each exclusive slice was picked."""

    containers: Mapping[str, CPUMask]
    steps: Mapping[str, tuple[PickStep, ...]]


def empty_cpu_pool(pod: StoredPod, claims: Claims, total: int) -> str:
    """Return why no CPU would be left for the pod's shared containers; empty if one is."""
    return empty_pool(
        pod.all_containers, lambda each: {"cpus": count} if (count := claims(each)) else {}, {"cpus": total}
    )


class BubbleRequest(NamedTuple):
    """A pod that is due *total* CPUs as a whole, its containers' own claims, and where it should go.

    ``affinity`` is the mask of NUMA nodes that the Topology Manager chose, None without one.
    """

    pod: StoredPod
    claims: Claims
    total: int
    affinity: NodeMask | None


def allocate_bubble(
    policy: StaticPolicy, state: CPUManagerState, request: BubbleRequest
) -> CPUBubble | Rejected | KubeletFault | Undetermined:
    """Give a pod its CPUs and record them in *state*.

    If the CPUs are not enough for the slices, the pod's CPUs stay taken and are never released, as in the
    kubelet.
    """
    pod = request.pod
    if why := empty_cpu_pool(pod, request.claims, request.total):
        return Rejected(reason=RejectionReason.EMPTY_POD_SHARED_POOL, message=why)
    if refused := policy.smt_refusal(state, None, request.total):
        return refused
    free = state.default & ~policy.reserved
    picked = policy.choose(state, CPURequest(pod, None, free, request.total, request.affinity))
    if not isinstance(picked, Picked):
        return _failed(picked)
    state.default &= ~picked.cpus
    state.pod_entries[pod.uid] = picked.cpus
    return record_bubble(policy, state, request, picked.cpus)


def record_bubble(
    policy: StaticPolicy,
    state: CPUManagerState,
    request: BubbleRequest,
    held: CPUMask,
    kept: Mapping[str, CPUMask] = _NOTHING,
) -> CPUBubble | Rejected | KubeletFault | Undetermined:
    """Cut what a pod holds (a mask) into slices, and record them unless one is impossible.

    *kept* are the CPUs of containers that already have theirs.
    """
    divider = _Divider(policy, held, kept)
    for container in request.pod.all_containers:
        failure = divider.cut(container, request.claims(container))
        if failure is not None:
            return _failed(failure, container)
    bubble = divider.bubble(request.pod.all_containers)
    for name, cpus in bubble.containers.items():
        state.assign(request.pod.uid, name, cpus)
    return bubble


class _Divider:
    """The slices cut from a pod's CPUs, init containers' first; the rest is the pod's shared pool."""

    def __init__(self, policy: StaticPolicy, cpus: CPUMask, kept: Mapping[str, CPUMask]) -> None:
        self.policy = policy
        self.left = cpus
        self.containers = dict(kept)
        self.steps: dict[str, tuple[PickStep, ...]] = {}

    def cut(self, container: Container, count: int) -> _Failure | None:
        """Give one container its slice; return the failure if that is impossible."""
        if container.name in self.containers:
            if count and container.kind is not ContainerKind.INIT:
                self.left &= ~self.containers[container.name]
            return None
        if count == 0:
            if container.kind is ContainerKind.INIT:
                self.containers[container.name] = self.left
            return None
        picked = self.policy.picker.pick(self.left, count)
        if not isinstance(picked, Picked):
            return picked
        self.containers[container.name] = picked.cpus
        self.steps[container.name] = picked.steps
        if container.kind is not ContainerKind.INIT:
            # Ordinary init containers have ended when the others run, so their slices are not set aside.
            self.left &= ~picked.cpus
        return None

    def bubble(self, containers: tuple[Container, ...]) -> CPUBubble:
        """Return the bubble, with the shared containers in the remaining pool."""
        parts = {each.name: self.containers.get(each.name, self.left) for each in containers}
        return CPUBubble(containers=parts, steps=self.steps)


def _failed(result: _Failure, container: Container | None = None) -> Rejected | KubeletFault | Undetermined:
    match result:
        case AllocationError(message=message):
            return Rejected(
                reason=RejectionReason.UNEXPECTED_ADMISSION,
                message=f"Allocate failed due to {message}, which is unexpected",
                container=container.name if container else "",
            )
        case fault:
            return fault


def usable_bubble(state: CPUManagerState, pod: StoredPod) -> CPUMask | None:
    """Return the CPUs a pod holds as a whole; None if it holds none, or its records are inconsistent."""
    held = state.pod_entries.get(pod.uid)
    if held is None or held & state.default:
        return None
    entries = state.assignments.get(pod.uid, {})
    known = [container.name in entries for container in pod.all_containers]
    # The kubelet records containers in order, so those it has recorded come first.
    return None if known != sorted(known, reverse=True) else held


def restore_bubble(
    policy: StaticPolicy, state: CPUManagerState, request: BubbleRequest
) -> CPUBubble | Rejected | KubeletFault | Undetermined:
    """Keep what a pod holds and add what is missing; start over if it is unusable."""
    uid = request.pod.uid
    held = usable_bubble(state, request.pod)
    if held is None:
        give_back(state, uid)
        return allocate_bubble(policy, state, request)
    kept = dict(state.assignments.get(uid, {}))
    bubble = record_bubble(policy, state, request, held, kept)
    if not isinstance(bubble, CPUBubble):
        give_back(state, uid)
    return bubble


def give_back(state: CPUManagerState, uid: str) -> None:
    """Return all that a pod holds as a whole to the shared pool, and forget its containers."""
    if uid in state.pod_entries:
        state.default |= state.pod_entries.pop(uid)
        state.forget(uid)
