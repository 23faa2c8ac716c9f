"""Who gets exclusive CPUs, and if not, the one reason why.

Rule: kubelet v1.36 ``policy_static.go`` (guaranteed CPUs of a container), KEP-2837 and KEP-5526 for pods with
pod-level resources.
"""

from __future__ import annotations

from cpuctl.engine.pod_level.claims import guaranteed_equivalent
from cpuctl.named_tuple import NamedTuple
from cpuctl.pods.model import Container, Pod, QosClass
from cpuctl.pods.qos import Qos
from cpuctl.quantity import Quantity

_ZERO = Quantity.parse("0")


class ExclusiveClaim(NamedTuple):
    """How many exclusive CPUs a container is due; 0 means the shared pool, ``why_not`` says why."""

    cpus: int
    why_not: str = ""


def exclusive_claim(
    pod: Pod, container: Container, qos: Qos, *, pod_level_managers: bool = False
) -> ExclusiveClaim:
    """Count the exclusive CPUs that a container of a pod of this QoS class is due.

    *pod_level_managers* is the gate PodLevelResourceManagers.
    """
    if qos.qos_class is not QosClass.GUARANTEED:
        return ExclusiveClaim(0, f"the pod is {qos.qos_class}, not Guaranteed: {qos.reason}")
    divided = pod_level_managers and pod.has_pod_level_resources
    if divided and not guaranteed_equivalent(container):
        return ExclusiveClaim(0, "its own requests of cpu and memory do not equal its limits")
    request = container.resources.requests.get("cpu", _ZERO)
    if not request.is_integral_cpu:
        return ExclusiveClaim(0, f"its cpu request {request} is not a whole number of CPUs")
    count = request.value
    if count < 1:
        beyond = f"its cpu request {request} is beyond 64 bits, and the kubelet reads {count}"
        return ExclusiveClaim(0, beyond if request.sign > 0 else "it requests no cpu")
    if pod.has_pod_level_resources and not divided:
        # With the managers' gate off the kubelet ignores the claim of any pod that sets spec.resources.
        return ExclusiveClaim(0, "the pod sets spec.resources, which the CPU Manager does not align")
    return ExclusiveClaim(count)
