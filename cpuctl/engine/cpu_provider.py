"""The CPU Manager as a hint provider: what it tells the Topology Manager about a container or a pod.

Rule: kubelet v1.36 ``policy_static.go``, ``GetTopologyHints`` and ``GetPodTopologyHints``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from cpuctl.engine.cpu_hints import CPUHints
from cpuctl.engine.cpu_manager import StaticPolicy
from cpuctl.engine.cpu_state import CPUManagerState
from cpuctl.engine.hint_merge import HintList
from cpuctl.pods.model import Container, ContainerKind, Pod

Claims = Callable[[Container], int]
"""How many exclusive CPUs a container of the pod is due."""

CPUAnswer = dict[str, HintList] | None


def container_hints(
    policy: StaticPolicy, state: CPUManagerState, pod: Pod, container: Container, count: int
) -> CPUAnswer:
    """Answer for one container that is due *count* exclusive CPUs."""
    if count == 0:
        return None
    held = state.assigned(pod.uid, container.name)
    if held is None:
        return _hints(policy, state.default & ~policy.reserved, state.reusable_for(pod.uid), count)
    return {"cpu": []} if held.bit_count() != count else _hints(policy, held, 0, count)


def pod_hints(policy: StaticPolicy, state: CPUManagerState, pod: Pod, claims: Claims) -> CPUAnswer:
    """Answer for a pod as a whole."""
    total = pod_count(pod.all_containers, claims)
    if total == 0:
        return None
    held = 0
    for container in pod.all_containers:
        cpus = state.assigned(pod.uid, container.name)
        if cpus is not None:
            if cpus.bit_count() != claims(container):
                return {"cpu": []}
            held |= cpus
    if held.bit_count() == total:
        return _hints(policy, held, 0, total)
    available = state.default & ~policy.reserved
    return _hints(policy, available, state.reusable_for(pod.uid) | held, total)


def pod_count(containers: Iterable[Container], claims: Claims) -> int:
    """Count the exclusive CPUs a pod needs at once: its peak over init containers, sidecars running on."""
    sidecars = peak = apps = 0
    for container in containers:
        count = claims(container)
        match container.kind:
            case ContainerKind.SIDECAR:
                sidecars += count
            case ContainerKind.INIT:
                peak = max(peak, sidecars + count)
            case ContainerKind.APP:
                apps += count
    return max(peak, sidecars + apps)


def _hints(policy: StaticPolicy, available: int, reusable: int, count: int) -> CPUAnswer:
    align = policy.options.align_by_socket
    return {"cpu": CPUHints.generate(policy.topology, available, reusable, count, align_by_socket=align)}
