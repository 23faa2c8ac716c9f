"""The answer of ``cpuctl audit``."""

from __future__ import annotations

from typing import Literal, TypedDict

from cpuctl.answers.values import (
    ApiVersion,
    Count,
    CPUList,
    FindingCounts,
    Found,
    Graded,
    Sources,
    Unreadable,
)


class AuditedNode(TypedDict):
    cgroupVersion: Literal[1, 2] | None
    """null: the node has no control groups."""
    hybrid: bool
    """Version 2 is mounted as well as version 1, which is used."""
    cgroupDrivers: list[Literal["cgroupfs", "systemd"]]
    """Who created the kubelet's groups, judging by their names."""
    cpuManagerPolicy: str | None
    """The policy in the state file; null: unknown."""
    cpuManagerState: Literal["read", "missing", "closed", "unusable"]
    """Its file; closed: it exists but may not be read; unusable: no kubelet would load it."""
    online: CPUList
    offline: CPUList
    isolated: CPUList
    nohzFull: CPUList
    reserved: CPUList | None
    """From the kubelet's configuration; null if that cannot be read."""
    sharedPool: CPUList | None
    """null: there is none with the policy none."""
    exclusive: CPUList | None
    """Those of existing pods; null: there is no state."""


class Owner(TypedDict):
    """The owner of a group; unknown names are null."""

    namespace: str | None
    pod: str | None
    uid: str
    """For a static pod, that of its manifest, not of its mirror pod."""
    container: str | None
    containerID: str | None
    runtime: str | None
    """As far as known from the group's name or the pod's status."""
    part: Literal["app", "init", "sidecar", "ephemeral", "sandbox", "unknown"]
    knownBy: Literal["status", "log", "runtime", "state", "process"] | None
    """Source of the container's name: the pod's status, the link to its log, CPUs that are unique in the
    state, or its process (for a sandbox).
    """


class PreparedClaim(TypedDict):
    """A resource claim that the dra.cpu driver has prepared."""

    uid: str
    claim: str | None
    """Null if the kubelet's dra_manager_state does not contain its name."""
    pods: list[str]
    """Pods that use it, according to the kubelet."""
    cpus: CPUList


class ClaimsPart(TypedDict, total=False):
    claims: list[PreparedClaim]
    """Only if the driver runs."""


class Audit(ClaimsPart):
    """A node compared with its kubelet's state. With -o jsonl, each line is one of the findings."""

    apiVersion: ApiVersion
    kind: Literal["Audit"]
    sources: Sources
    checks: list[str]
    """Those that were made."""
    node: AuditedNode
    summary: Summary
    containers: list[Container]
    findings: list[Finding]
    """The worst first."""
    unchecked: list[Unchecked]
    """What could not be checked because it is missing on the node."""
    unreadable: list[Unreadable]
    """Inputs that exist but could not be read."""


class Summary(FindingCounts):
    """How much was checked, and what was found; null: nothing of that kind was available."""

    containers: Count | None
    threads: Count | None
    interrupts: Count | None


class Container(Owner):
    """A container that has a control group; unknown names are null."""

    path: str
    """Its group, from the hierarchy's root."""
    cpus: ContainerCPUs
    mems: ContainerMems
    """NUMA nodes."""
    threads: Count
    verdict: Literal[
        "ok",
        "cpuset differs",
        "effective differs",
        "mems differ",
        "threads outside",
        "throttled",
        "not checked",
    ]


class ContainerCPUs(TypedDict):
    expected: CPUList | None
    """null: it has no CPUs assigned, or they are unknown."""
    exclusive: bool
    possible: list[CPUList]
    """What it may have, if it is unknown which container of its pod it is."""
    configured: CPUList | None
    """cpuset.cpus; empty: inherited from the parent group."""
    effective: CPUList | None
    threads: CPUList | None
    """Where any of its threads may run; null: it has none."""


class ContainerMems(TypedDict):
    expected: CPUList | None
    configured: CPUList | None
    effective: CPUList | None


class Finding(Graded, Found):
    """Errors break the kubelet's guarantees, warnings are possible disturbances, notes are informational."""

    subject: str
    """What it is about, as text."""
    uid: str | None
    """Of the pod that it is about."""
    container: str | None
    path: str | None
    """Of the control group that it is about."""


class Unchecked(TypedDict):
    missing: str
    checks: list[str]
    """Checks that need it."""
