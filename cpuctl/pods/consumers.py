"""The amounts that others read from a pod: scheduler, autoscalers, and the pod itself by the downward API.

Rules: ``pkg/scheduler/framework/plugins/noderesources/resource_allocation.go``,
``pkg/controller/podautoscaler/replica_calculator.go``, ``pkg/api/v1/resource/helpers.go``,
``pkg/kubelet/kubelet_resources.go``; KEP-2837 for the cluster autoscaler and VPA. Error texts are theirs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from cpuctl.pods.downward_api import HUGE_PAGES, DownwardContext, downward_value
from cpuctl.pods.model import Container, ContainerKind, Pod, ResourceFieldRef, is_pod_level_resource
from cpuctl.pods.requests import pod_requests
from cpuctl.pods.rules import ServerRules
from cpuctl.quantity import Quantity
from cpuctl.records import replace

_RESOURCES = ("cpu", "memory")
_POD_LEVEL_IN_HPA = 34
_POD_LEVEL_IN_AUTOSCALER = 33
_SIDECARS_IN_HPA = 29
_ZERO = Quantity()
_MINIMUM = {"cpu": Quantity.parse("100m"), "memory": Quantity.parse("200Mi")}
"""The scheduler's default for a container without a request when it scores nodes, not when it filters."""


class ConsumedAmount(NamedTuple):
    """One amount that a reader takes from a pod; ``error`` is the reader's message if it finds none.

    ``amount`` is None with an error, and for the node's allocatable if that is not known. ``container``
    is empty if the pod as a whole is meant; ``text`` is how the downward API writes it (divisor 1).
    """

    reader: Literal["scheduler", "HPA", "VPA", "cluster autoscaler", "downward API"]
    item: str
    rule: str
    amount: Quantity | None = None
    container: str = ""
    error: str = ""
    text: str = ""


def consumed_amounts(
    pod: Pod, rules: ServerRules, node_view: Pod, context: DownwardContext
) -> list[ConsumedAmount]:
    """Return the amounts of all readers; *node_view* is the pod as the kubelet of *context* sees it."""
    return [
        *_scheduler(pod, rules),
        *_hpa(pod, rules),
        *_vpa(pod),
        *_cluster_autoscaler(pod, rules),
        *_downward_api(node_view, context),
    ]


def _scheduler(pod: Pod, rules: ServerRules) -> Iterator[ConsumedAmount]:
    """Yield the amounts that must fit on a node, and those used to score nodes if defaults increase them."""
    effective = pod if rules.pod_level else pod._replace(resources=None)
    requested, compared = pod_requests(effective), pod_requests(_with_minimum(effective))
    for resource, minimum in _MINIMUM.items():
        amount, more = requested.get(resource, _ZERO), compared[resource]
        yield ConsumedAmount("scheduler", f"{resource} request", "what must be free on the node", amount)
        if amount < more:
            rule = f"for scoring nodes, containers without a request count as {minimum}"
            yield ConsumedAmount("scheduler", f"{resource} for scoring", rule, more)


def _with_minimum(pod: Pod) -> Pod:
    """Fill in the scheduler's default requests for containers without any."""

    def filled(container: Container) -> Container:
        own = container.resources
        return replace(container, resources=replace(own, requests={**_MINIMUM, **own.requests}))

    return pod._replace(
        containers=tuple(map(filled, pod.containers)),
        init_containers=tuple(map(filled, pod.init_containers)),
    )


def _hpa(pod: Pod, rules: ServerRules) -> Iterator[ConsumedAmount]:
    own = pod.resources.requests if pod.resources else {}
    by_pod = rules.pod_level and rules.minor >= _POD_LEVEL_IN_HPA and any(map(is_pod_level_resource, own))
    for resource in _RESOURCES:
        yield _hpa_by_pod(pod, resource) if by_pod else _hpa_by_containers(pod, resource, rules.minor)
    for container in pod.all_containers:
        if container.kind is not ContainerKind.INIT:
            for resource in _RESOURCES:
                yield _hpa_of_container(pod, container, resource)


def _hpa_by_pod(pod: Pod, resource: str) -> ConsumedAmount:
    amount = pod_requests(pod).get(resource)
    error = "" if amount is not None else f"missing pod-level request for {resource} in Pod {pod.name}"
    rule = "the pod's requests, as it sets pod-level ones"
    return ConsumedAmount(reader="HPA", item=f"{resource} request", rule=rule, amount=amount, error=error)


def _hpa_by_containers(pod: Pod, resource: str, minor: int) -> ConsumedAmount:
    counted = [*pod.containers]
    if minor >= _SIDECARS_IN_HPA:
        counted += [each for each in pod.init_containers if each.kind is ContainerKind.SIDECAR]
    lists = [_hpa_of_container(pod, container, resource) for container in counted]
    rule = "the sum of the requests of app containers and sidecars"
    for reading in lists:
        if reading.error:
            return reading._replace(container="", rule=rule)
    total = _ZERO
    for reading in lists:
        total += reading.amount or _ZERO
    return ConsumedAmount(reader="HPA", item=f"{resource} request", rule=rule, amount=total)


def _hpa_of_container(pod: Pod, container: Container, resource: str) -> ConsumedAmount:
    amount = container.resources.requests.get(resource)
    missing = f"missing request for {resource} in container {container.name} of Pod {pod.name}"
    return ConsumedAmount(
        reader="HPA",
        item=f"{resource} request",
        container=container.name,
        rule="the container's own request, for metrics of type ContainerResource",
        amount=amount,
        error="" if amount is not None else missing,
    )


def _vpa(pod: Pod) -> Iterator[ConsumedAmount]:
    rule = "recommends only for containers, and keeps the ratio of limit to request"
    for container in pod.containers:
        for side, amounts in (
            ("request", container.resources.requests),
            ("limit", container.resources.limits),
        ):
            for resource in _RESOURCES:
                if resource in amounts:
                    yield ConsumedAmount(
                        reader="VPA",
                        item=f"{resource} {side}",
                        container=container.name,
                        rule=rule,
                        amount=amounts[resource],
                    )


def _cluster_autoscaler(pod: Pod, rules: ServerRules) -> Iterator[ConsumedAmount]:
    knows = rules.pod_level and rules.minor >= _POD_LEVEL_IN_AUTOSCALER
    rule = (
        "same as the scheduler"
        if knows
        else "the containers' requests and overhead; pod-level requests are ignored"
    )
    for resource, amount in pod_requests(pod if knows else pod._replace(resources=None)).items():
        item = f"{resource} request"
        yield ConsumedAmount(reader="cluster autoscaler", item=item, rule=rule, amount=amount)


def _downward_api(pod: Pod, context: DownwardContext) -> Iterator[ConsumedAmount]:
    """Yield what each container's variables report about the container itself, with divisor 1."""
    for container in pod.all_containers:
        for resource in _exposed(pod):
            for item in (f"limits.{resource}", f"requests.{resource}"):
                value = downward_value(
                    pod, ResourceFieldRef(item, "", _ZERO, "", reader=container.name), context
                )
                yield ConsumedAmount(
                    reader="downward API",
                    item=item,
                    container=container.name,
                    rule=value.rule,
                    amount=value.amount,
                    text=value.text or "",
                )


def _exposed(pod: Pod) -> tuple[str, ...]:
    """Return the resources that the downward API exposes; some only if a container names them."""
    named = {
        name
        for each in pod.all_containers
        for name in (*each.resources.requests, *each.resources.limits)
        if name == "ephemeral-storage" or name.startswith(HUGE_PAGES)
    }
    return (*_RESOURCES, *sorted(named))
