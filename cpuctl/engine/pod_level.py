"""What a pod with pod-level resources is due as a whole, and which of its containers get a slice of it.

Rule: KEP-5526 and kubelet v1.36 ``pkg/kubelet/cm/qos`` (a container like a Guaranteed pod) and
``policy_static.go`` of both managers.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from cpuctl.pods.model import Container, ContainerKind, QosClass, ResourceRequirements, StoredPod
from cpuctl.quantity import Quantity
from cpuctl.records import Record

if TYPE_CHECKING:
    from cpuctl.kubelet.gates.feature_gates import FeatureGates
    from cpuctl.pods.qos import Qos

_NOTHING = Quantity()
_IGNORED = "pod-level resources are ignored for {what} alignment (KEP-2837)"
_SKIPPED = "pod is using pod-level resources which are not supported by the static {manager} manager policy"


def guaranteed_equivalent(container: Container) -> bool:
    """Return whether a container requests cpu and memory, and both as much as its limits."""
    requests, limits = container.resources.requests, container.resources.limits
    return all(
        requests.get(name, _NOTHING).sign and requests.get(name) == limits.get(name)
        for name in ("cpu", "memory")
    )


def pod_level_cpus(pod: StoredPod, qos: "Qos") -> int:
    """Count the exclusive CPUs that a pod is due as a whole; 0 if its request is not a whole number."""
    if qos.qos_class is not QosClass.GUARANTEED or pod.resources is None:
        return 0
    request = pod.resources.requests.get("cpu", _NOTHING)
    return request.value if request.is_integral_cpu else 0


def unaligned_managers(pod: StoredPod, qos: "Qos") -> Iterator[tuple[str, str]]:
    """Yield the managers that ignore a Guaranteed pod with pod-level resources, each with a text about it.

    This applies without the gate PodLevelResourceManagers. The CPU Manager is included if the pod or one of
    its containers requests whole CPUs.
    """
    if qos.qos_class is not QosClass.GUARANTEED or pod.resources is None:
        return
    requested = (pod.resources, *(each.resources for each in pod.all_containers))
    if any(_whole_cpus(each) for each in requested):
        yield "cpu", f"{_IGNORED.format(what='CPU')}: {_SKIPPED.format(manager='CPU')}"
    yield "memory", f"{_IGNORED.format(what='memory')}: {_SKIPPED.format(manager='Memory')}"
    yield "topology", _IGNORED.format(what="topology")


def _whole_cpus(resources: ResourceRequirements) -> bool:
    request = resources.requests.get("cpu", _NOTHING)
    return request.sign > 0 and request == resources.limits.get("cpu") and request.is_integral_cpu


class PodLevelRules(Record):
    """Whether the gate PodLevelResourceManagers is on, and which managers keep what a pod has.

    Without ``restores_cpus`` and ``restores_memory`` a running pod is allocated again after a restart, and
    what it had belongs to no pod: kubernetes issues 140989 and 140906. Without ``hints_at_held_memory`` what
    it has is not a hint for it then, in pod scope. Without ``passes_over`` a pod with pod-level resources is
    aligned like any other, by what its containers request.
    """

    managers: bool = False
    restores_cpus: bool = False
    restores_memory: bool = False
    hints_at_held_memory: bool = False
    passes_over: bool = True

    @classmethod
    def of(cls, gates: "FeatureGates") -> "PodLevelRules":
        """Return the rules of a release with its gates."""
        release = gates.release
        return cls(
            managers=gates.enabled("PodLevelResourceManagers") and gates.enabled("PodLevelResources"),
            restores_cpus=release.restores_pod_level_cpus,
            restores_memory=release.restores_pod_level_memory,
            hints_at_held_memory=release.pod_scope_memory_hints_after_restart,
            passes_over=release.skips_pod_level_pods,
        )

    def divides(self, pod: StoredPod) -> bool:
        """Return whether the managers use a pod's own resources instead of its containers'."""
        return self.managers and pod.has_pod_level_resources

    def skips(self, pod: StoredPod) -> bool:
        """Return whether the managers ignore a pod because it has pod-level resources."""
        return self.passes_over and not self.managers and pod.has_pod_level_resources


NEVER_DIVIDED = PodLevelRules()


Amounts = Mapping[str, int]
"""Whole CPUs, or bytes, by resource."""
Claims = Callable[[Container], Amounts]
"""What a container gets exclusively, by resource; empty for a shared one."""


def empty_pool(containers: Iterable[Container], claims: Claims, budget: Amounts) -> str:
    """Return the kubelet's words if a pod's shared pool would be empty, else an empty string.

    *budget* is what the pod has. CPUs are counted under the name ``cpus``.
    """
    exclusive = dict.fromkeys(budget, 0)
    needs_pool = False
    for container in containers:
        own = claims(container)
        if container.kind is ContainerKind.INIT:
            used_up = _used_up(exclusive, budget)
            if not own and used_up:
                return f"pod rejected, pod has shared init containers but no {used_up} available for them"
        elif own:
            for name in budget:
                exclusive[name] += own.get(name, 0)
        else:
            needs_pool = True
    used_up = _used_up(exclusive, budget) if needs_pool else ""
    if not used_up:
        return ""
    summed, left = ("cpu", "cpus") if used_up == "cpus" else (used_up, "memory")
    return (
        f"pod rejected, sum of exclusive container {summed} requests equals pod budget, "
        f"leaving no {left} for shared containers"
    )


def _used_up(exclusive: Amounts, budget: Amounts) -> str:
    return next((name for name, amount in budget.items() if exclusive[name] >= amount), "")
