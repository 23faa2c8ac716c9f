"""Which containers get exclusive CPUs and, if one does not, the single reason why.

Rule: kubelet v1.36 ``policy_static.go`` (guaranteed CPUs of a container), KEP-2837 and KEP-5526 for pods with
pod-level resources.
"""

from __future__ import annotations

from cpuctl.engine.placement import ExclusiveClaim
from cpuctl.engine.pod_level import guaranteed_equivalent, pod_level_cpus
from cpuctl.phrases import POLICY_NONE
from cpuctl.pods.model import Container, QosClass, StoredPod
from cpuctl.pods.qos import Qos
from cpuctl.quantity import Quantity

_ZERO = Quantity.parse("0")


def exclusive_claim(
    pod: StoredPod,
    container: Container,
    qos: Qos,
    *,
    pod_level_managers: bool = False,
    scope: str = "container",
    passes_over: bool = True,
) -> ExclusiveClaim:
    """Count the exclusive CPUs that a container of a pod of this QoS class is due.

    *pod_level_managers* is the gate PodLevelResourceManagers, *scope* the Topology Manager's: with ``pod`` a
    container gets a slice of what its pod has as a whole, or nothing if the pod has nothing. *passes_over* is
    False for a kubelet that aligns a pod with pod-level resources as if it had none.
    """
    if qos.qos_class is not QosClass.GUARANTEED:
        return ExclusiveClaim(0, f"the pod is {qos.qos_class}, not Guaranteed: {qos.reason}")
    divided = pod_level_managers and pod.has_pod_level_resources
    if divided and scope == "pod" and not pod_level_cpus(pod, qos):
        return ExclusiveClaim(0, _no_whole(pod))
    if passes_over and pod.has_pod_level_resources and not divided:
        # With the managers' gate off the kubelet ignores the claim of any pod that sets spec.resources.
        return ExclusiveClaim(
            0, "the pod sets spec.resources: the CPU Manager assigns no exclusive CPUs to its containers"
        )
    if divided and not guaranteed_equivalent(container):
        return ExclusiveClaim(0, "its own requests of cpu and memory do not equal its limits")
    request = container.resources.requests.get("cpu", _ZERO)
    if not request.is_integral_cpu:
        return ExclusiveClaim(0, f"its cpu request {request} is not a whole number of CPUs")
    count = request.value
    if count < 1:
        if "cpu" in container.resources.limits and "cpu" not in container.resources.requests:
            # Limits are used as default requests, so only resources read from a status can lack one.
            return ExclusiveClaim(0, "its status has no allocatedResources for cpu, which this kubelet uses")
        beyond = f"its cpu request {request} exceeds 64 bits, and the kubelet reads {count}"
        return ExclusiveClaim(0, beyond if request.sign > 0 else "it does not request cpu")
    return ExclusiveClaim(count)


def why_shared(claim: ExclusiveClaim, *, static: bool) -> str:
    """Return why a container gets no exclusive CPUs; empty if it gets some.

    *static* is whether the CPU Manager's policy is ``static``.
    """
    return claim.why_not or ("" if static else POLICY_NONE)


def _no_whole(pod: StoredPod) -> str:
    """Return why a Guaranteed pod with pod-level resources gets no CPUs as a whole."""
    assert pod.resources is not None
    request = pod.resources.requests.get("cpu", _ZERO)
    if request.is_integral_cpu:
        return f"the pod's cpu request {request} exceeds 64 bits, and the kubelet reads {request.value}"
    return (
        f"the pod's cpu request {request} (spec.resources) is not a whole number of CPUs, and scope pod "
        "allocates it as a whole or not at all (KEP-5526)"
    )
