"""What a resource manager is to the node: hints for the Topology Manager, allocation, release.

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
    """A pod that is to be admitted, with the QoS class that the node counts it in.

    ``divided`` says that managers go by its own resources and divide them among its containers (KEP-5526).
    """

    pod: StoredPod
    qos: Qos
    divided: bool = False


class Provider(Protocol):
    """One resource manager with its state; a container's placement goes from one to the next."""

    @property
    def name(self) -> ProviderName:
        """What to call it in a trace."""

    def hints(self, candidate: Candidate, container: Container | None) -> Answer | KubeletFault:
        """Answer the Topology Manager for a container, or for the pod if that is None."""

    def allocate(self, candidate: Candidate, hint: Hint, placed: Placement) -> Placement | Refusal:
        """Allocate for the container that is *placed*, near the hint; add to the placement what it gets."""

    def allocate_pod(
        self, candidate: Candidate, hint: Hint, placed: Sequence[Placement]
    ) -> Sequence[Placement] | Refusal:
        """Allocate for a pod that is divided, near the hint; add to the placements what containers get."""

    def keep_only(
        self, containers: Mapping[str, Collection[str]], gone: Collection[str] | None = None
    ) -> None:
        """Release everything that is not held by one of these containers, by pod UID.

        *gone* are the pods that may hold such things, by their UIDs; None if all are to be looked through.
        """

    def remove_container(self, uid: str, container: str) -> None:
        """Release what one container holds."""


class ClaimSource(Protocol):
    """Who serves the resource claims of pods: the scheduler allocates devices, their drivers prepare them.

    No manager of the kubelet's has a say, and none learns of it.
    """

    def copy(self) -> Self:
        """Return one that goes on from the same state."""

    def allocate(self, pod: StoredPod) -> Pending | Undetermined | None:
        """Allocate the claims of a pod that comes, or say why that cannot be done, or not be known."""

    def counted(self, pod: StoredPod) -> StoredPod:
        """Return a pod with what its claims count as in its status (KEP-5517)."""

    def prepare(self, pod: StoredPod) -> None:
        """Let drivers prepare the claims of a pod that the kubelet has admitted."""

    def problem(self, uid: str) -> str:
        """Say why a pod does not start although its claims are allocated; empty if nothing keeps it."""

    def release(self, uid: str) -> None:
        """Take back what a pod has that has gone."""
