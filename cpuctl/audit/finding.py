"""The findings of an audit, and the parts of a node that they are about."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from cpuctl.audit.snapshot import ObservedContainer
from cpuctl.cgroups.owners import Owner
from cpuctl.diagnostics import Diagnostic
from cpuctl.pods.model import StoredPod


class NodePart(NamedTuple):
    """A part of a node by its name for people.

    ``owner`` and ``path`` are the container or pod, and the control group, if the part is one.
    """

    subject: str
    owner: Owner | None = None
    path: str = ""

    def __str__(self) -> str:
        return self.subject

    @classmethod
    def of(cls, observed: ObservedContainer) -> NodePart:
        """Return the part for an observed container."""
        return cls(str(observed.owner), observed.owner, observed.group.path)

    @classmethod
    def in_pod(cls, pod: StoredPod, uid: str, container: str) -> NodePart:
        """Return the part for a container of the API server; the kubelet knows its pod by *uid*."""
        owner = Owner(uid=uid, namespace=pod.namespace, pod=pod.name, container=container)
        return cls(f"{pod.full_name}/{container}", owner)


Finding: TypeAlias = Diagnostic[NodePart]
"""An error is a broken guarantee of the kubelet, a warning a possible disturbance."""
