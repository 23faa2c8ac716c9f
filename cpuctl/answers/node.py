"""A node and its control groups, as an audit sees them."""

from __future__ import annotations

from typing import Literal, TypedDict

from cpuctl.answers.values import CPUList


class AuditedNode(TypedDict):
    cgroupVersion: Literal[1, 2] | None
    """null: the node has no control groups."""
    hybrid: bool
    """Version 2 is mounted beside version 1, which counts."""
    cgroupDrivers: list[Literal["cgroupfs", "systemd"]]
    """Who made the groups of the kubelet, by their names."""
    cpuManagerPolicy: str | None
    """That of the state; null: it is not known."""
    cpuManagerState: Literal["read", "missing", "closed", "unusable"]
    """Its file; closed: it is there, and may not be read; unusable: no kubelet would load it."""
    online: CPUList
    offline: CPUList
    isolated: CPUList
    nohzFull: CPUList
    reserved: CPUList | None
    """By the kubelet's configuration; null where there is one, and nobody can read it."""
    sharedPool: CPUList | None
    """null: nobody has one under the policy none."""
    exclusive: CPUList | None
    """Those of pods that are there; null: there is no state to tell."""


class Owner(TypedDict):
    """Whose a group is; names that nobody knows are null."""

    namespace: str | None
    pod: str | None
    uid: str
    """Of a static pod that of its manifest, not of its mirror."""
    container: str | None
    containerID: str | None
    runtime: str | None
    """As far as the group's name or the status tells."""
    part: Literal["app", "init", "sidecar", "ephemeral", "sandbox", "unknown"]
    knownBy: Literal["status", "log", "runtime", "state", "process"] | None
    """What told the container's name: the pod's status, the link to its log, CPUs that the state gives once,
    or its process (a sandbox's).
    """
