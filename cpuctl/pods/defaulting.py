"""The defaults that the API server writes into a pod's resources (Kubernetes 1.36)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cpuctl.pods.model import Container, Pod, ResourceRequirements, is_pod_level_resource
from cpuctl.pods.requests import Amounts, container_limits, container_requests
from cpuctl.quantity import Quantity


def with_api_defaults(pod: Pod, *, pod_level: bool = True) -> Pod:
    """Return *pod* as the API server stores it: requests filled in from limits, amounts in whole milli units.

    *pod_level* is the gate PodLevelResources; with it, pod-level resources get their defaults too.
    """
    filled = replace(
        pod,
        containers=tuple(_with_requests(container) for container in pod.containers),
        init_containers=tuple(_with_requests(container) for container in pod.init_containers),
    )
    if pod_level and pod.resources is not None:
        filled = replace(filled, resources=_pod_level(filled, pod.resources))
    return _in_milli(filled)


def _with_requests(container: Container) -> Container:
    resources = container.resources
    requests = {**resources.limits, **resources.requests}
    return replace(container, resources=replace(resources, requests=requests))


def _pod_level(pod: Pod, resources: ResourceRequirements) -> ResourceRequirements:
    """Fill in huge page limits, then requests; limits for cpu and memory are never derived."""
    if not resources.requests and not resources.limits:
        return resources
    limits = {**_hugepage_limits(pod, resources), **resources.limits}
    if not limits:
        return resources
    return replace(resources, limits=limits, requests=_pod_level_requests(pod, resources.requests, limits))


def _hugepage_limits(pod: Pod, resources: ResourceRequirements) -> Amounts:
    return {
        name: amount
        for name, amount in container_limits(pod).items()
        if name.startswith("hugepages-") and name not in resources.requests
    }


def _pod_level_requests(pod: Pod, requests: Mapping[str, Quantity], limits: Amounts) -> Amounts:
    """Fill in what the containers request, even where the pod has no limit, then the pod's own limits."""
    summed = container_requests(pod)
    from_containers: Amounts = {name: summed[name] for name in ("cpu", "memory") if name in summed}
    from_limits = {name: amount for name, amount in limits.items() if is_pod_level_resource(name)}
    return {**from_limits, **from_containers, **requests}


def _in_milli(pod: Pod) -> Pod:
    return replace(
        pod,
        containers=tuple(_rounded_container(container) for container in pod.containers),
        init_containers=tuple(_rounded_container(container) for container in pod.init_containers),
        resources=None if pod.resources is None else _rounded_requirements(pod.resources),
        overhead=_rounded(pod.overhead),
    )


def _rounded_container(container: Container) -> Container:
    return replace(container, resources=_rounded_requirements(container.resources))


def _rounded_requirements(resources: ResourceRequirements) -> ResourceRequirements:
    return replace(resources, requests=_rounded(resources.requests), limits=_rounded(resources.limits))


def _rounded(amounts: Mapping[str, Quantity]) -> Amounts:
    return {name: amount.rounded_up_to_milli() for name, amount in amounts.items()}
