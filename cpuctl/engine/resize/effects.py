"""The effects of a resize beyond CPU sets: restarts, what the scheduler counts meanwhile, cgroup values.

Rule: ``computePodResizeAction`` and ``resizePolicy`` (KEP-1287); ``PodRequests`` of component-helpers, which
counts the maximum of desired, allocated and actual.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from cpuctl.engine.placement import Isolation, isolation_of
from cpuctl.engine.resize.outcome import ResizeOutcome, ResizeResult
from cpuctl.engine.resize.rules import ResizeRules
from cpuctl.engine.resize.running import RESIZABLE, PodResize, requirements, with_requirements
from cpuctl.pods.cgroups.values import CgroupSettings, CgroupValues, container_cgroup, pod_cgroup
from cpuctl.pods.model import ResourceRequirements, StoredPod
from cpuctl.pods.qos import pod_qos
from cpuctl.pods.requests import pod_requests
from cpuctl.pods.rules import NodeRules
from cpuctl.quantity import Quantity
from cpuctl.records import Record

_SIDES = ("requests", "limits")
_NO_REQUIREMENTS = ResourceRequirements()


def changed_amounts(request: PodResize, container: str) -> tuple[tuple[str, str], ...]:
    """Name what changes in a container, or with ``POD`` in the pod, as pairs (side, resource)."""
    old, new = (
        requirements(pod).get(container) or _NO_REQUIREMENTS
        for pod in (request.running.allocated, request.desired)
    )
    return tuple(
        (side, resource)
        for side in _SIDES
        for resource in RESIZABLE
        if getattr(old, side).get(resource) != getattr(new, side).get(resource)
    )


def restarting(request: PodResize, container: str, rules: ResizeRules) -> tuple[str, ...]:
    """Name the resources whose change restarts a container; up to 1.32 memory requests do not count."""
    policy = request.running.restarts(container)
    changed = {
        resource
        for side, resource in changed_amounts(request, container)
        if rules.release.restarts_for_memory_requests or (side, resource) != ("requests", "memory")
    }
    return tuple(sorted(changed & policy))


class ScheduledAmounts(Record):
    """What the scheduler counts for a pod: before, while the resize is under way, and in the end."""

    before: Mapping[str, Quantity]
    meanwhile: Mapping[str, Quantity]
    settled: Mapping[str, Quantity]


def counted(outcome: ResizeOutcome, rules: ResizeRules) -> ScheduledAmounts:
    """Return what the pod takes of the node, as the scheduler counts it."""
    running, desired = outcome.request.running, outcome.request.desired
    before = most_requested(running.spec, running.allocated, running.actual)
    meanwhile = settled = before
    if outcome.result is ResizeResult.INFEASIBLE:
        meanwhile = settled = most_requested(running.allocated, running.actual)
    elif outcome.result.accepted:
        meanwhile, settled = most_requested(desired, running.actual), desired
    elif outcome.result in (ResizeResult.DEFERRED, ResizeResult.IGNORED):
        meanwhile = settled = most_requested(desired, running.allocated, running.actual)
    level = rules.pod_level_resources
    return ScheduledAmounts(
        before=pod_requests(before, pod_level=level),
        meanwhile=pod_requests(meanwhile, pod_level=level),
        settled=pod_requests(settled, pod_level=level),
    )


def most_requested(first: StoredPod, *others: StoredPod) -> StoredPod:
    """Return a pod that requests, container by container, the maximum of what its versions request."""
    total = {name: dict(each.requests) for name, each in requirements(first).items() if each is not None}
    for other in others:
        for name, amounts in requirements(other).items():
            for resource, amount in amounts.requests.items() if amounts is not None else ():
                known = total.setdefault(name, {}).get(resource)
                if known is None or known < amount:
                    total[name][resource] = amount
    return with_requirements(
        first, {name: ResourceRequirements(requests=each) for name, each in total.items()}
    )


class CgroupChange(Record):
    """Values of cgroups before and after, of the pod (``POD``) and by container."""

    before: Mapping[str, CgroupValues]
    after: Mapping[str, CgroupValues]


def cgroup_change(outcome: ResizeOutcome, settings: CgroupSettings, view: NodeRules) -> CgroupChange:
    """Return what the kubelet writes to cgroups once a resize is granted, apart from cpuset.cpus."""
    old = _Cgroups(outcome.request.running.allocated, view, settings)
    before = old.values({name for name, share in outcome.shares.items() if share.before is not None})
    if not outcome.result.accepted:
        return CgroupChange(before=before, after=before)
    new = _Cgroups(outcome.request.desired, view, settings)
    held = {name for name, share in outcome.shares.items() if share.after is not None}
    return CgroupChange(before=before, after=new.values(held))


class _Cgroups:
    """The cgroups of one version of a pod."""

    def __init__(self, pod: StoredPod, view: NodeRules, settings: CgroupSettings) -> None:
        self.pod = view.view(pod)
        self.qos = pod_qos(self.pod).qos_class
        self.divided = view.managers and self.pod.has_pod_level_resources
        self.settings = settings

    def values(self, held: Collection[str]) -> dict[str, CgroupValues]:
        """Compute all values; *held* names the containers that have CPUs in the CPU Manager's state."""
        pod, settings = self.pod, self.settings
        own = {
            each.name: isolation_of(each, assigned=each.name in held, divided=self.divided)
            is Isolation.CONTAINER
            for each in pod.all_containers
        }
        exclusive = all(own.values()) if self.divided else any(own.values())
        values = {"": pod_cgroup(pod, self.qos, settings, exclusive=exclusive)}
        for each in pod.all_containers:
            values[each.name] = container_cgroup(pod, each, self.qos, settings, exclusive=own[each.name])
        return values
