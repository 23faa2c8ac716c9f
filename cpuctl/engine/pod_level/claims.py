"""What a pod with pod-level resources is due as a whole, and which of its containers get a slice of it.

Rule: KEP-5526 and kubelet v1.36 ``pkg/kubelet/cm/qos`` (a container like a Guaranteed pod) and
``policy_static.go`` of both managers.
"""

from __future__ import annotations

from cpuctl.pods.model import Container, Pod, QosClass
from cpuctl.pods.qos import Qos
from cpuctl.quantity import Quantity

_NOTHING = Quantity()


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
