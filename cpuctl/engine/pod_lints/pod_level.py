"""Pod-level resources and the resource managers: passed over, or leaving nothing to share.

Rule: KEP-2837 (managers do not look at ``spec.resources``), KEP-5526 (gate PodLevelResourceManagers), kubelet
v1.36.
"""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.engine.outcome import FAILED_IN_POD_SCOPE
from cpuctl.engine.pod_level import unaligned_managers
from cpuctl.engine.pod_lints.exclusive import whole_cpus
from cpuctl.engine.pod_lints.subject import PodLintSubject
from cpuctl.pods.model import Container, ContainerKind, Pod, QosClass
from cpuctl.pods.validation.finding import Finding, Refuser
from cpuctl.quantity import Quantity

_ZERO = Quantity()
_CODE = "pod-level-not-aligned"
_HINT = "set resources on the containers alone, or switch on the gate PodLevelResourceManagers"
_EMPTY_POOL = "pod rejected, sum of exclusive container cpu requests equals pod budget, leaving no cpus for "
_REFUSALS = {
    "best-effort": f"EmptyPodSharedPoolError: {_EMPTY_POOL}shared containers",
    "restricted": f"TopologyAffinityError: {FAILED_IN_POD_SCOPE}",
}


def lint_pod_level(subject: PodLintSubject) -> Iterator[Finding]:
    """Look at a pod whose pod-level resources make it Guaranteed."""
    pod, kubelet = subject.seen, subject.kubelet
    guaranteed = subject.qos.qos_class is QosClass.GUARANTEED
    if not pod.has_pod_level_resources or not guaranteed:
        return
    if not kubelet.rules.managers:
        if not kubelet.rules.passes_over:
            return
        yield from _lint_alignment(subject)
    elif kubelet.pins and kubelet.topology_scope == "pod" and kubelet.topology_policy != "none":
        yield from _lint_shared_pool(subject)


def _lint_alignment(subject: PodLintSubject) -> Iterator[Finding]:
    """Name the managers that pass over the pod; of a policy that nobody has told, only what CPUs come to."""
    spot, kubelet = subject.spec.child("resources"), subject.kubelet
    static = {
        "cpu": kubelet.pins,
        "memory": kubelet.memory_policy == "Static",
        "topology": kubelet.topology_policy not in ("", "none"),
    }
    for manager, text in unaligned_managers(subject.seen, subject.qos):
        if static[manager]:
            yield spot.warning(_CODE, text, hint=_HINT)
        elif manager == "cpu" and kubelet.may_pin:
            yield spot.note(_CODE, text, hint=_HINT)


def _lint_shared_pool(subject: PodLintSubject) -> Iterator[Finding]:
    """Refuse what gives all CPUs of the pod away while a container is to share some."""
    pod = subject.seen
    lasting = [each for each in pod.all_containers if each.kind is not ContainerKind.INIT]
    exclusive = [each for each in lasting if _is_exclusive(each)]
    sharing = [each.name for each in lasting if not _is_exclusive(each)]
    if exclusive and sharing and 0 < _pod_cpus(pod) <= sum(map(whole_cpus, exclusive)):
        policy = subject.kubelet.topology_policy
        detail = _REFUSALS.get(policy, _REFUSALS["restricted"])
        hint = f"leave CPUs for {', '.join(sharing[:3])}: raise cpu in spec.resources"
        yield subject.spec.child("resources").refused(
            "empty-pod-shared-pool", detail, by=Refuser.KUBELET, hint=hint
        )


def _pod_cpus(pod: Pod) -> int:
    """Count the whole CPUs of the pod level; 0 where they are no whole number."""
    request = pod.resources.requests.get("cpu", _ZERO) if pod.resources else _ZERO
    return max(request.value, 0) if request.is_integral_cpu else 0


def _is_exclusive(container: Container) -> bool:
    resources = container.resources
    memory = resources.requests.get("memory", _ZERO)
    return whole_cpus(container) > 0 and memory.sign > 0 and memory == resources.limits.get("memory")
