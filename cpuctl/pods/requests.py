"""The requests and limits of a pod as a whole: the sum that the scheduler and the node use.

App containers and sidecars run concurrently; an ordinary init container runs alongside the sidecars
started before it. The larger of the two needs counts, for each resource separately (KEP-753).
Claims that count as the node's resources are added for as long as they are needed (KEP-5517).
Pod-level resources replace that sum (KEP-2837); the pod's overhead is added.

Rule: ``k8s.io/component-helpers/resource/helpers.go`` of 1.36, and of 1.37 for claims.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

from cpuctl.pods.model import Container, ContainerKind, Pod, ResourceRequirements, is_pod_level_resource
from cpuctl.quantity import Quantity
from cpuctl.records import replace

Amounts: TypeAlias = dict[str, Quantity]
"""Amounts by resource name."""
_Side: TypeAlias = Callable[[ResourceRequirements], Mapping[str, Quantity]]


def pod_requests(pod: Pod, *, pod_level: bool = True, overhead: bool = True) -> Amounts:
    """Sum up the requests of *pod*.

    *pod_level* False ignores pod-level resources, as with the gate PodLevelResources off.
    """
    total = _effective(pod, _requests, pod_level=pod_level)
    return _sum(total, pod.overhead) if overhead else total


def hugepages_requested(pod: Pod) -> list[str]:
    """Return the names of the huge page resources that *pod* requests."""
    total = pod_requests(pod)
    return sorted(name for name, amount in total.items() if name.startswith("hugepages-") and amount.sign > 0)


def pod_limits(pod: Pod, *, pod_level: bool = True, overhead: bool = True) -> Amounts:
    """Sum up the limits of *pod*; containers without a limit add nothing, so the sum is not always a bound.

    Overhead is added only if there is a limit other than zero.
    """
    total = _effective(pod, _limits, pod_level=pod_level)
    limited = {name for name, amount in total.items() if amount.sign}
    extra = {name: amount for name, amount in pod.overhead.items() if name in limited}
    return _sum(total, extra) if overhead else total


def summed_up_once(pod: Pod) -> Pod:
    """Return *pod* as it is in a kubelet's memory after summing up requests and limits with overhead.

    The kubelet fails to copy pod-level amounts. To those in long form (``1.5Gi`` of a static pod), every sum
    adds the overhead once more.
    """
    own = pod.resources
    if own is None:
        return pod
    requests = {name: _with_stuck(name, amount, pod.overhead) for name, amount in own.requests.items()}
    limits = {
        name: _with_stuck(name, amount, pod.overhead) if amount.sign else amount
        for name, amount in own.limits.items()
    }
    return pod._replace(resources=replace(own, requests=requests, limits=limits))


def _with_stuck(name: str, amount: Quantity, overhead: Mapping[str, Quantity]) -> Quantity:
    stuck = not amount.short and name in overhead and is_pod_level_resource(name)
    return amount + overhead[name] if stuck else amount


def container_requests(pod: Pod) -> Amounts:
    """Sum up the requests of the containers alone."""
    return _aggregate(pod, _requests)


def container_limits(pod: Pod) -> Amounts:
    """Sum up the limits of the containers alone."""
    return _aggregate(pod, _limits)


def _requests(resources: ResourceRequirements) -> Mapping[str, Quantity]:
    return resources.requests


def _limits(resources: ResourceRequirements) -> Mapping[str, Quantity]:
    return resources.limits


def _effective(pod: Pod, side: _Side, *, pod_level: bool) -> Amounts:
    total = _with_claims(pod, side) if pod.counted_claims else _aggregate(pod, side)
    if pod_level and pod.resources is not None:
        total |= {name: amount for name, amount in side(pod.resources).items() if is_pod_level_resource(name)}
    return total


def _with_claims(pod: Pod, side: _Side) -> Amounts:
    """Add up the needs of containers and claims, each claim once, however many containers name it.

    If no container has a limit, a claim adds none, except for huge pages.
    """
    fixed, more = _claimed(pod, [each.name for each in pod.all_containers])
    if side is _limits:
        limited = {name for each in pod.all_containers for name in each.resources.limits}
        fixed = _of_limits(fixed, limited)
        more = {name: _of_limits(amounts, limited) for name, amounts in more.items()}

    def raised(container: Container) -> Container:
        amounts = _sum(side(container.resources), more.get(container.name, {}))
        return replace(container, resources=ResourceRequirements(requests=amounts, limits=amounts))

    containers = tuple(map(raised, pod.containers))
    inits = tuple(map(raised, pod.init_containers))
    return _sum(_aggregate(pod._replace(containers=containers, init_containers=inits), side), fixed)


def _claimed(pod: Pod, names: Collection[str]) -> tuple[Amounts, dict[str, Amounts]]:
    """Return the claims' needs for the pod's whole life, and those while one of its containers runs."""
    fixed: Amounts = {}
    more: dict[str, Amounts] = {}
    for claim in pod.counted_claims:
        fixed = _sum(_sum(fixed, claim.amounts), claim.per_pod)
        for name in claim.containers:
            if name in names:
                more[name] = _sum(more.get(name, {}), claim.per_container)
            else:  # when it runs is unknown
                fixed = _sum(fixed, claim.per_container)
    return fixed, more


def _of_limits(amounts: Amounts, limited: Collection[str]) -> Amounts:
    return {name: each for name, each in amounts.items() if name in limited or name.startswith("hugepages-")}


def claimed_by(pod: Pod, container: str) -> Amounts:
    """Sum up the amounts of a container's claims, which it may use beyond its own limits."""
    total: Amounts = {}
    for claim in pod.counted_claims:
        if container in claim.containers:
            for amounts in (claim.amounts, claim.per_pod, claim.per_container):
                total = _sum(total, amounts)
    return total


def _aggregate(pod: Pod, side: _Side) -> Amounts:
    total: Amounts = {}
    for container in pod.containers:
        total = _sum(total, side(container.resources))
    return _largest(_sum(total, _sidecars(pod, side)), _init_peak(pod, side))


def _sidecars(pod: Pod, side: _Side) -> Amounts:
    total: Amounts = {}
    for container in pod.init_containers:
        if container.kind is ContainerKind.SIDECAR:
            total = _sum(total, side(container.resources))
    return total


def _init_peak(pod: Pod, side: _Side) -> Amounts:
    """Return the peak need while the init containers run one after the other."""
    peak: Amounts = {}
    sidecars: Amounts = {}
    for container in pod.init_containers:
        needed = _while_running(container, sidecars, side)
        if container.kind is ContainerKind.SIDECAR:
            sidecars = needed
        peak = _largest(peak, needed)
    return peak


def _while_running(container: Container, sidecars: Amounts, side: _Side) -> Amounts:
    own = side(container.resources)
    # The kubelet adds the sidecars to an init container, but a sidecar to the sidecars; this sets formats.
    return _sum(sidecars, own) if container.kind is ContainerKind.SIDECAR else _sum(own, sidecars)


def _sum(left: Mapping[str, Quantity], right: Mapping[str, Quantity]) -> Amounts:
    total = dict(left)
    for name, amount in right.items():
        total[name] = total[name] + amount if name in total else amount
    return total


def _largest(left: Mapping[str, Quantity], right: Mapping[str, Quantity]) -> Amounts:
    larger = dict(left)
    for name, amount in right.items():
        if name not in larger or larger[name] < amount:
            larger[name] = amount
    return larger
