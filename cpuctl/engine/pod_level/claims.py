"""What a pod with pod-level resources is due as a whole, and which of its containers get a slice of it.

Rule: KEP-5526 and kubelet v1.36 ``pkg/kubelet/cm/qos`` (a container like a Guaranteed pod) and
``policy_static.go`` of both managers.
"""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.pods.model import Container, Pod, QosClass, ResourceRequirements
from cpuctl.pods.qos import Qos
from cpuctl.quantity import Quantity

_NOTHING = Quantity()
_IGNORED = "pod-level resources are ignored for {what} alignment (KEP-2837)"
_SKIPPED = "pod is using pod-level resources which are not supported by the static {manager} manager policy"


def guaranteed_equivalent(container: Container) -> bool:
    """Tell whether a container requests cpu and memory, and both as much as its limits."""
    requests, limits = container.resources.requests, container.resources.limits
    return all(
        requests.get(name, _NOTHING).sign and requests.get(name) == limits.get(name)
        for name in ("cpu", "memory")
    )


def pod_level_cpus(pod: Pod, qos: Qos) -> int:
    """Count the exclusive CPUs that a pod is due as a whole; 0 where its request is no whole number."""
    if qos.qos_class is not QosClass.GUARANTEED or pod.resources is None:
        return 0
    request = pod.resources.requests.get("cpu", _NOTHING)
    return request.value if request.is_integral_cpu else 0


def unaligned_managers(pod: Pod, qos: Qos) -> Iterator[tuple[str, str]]:
    """Yield the managers that pass over a Guaranteed pod with resources of its own, and what that is called.

    It holds without the gate PodLevelResourceManagers. The CPU Manager is named where the pod or one of its
    containers asks for whole CPUs.
    """
    if qos.qos_class is not QosClass.GUARANTEED or pod.resources is None:
        return
    asked = (pod.resources, *(each.resources for each in pod.all_containers))
    if any(_whole_cpus(each) for each in asked):
        yield "cpu", f"{_IGNORED.format(what='CPU')}: {_SKIPPED.format(manager='CPU')}"
    yield "memory", f"{_IGNORED.format(what='memory')}: {_SKIPPED.format(manager='Memory')}"
    yield "topology", _IGNORED.format(what="topology")


def _whole_cpus(resources: ResourceRequirements) -> bool:
    request = resources.requests.get("cpu", _NOTHING)
    return request.sign > 0 and request == resources.limits.get("cpu") and request.is_integral_cpu
