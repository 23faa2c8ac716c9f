"""The quality-of-service class of a pod, as a kubelet computes it, and the reason.

Rule: ``pkg/apis/core/v1/helper/qos/qos.go`` of 1.36, and KEP-2837.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cpuctl.pods.model import Container, Pod, QosClass, ResourceRequirements
from cpuctl.quantity import Quantity
from cpuctl.records import Record

_COUNTED = ("cpu", "memory")


class Qos(Record):
    """A class, and one sentence that explains why it is not a better one."""

    qos_class: QosClass
    reason: str


def pod_qos(pod: Pod, *, pod_level: bool = True) -> Qos:
    """Return the class that the node uses: the one in the pod's status, else the computed one.

    *pod_level* is the gate PodLevelResources. With it, only pod-level resources count if they are present,
    even empty ones (up to 1.36); otherwise the sums over app, init and sidecar containers decide.
    """
    if pod.qos_class is not None:
        return Qos(pod.qos_class, "from the pod's status")
    if pod_level and pod.resources is not None:
        return _pod_level_qos(pod.resources)
    return _container_qos(pod.all_containers)


def _pod_level_qos(resources: ResourceRequirements) -> Qos:
    requests, limits = _positive(resources.requests), _positive(resources.limits)
    if not requests and not limits:
        return Qos(QosClass.BEST_EFFORT, "spec.resources is present, but sets neither cpu nor memory")
    limited = not resources.limits or len(limits) == len(_COUNTED)
    if limited and requests == limits:
        return Qos(QosClass.GUARANTEED, "spec.resources has cpu and memory requests equal to its limits")
    return Qos(QosClass.BURSTABLE, _shortfall("spec.resources", resources))


def _container_qos(containers: Iterable[Container]) -> Qos:
    containers = tuple(containers)
    requests = _sums(container.resources.requests for container in containers)
    limits = _sums(container.resources.limits for container in containers)
    if not requests and not limits:
        return Qos(QosClass.BEST_EFFORT, "no container requests or limits cpu or memory")
    limited = all(len(_positive(container.resources.limits)) == len(_COUNTED) for container in containers)
    if limited and requests == limits:
        return Qos(QosClass.GUARANTEED, "every container has cpu and memory requests equal to its limits")
    shortfalls = (_shortfall(f"container {item.name}", item.resources) for item in containers)
    return Qos(QosClass.BURSTABLE, next(text for text in shortfalls if text))


def _positive(amounts: Mapping[str, Quantity]) -> dict[str, Quantity]:
    return {name: amounts[name] for name in _COUNTED if name in amounts and amounts[name].sign > 0}


def _sums(lists: Iterable[Mapping[str, Quantity]]) -> dict[str, Quantity]:
    total: dict[str, Quantity] = {}
    for amounts in lists:
        for name, amount in _positive(amounts).items():
            total[name] = total[name] + amount if name in total else amount
    return total


def _shortfall(owner: str, resources: ResourceRequirements) -> str:
    """Return what prevents *owner* from being Guaranteed; empty if nothing does."""
    requests, limits = _positive(resources.requests), _positive(resources.limits)
    for name in _COUNTED:
        request, limit = requests.get(name), limits.get(name)
        if limit is None:
            return f"{owner} has no {name} limit"
        if request is None:
            return f"{owner} has a {name} limit of {limit} but no request"
        if request != limit:
            return f"{owner} has {name} request {request} but limit {limit}"
    return ""
