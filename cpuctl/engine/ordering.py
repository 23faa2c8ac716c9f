"""Pods in the order in which they reach a node; equal ones stay in the order in which they were given.

By priority as the scheduler's queue sorts them (kubernetes v1.36 ``queuesort/priority_sort.go``), by quality
of service with Guaranteed pods first, or by size: exclusive CPUs, then memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from cpuctl.pods.model import StoredPod


class PodOrder(StrEnum):
    """Which pod comes first: see ``cpuctl.engine.ordering``."""

    GIVEN = "given"
    PRIORITY = "priority"
    QOS = "qos"
    LARGEST_FIRST = "largest-first"


SYSTEM_PRIORITIES: Mapping[str, int] = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}
"""The priority classes that every cluster has; the value of others is only in ``spec.priority``."""

_Key: TypeAlias = Callable[["StoredPod"], tuple[int, ...]]


def ordered(pods: Iterable[StoredPod], order: PodOrder, *, pod_level: bool) -> tuple[StoredPod, ...]:
    """Sort *pods*; *pod_level* is the gate PodLevelResources."""
    keys: Mapping[PodOrder, _Key] = {
        PodOrder.GIVEN: lambda _: (),
        PodOrder.PRIORITY: lambda pod: (-_priority(pod),),
        PodOrder.QOS: lambda pod: (_qos_rank(pod, pod_level=pod_level),),
        PodOrder.LARGEST_FIRST: lambda pod: _size(pod, pod_level=pod_level),
    }
    return tuple(sorted(pods, key=keys[order]))


def unknown_priority_classes(pods: Iterable[StoredPod]) -> tuple[str, ...]:
    """Name the priority classes of pods without a priority value, each once."""
    names = (pod.priority_class_name for pod in pods if pod.priority is None)
    return tuple(dict.fromkeys(name for name in names if name and name not in SYSTEM_PRIORITIES))


def exclusive_count(pod: StoredPod, *, pod_level: bool) -> int:
    """Count the exclusive CPUs that a pod needs at once under the static policy.

    *pod_level* as in ``ordered``.
    """
    # Help only needs the names of orders, and the given order needs none of this.
    from cpuctl.engine.cpu.exclusive_claim import exclusive_claim
    from cpuctl.engine.cpu.provider import pod_count
    from cpuctl.pods.qos import pod_qos

    if not pod_level:
        pod = pod._replace(resources=None)
    qos = pod_qos(pod)
    return pod_count(pod.all_containers, lambda container: exclusive_claim(pod, container, qos).cpus)


def _priority(pod: StoredPod) -> int:
    return SYSTEM_PRIORITIES.get(pod.priority_class_name, 0) if pod.priority is None else pod.priority


def _qos_rank(pod: StoredPod, *, pod_level: bool) -> int:
    from cpuctl.pods.model import QosClass
    from cpuctl.pods.qos import pod_qos

    ranks = {QosClass.GUARANTEED: 0, QosClass.BURSTABLE: 1, QosClass.BEST_EFFORT: 2}
    return ranks[pod_qos(pod, pod_level=pod_level).qos_class]


def _size(pod: StoredPod, *, pod_level: bool) -> tuple[int, int]:
    from cpuctl.pods.requests import pod_requests

    memory = pod_requests(pod, pod_level=pod_level).get("memory")
    return -exclusive_count(pod, pod_level=pod_level), -(memory.value if memory else 0)
