"""Where the kubelet handles a pod differently from KEP-2837 or KEP-5526."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cpuctl.departures import CGROUP_V1, CLASSES, CONTAINER_SCOPE, GATE_OFF, INIT_LIMITS, SUMS
from cpuctl.engine.explain.known_defects import KnownDefect
from cpuctl.engine.explain.scenario import Replay
from cpuctl.engine.outcome import Admitted
from cpuctl.pods.model import ContainerKind, QosClass, ResourceRequirements, StoredPod
from cpuctl.pods.qos import pod_qos
from cpuctl.pods.requests import container_requests
from cpuctl.quantity import Quantity


def kep_departures(replay: Replay) -> Iterator[KnownDefect]:
    """Yield the departures from a KEP for a pod with pod-level resources that is nevertheless admitted."""
    pod, node = replay.scenario.pod, replay.before
    admitted = isinstance(replay.admission.verdict, Admitted)
    if pod.resources is None or not admitted or not node.pod_level_resources:
        return
    if _is_beyond(container_requests(pod), pod.resources.requests):
        yield KnownDefect(
            "the containers request more than the pod: KEP-5526 says the kubelet rejects that; no release "
            "checks it, but the API server does",
            f"KEP-5526, Notes/Constraints/Caveats; {SUMS}",
        )
    if _init_limits_beyond(pod):
        yield KnownDefect(
            "an init container's limit is above the pod's, which KEP-2837 forbids, but the API server only "
            "checks app containers",
            f"KEP-2837, Proposed Validation & Defaulting Rules; {INIT_LIMITS}",
        )
    if replay.scenario.kubelet.cgroup_version == 1:
        yield KnownDefect(
            "KEP-2837 says kubelets reject pods with spec.resources on cgroup v1; no release checks that",
            f"KEP-2837, Notes/Constraints/Caveats; {CGROUP_V1}",
        )
    if _guaranteed_by_resource(pod):
        yield KnownDefect(
            "KEP-2837 considers each resource separately, using the containers where spec.resources does "
            "not set it: the pod would be Guaranteed; all releases look at spec.resources alone",
            f"KEP-2837, QoS Changes; {CLASSES}",
        )
    yield from _managers(replay)


def _managers(replay: Replay) -> Iterator[KnownDefect]:
    pod, node, kubelet = replay.scenario.pod, replay.before, replay.scenario.kubelet
    if pod_qos(pod).qos_class is not QosClass.GUARANTEED:
        return
    served = any(placed.exclusive for placed in replay.admission.placements)
    if served and not kubelet.gates.release.skips_pod_level_pods:
        yield KnownDefect(
            "KEP-5526 says containers of such a pod get nothing exclusive without its gate: true since "
            "1.34, but 1.32 and 1.33 still give them exclusive resources",
            f"KEP-5526, Notes/Constraints/Caveats; {GATE_OFF}",
        )
    manager, gated = node.topology_manager, kubelet.gates.enabled("PodLevelResourceManagers")
    if manager.policy != "none" and manager.scope == "container" and not gated:
        yield KnownDefect(
            "KEP-2837 says the Topology Manager rejects such a pod in container scope with an error; "
            "no release does",
            f"KEP-2837, Future Work; {CONTAINER_SCOPE}",
        )


def _guaranteed_by_resource(pod: StoredPod) -> bool:
    """Return whether a pod is Guaranteed only if its containers decide on what ``spec.resources`` omits."""
    own = pod.resources
    if own is None or pod_qos(pod).qos_class is not QosClass.BURSTABLE:
        return False
    requested = container_requests(pod)
    # A request that equals the sum of the containers' requests is derived, not written by a user.
    named = own.limits.keys() | {
        name for name, amount in own.requests.items() if requested.get(name) != amount
    }
    judges = {name: (own,) if name in named else _of_containers(pod) for name in ("cpu", "memory")}
    return all(_is_equal(each, name) for name, sides in judges.items() for each in sides)


def _of_containers(pod: StoredPod) -> tuple[ResourceRequirements, ...]:
    return tuple(each.resources for each in pod.all_containers)


def _is_equal(resources: ResourceRequirements, name: str) -> bool:
    limit = resources.limits.get(name)
    return limit is not None and bool(limit.sign) and resources.requests.get(name) == limit


def _is_beyond(amounts: Mapping[str, Quantity], bounds: Mapping[str, Quantity]) -> bool:
    return any(name in bounds and bounds[name] < amount for name, amount in amounts.items())


def _init_limits_beyond(pod: StoredPod) -> bool:
    bounds = pod.resources.limits if pod.resources else {}
    return any(
        _is_beyond(each.resources.limits, bounds)
        for each in pod.init_containers
        if each.kind is not ContainerKind.APP
    )
