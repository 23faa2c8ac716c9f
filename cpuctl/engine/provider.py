"""What a resource manager does for the node: hints for the Topology Manager, allocation, release.

Rule: kubelet v1.36 ``pkg/kubelet/cm/topologymanager``, hint providers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol, Self

from cpuctl.engine.hints.hints import Hint
from cpuctl.engine.hints.topology_manager import Answer, ProviderName
from cpuctl.engine.outcome import KubeletFault, Pending, Rejected, Undetermined
from cpuctl.engine.placement import Placement
from cpuctl.pods.model import Container, StoredPod
from cpuctl.pods.qos import Qos
from cpuctl.records import Record

Refusal = Rejected | KubeletFault | Undetermined


class Candidate(Record):
    """A pod to be admitted, with its QoS class on the node.

    ``divided`` means that managers use its own resources and divide them among its containers (KEP-5526).
    """

    pod: StoredPod
    qos: Qos
    divided: bool = False


class Provider(Protocol):
    """One resource manager with its state; a container's placement goes from one to the next."""

    @property
    def name(self) -> ProviderName:
        """The name in a trace."""

    def hints(self, candidate: Candidate, container: Container | None) -> Answer | KubeletFault:
        """Return the hints for a container, or for the pod if *container* is None."""

    def allocate(self, candidate: Candidate, hint: Hint, placed: Placement) -> Placement | Refusal:
        """Allocate for the container being *placed*, near the hint; add what it gets to the placement."""

    def allocate_pod(
        self, candidate: Candidate, hint: Hint, placed: Sequence[Placement]
    ) -> Sequence[Placement] | Refusal:
        """Allocate for a divided pod, near the hint; add what the containers get to the placements."""

    def keep_only(
        self, containers: Mapping[str, Collection[str]], gone: Collection[str] | None = None
    ) -> None:
        """Release everything not held by one of these containers, by pod UID.

        *gone* are the UIDs of the pods that may hold such things; None if all pods are to be checked.
        """

    def remove_container(self, uid: str, container: str) -> None:
        """Release what one container holds."""


class ClaimSource(Protocol):
    """The service for pods' resource claims: the scheduler allocates devices, their drivers prepare them.

    No manager of the kubelet is involved, and none is informed.
    """

    def copy(self) -> Self:
        """Return a copy that goes on from the same state."""

    def allocate(self, pod: StoredPod) -> Pending | Undetermined | None:
        """Allocate the claims of a new pod, or return why that is impossible or unknown."""

    def counted(self, pod: StoredPod) -> StoredPod:
        """Return a pod with the amounts that its claims count as, as in its status (KEP-5517)."""

    def prepare(self, pod: StoredPod) -> None:
        """Let drivers prepare the claims of a pod that the kubelet has admitted."""

    def problem(self, uid: str) -> str:
        """Return why a pod does not start although its claims are allocated; empty if it does."""

    def release(self, uid: str) -> None:
        """Release the claims of a pod that is gone."""
