"""One change to every list of amounts in a pod."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cpuctl.pods.model import Container, Pod, ResourceRequirements
from cpuctl.quantity import Quantity

Change = Callable[[Mapping[str, Quantity]], Mapping[str, Quantity]]


def with_amounts(pod: Pod, change: Change) -> Pod:
    """Return *pod* with *change* made to the amounts of containers, of the pod level and of the overhead."""

    def changed(resources: ResourceRequirements) -> ResourceRequirements:
        return resources._replace(requests=change(resources.requests), limits=change(resources.limits))

    def container(each: Container) -> Container:
        return each._replace(resources=changed(each.resources))

    return pod._replace(
        containers=tuple(map(container, pod.containers)),
        init_containers=tuple(map(container, pod.init_containers)),
        resources=None if pod.resources is None else changed(pod.resources),
        overhead=change(pod.overhead),
    )


def as_sent(pod: Pod) -> Pod:
    """Return *pod* as a kubelet reads it from the API server: ``1.5Gi`` arrives as ``1536Mi``."""
    return with_amounts(pod, lambda amounts: {name: amount.canonical() for name, amount in amounts.items()})
