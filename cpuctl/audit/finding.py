"""What an audit finds, and in which part of a node."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from cpuctl.audit.snapshot import ObservedContainer
from cpuctl.cgroups.owners import Owner
from cpuctl.diagnostics import Diagnostic
from cpuctl.pods.model import StoredPod


class NodePart(NamedTuple):
    """A part of a node by its name for people.

    ``owner`` and ``path`` are the container or pod, and the control group, where it is about one.
    """

    subject: str
    owner: Owner | None = None
    path: str = ""

    def __str__(self) -> str:
        return self.subject

    @classmethod
    def of(cls, observed: ObservedContainer) -> NodePart:
        """Name a container that was looked at."""
        return cls(str(observed.owner), observed.owner, observed.group.path)

    @classmethod
    def in_pod(cls, pod: StoredPod, uid: str, container: str) -> NodePart:
        """Name a container by what the API server calls it; the kubelet knows its pod by *uid*."""
        owner = Owner(uid=uid, namespace=pod.namespace, pod=pod.name, container=container)
        return cls(f"{pod.full_name}/{container}", owner)


Finding: TypeAlias = Diagnostic[NodePart]
"""An error is a broken promise of the kubelet, a warning what can disturb."""
