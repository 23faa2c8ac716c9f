"""A pod that runs, and the resources that it is to have.

KEP-1287 tells four states apart: desired (the spec), allocated (what the kubelet has granted), actuated
(what it has told the runtime) and actual (what the runtime reports).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, TypeVar

from cpuctl.pods.model import Container, Pod, ResourceRequirements, StoredPod

_Pod = TypeVar("_Pod", bound=Pod)
RESIZABLE: Final = ("cpu", "memory")
"""What can be resized."""
_NONE: frozenset[str] = frozenset()
POD = ""
"""Stands for the pod as a whole where resources are named by container."""


class RunningPod(NamedTuple):
    """A pod with the resources it is ``allocated``; ``spec`` has those that it is to have already.

    ``actuated`` has what its runtime was told, ``actual`` what that reports. ``waiting_since`` is when a
    resize of it became pending, as the pod's status says it.
    """

    spec: StoredPod
    allocated: StoredPod
    actuated: StoredPod
    actual: StoredPod
    generation: int
    waiting_since: str = ""

    @classmethod
    def settled(cls, pod: StoredPod) -> RunningPod:
        """Take a pod that has what it is to have."""
        return cls(spec=pod, allocated=pod, actuated=pod, actual=pod, generation=pod.generation)

    def restarts(self, container: str) -> frozenset[str]:
        """Name the resources whose change restarts a container (``resizePolicy``)."""
        return next((each.restarts for each in self.spec.all_containers if each.name == container), _NONE)


class PodResize(NamedTuple):
    """A running pod, and the same pod with the resources it is to have."""

    running: RunningPod
    desired: StoredPod

    @property
    def generation(self) -> int:
        """The generation of the pod that has the desired resources: one more where they are new to it."""
        known = same_resources(self.running.spec, self.desired)
        return self.running.generation + (not known)

    @property
    def is_new(self) -> bool:
        """Whether anything is to change at all."""
        return not same_resources(self.running.allocated, self.desired)


def requirements(pod: Pod) -> dict[str, ResourceRequirements | None]:
    """Return all that can be resized of a pod, by container; ``POD`` names the pod-level resources."""
    return {POD: pod.resources} | {each.name: each.resources for each in pod.all_containers}


def same_resources(one: Pod, other: Pod) -> bool:
    """Tell whether two versions of a pod ask for the same, however it is written."""
    return requirements(one) == requirements(other)


def with_requirements(pod: _Pod, wanted: Mapping[str, ResourceRequirements]) -> _Pod:
    """Return the pod with other resources of some containers, or (``POD``) of its own."""

    def renewed(containers: tuple[Container, ...]) -> tuple[Container, ...]:
        return tuple(each._replace(resources=wanted.get(each.name, each.resources)) for each in containers)

    return pod._replace(
        containers=renewed(pod.containers),
        init_containers=renewed(pod.init_containers),
        resources=wanted.get(POD, pod.resources),
    )
