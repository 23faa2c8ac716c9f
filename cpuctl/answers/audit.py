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
    """Null if the node has no cgroups."""
    hybrid: bool
    """Whether cgroup v2 is mounted in addition to v1, which is used."""
    cgroupDrivers: list[Literal["cgroupfs", "systemd"]]
    """The cgroup drivers that created the kubelet's cgroups, inferred from their names."""
    cpuManagerPolicy: str | None
    """The policy in the state file; null if unknown."""
    cpuManagerState: Literal["read", "missing", "unreadable", "unusable"]
    """Whether the state file could be read. unreadable: no permission to read it; unusable: no kubelet would
    load it.
    """
    online: CPUList
    offline: CPUList
    isolated: CPUList
    nohzFull: CPUList
    reserved: CPUList | None
    """From the kubelet's configuration; null if it cannot be read."""
    strictReservation: bool | None
    """Whether strict-cpu-reservation is set, which keeps reserved CPUs out of the shared pool; null if the
    configuration cannot be read.
    """
    sharedPool: CPUList | None
    """Null with the policy none, which has no shared pool."""
    exclusive: CPUList | None
    """Exclusive CPUs of existing pods; null if there is no state file."""


class Owner(TypedDict):
    """The owner of a cgroup; unknown names are null."""

    namespace: str | None
    pod: str | None
    uid: str
    """The pod's UID; for a static pod, the UID of its manifest, not of its mirror pod."""
    container: str | None
    containerID: str | None
    runtime: str | None
    """The container runtime, if known from the cgroup's name or the pod's status."""
    part: Literal["app", "init", "sidecar", "ephemeral", "sandbox", "unknown"]
    knownBy: Literal["status", "log", "runtime", "state", "process"] | None
    """How the container's name is known: from the pod's status, the link to its log, the container runtime,
    CPUs that are unique in the state file, or its process (for a sandbox).
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
    """Only if the dra.cpu driver runs."""


class Audit(ClaimsPart):
    """A node compared with its kubelet's state. With -o jsonl, each line is one of the findings."""

    apiVersion: ApiVersion
    kind: Literal["Audit"]
    sources: Sources
    checks: list[str]
    """The checks that were made."""
    node: AuditedNode
    summary: Summary
    containers: list[Container]
    findings: list[Finding]
    """Most severe first."""
    unchecked: list[Unchecked]
    """What could not be checked because an input is missing on the node."""
    unreadable: list[Unreadable]
    """Inputs that exist but could not be read."""


class Summary(FindingCounts):
    """How much was checked, and how many findings there are; null if nothing of that kind was available."""

    containers: Count | None
    threads: Count | None
    interrupts: Count | None


class Container(Owner):
    """A container that has a cgroup; unknown names are null."""

    path: str
    """The container's cgroup, relative to the root of the hierarchy."""
    cpus: ContainerCPUs
    mems: ContainerMems
    """NUMA nodes (cpuset.mems)."""
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
    """Null if the container has no CPUs assigned, or if they are unknown."""
    exclusive: bool
    possible: list[CPUList]
    """The CPUs that it may have, if it is unknown which container of its pod it is."""
    configured: CPUList | None
    """cpuset.cpus; empty if inherited from the parent cgroup."""
    effective: CPUList | None
    threads: CPUList | None
    """CPUs on which any of its threads may run; null if it has no threads."""


class ContainerMems(TypedDict):
    expected: CPUList | None
    configured: CPUList | None
    effective: CPUList | None


class Finding(Graded, Found):
    """Errors break the kubelet's guarantees, warnings are possible disturbances, notes are informational."""

    subject: str
    """What the finding is about, as text."""
    uid: str | None
    """UID of the pod that the finding is about."""
    container: str | None
    path: str | None
    """The cgroup that the finding is about."""


class Unchecked(TypedDict):
    missing: str
    checks: list[str]
    """Checks that need the missing input."""
