"""The defaults that the API server writes into a pod's resources, step by step.

Up to 1.36 all of them are applied whenever a pod is read from a request or from storage. From 1.37 on,
those of pod-level resources are applied when it is stored, after admission plugins such as LimitRanger
(pull request 140514). The steps are named, so that the source of every amount can be shown.

Rule: ``pkg/apis/core/v1/defaults.go`` of 1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cpuctl.pods.model import Container, Pod, ResourceRequirements, is_pod_level_resource
from cpuctl.pods.requests import Amounts, container_limits, container_requests
from cpuctl.pods.rules import ASSIGNED_CPUSET, ServerRules
from cpuctl.quantity import Quantity
from cpuctl.records import Record, replace

REQUEST_FROM_LIMIT = "from its limit"
"""The rule by which a container's request follows from its limit."""
_FROM_CONTAINERS = ("cpu", "memory")


class Step(Record):
    """One change to a pod, and its rule in words that follow an amount."""

    rule: str
    apply: Callable[[Pod], Pod]


def creation_steps(rules: ServerRules) -> tuple[Step, ...]:
    """Return the steps for new pods only, which drop fields that the server does not take."""
    dropped: tuple[Step, ...] = () if rules.pod_level else (_DROP,)
    dropped += () if rules.claims else (_DROP_CLAIMS,)
    return (*dropped, _DROP_ASSIGNED) if rules.knows_assigned and not rules.takes_assigned else dropped


def update_steps(rules: ServerRules, before: Pod) -> tuple[Step, ...]:
    """Return the steps for updates of *before* only: disabled fields that it uses already are kept.

    Rule: ``DropDisabledPodFields`` in ``pkg/api/pod/util.go``. A resize does not affect volumes.
    """
    own = before.resources
    return () if rules.pod_level or (own and (own.requests or own.limits)) else (_DROP,)


def decoding_steps(rules: ServerRules) -> tuple[Step, ...]:
    """Return the defaults that every reading of a pod applies."""
    pod_level = () if rules.defaults_pod_level_last else _pod_level_steps(rules)
    return (_CONTAINERS, *pod_level, _ROUNDING)


def storing_steps(rules: ServerRules) -> tuple[Step, ...]:
    """Return the defaults that are applied when a pod is stored, after admission plugins."""
    return _pod_level_steps(rules) if rules.defaults_pod_level_last else ()


def _pod_level_steps(rules: ServerRules) -> tuple[Step, ...]:
    steps = (
        (rules.hugepages, _HUGEPAGES),
        (rules.pod_level_limits, _LIMITS),
        (True, _REQUESTS),
        (True, _OWN_LIMITS),
    )
    return tuple(step for wanted, step in steps if wanted and rules.pod_level)


def _container_requests(pod: Pod) -> Pod:
    return pod._replace(
        containers=tuple(_with_requests(container) for container in pod.containers),
        init_containers=tuple(_with_requests(container) for container in pod.init_containers),
    )


def _with_requests(container: Container) -> Container:
    resources = container.resources
    requests = {**resources.limits, **resources.requests}
    return replace(container, resources=replace(resources, requests=requests))


def _hugepage_limits(pod: Pod, resources: ResourceRequirements) -> ResourceRequirements:
    summed = {
        name: amount
        for name, amount in container_limits(pod).items()
        if name.startswith("hugepages-") and name not in resources.requests
    }
    return replace(resources, limits={**summed, **resources.limits})


def _limits_of_containers(pod: Pod, resources: ResourceRequirements) -> ResourceRequirements:
    """Set a limit if every container has one: a sum over only some of them is not a bound."""
    summed = {
        name: amount
        for name, amount in container_limits(pod).items()
        if name in _FROM_CONTAINERS and all(_limited(container, name) for container in pod.all_containers)
    }
    return replace(resources, limits={**summed, **resources.limits})


def _limited(container: Container, name: str) -> bool:
    limit = container.resources.limits.get(name)
    return limit is not None and limit.sign > 0


def _requests_of_containers(pod: Pod, resources: ResourceRequirements) -> ResourceRequirements:
    """Fill in the containers' requests, once the pod has any pod-level amount, even without a limit."""
    if not resources.limits:
        return resources
    summed = container_requests(pod)
    found: Amounts = {name: summed[name] for name in _FROM_CONTAINERS if name in summed}
    return replace(resources, requests={**found, **resources.requests})


def _requests_of_limits(_: Pod, resources: ResourceRequirements) -> ResourceRequirements:
    found = {name: amount for name, amount in resources.limits.items() if is_pod_level_resource(name)}
    return replace(resources, requests={**found, **resources.requests})


def _pod_level(
    change: Callable[[Pod, ResourceRequirements], ResourceRequirements],
) -> Callable[[Pod], Pod]:
    """Turn a change of pod-level resources into a step; it leaves empty ones alone."""

    def apply(pod: Pod) -> Pod:
        resources = pod.resources
        if resources is None or not (resources.requests or resources.limits):
            return pod
        return pod._replace(resources=change(pod, resources))

    return apply


def _without_claims(pod: Pod) -> Pod:
    if not pod.resource_claims:
        return pod
    return pod._replace(
        resource_claims=(),
        containers=tuple(map(_claimless, pod.containers)),
        init_containers=tuple(map(_claimless, pod.init_containers)),
    )


def _claimless(container: Container) -> Container:
    return replace(container, resources=replace(container.resources, claims=()))


def _in_milli(pod: Pod) -> Pod:
    return pod._replace(
        containers=tuple(_rounded_container(container) for container in pod.containers),
        init_containers=tuple(_rounded_container(container) for container in pod.init_containers),
        resources=None if pod.resources is None else _rounded_requirements(pod.resources),
        overhead=_rounded(pod.overhead),
    )


def _without_assigned(pod: Pod) -> Pod:
    """Drop ``assigned.cpuset`` (KEP-6122); it is not specified what remains of such a file."""
    kept = tuple(each for each in pod.field_refs if each.resource != ASSIGNED_CPUSET)
    return pod._replace(field_refs=kept)


def _rounded_container(container: Container) -> Container:
    return replace(container, resources=_rounded_requirements(container.resources))


def _rounded_requirements(resources: ResourceRequirements) -> ResourceRequirements:
    return replace(resources, requests=_rounded(resources.requests), limits=_rounded(resources.limits))


def _rounded(amounts: Mapping[str, Quantity]) -> Amounts:
    return {name: amount.rounded_up_to_milli() for name, amount in amounts.items()}


_DROP = Step("dropped by the API server", lambda pod: pod._replace(resources=None))
_DROP_CLAIMS = Step("dropped by the API server", _without_claims)
_DROP_ASSIGNED = Step("dropped by the API server", _without_assigned)
_CONTAINERS = Step(REQUEST_FROM_LIMIT, _container_requests)
_HUGEPAGES = Step("the sum of the containers' limits", _pod_level(_hugepage_limits))
_LIMITS = Step(
    "the sum of the containers' limits, as every container has one", _pod_level(_limits_of_containers)
)
_REQUESTS = Step("the sum of the containers' requests", _pod_level(_requests_of_containers))
_OWN_LIMITS = Step("from the pod-level limit", _pod_level(_requests_of_limits))
_ROUNDING = Step("rounded up to whole millicores", _in_milli)
