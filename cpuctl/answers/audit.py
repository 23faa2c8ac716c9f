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


class PreparedClaim(TypedDict):
    """A resource claim that the driver dra.cpu has prepared."""

    uid: str
    claim: str | None
    """Null where the kubelet's dra_manager_state does not tell its name."""
    pods: list[str]
    """Those that use it, as the kubelet knows."""
    cpus: CPUList


class ClaimsPart(TypedDict, total=False):
    claims: list[PreparedClaim]
    """Only where the driver runs."""


class Audit(ClaimsPart):
    """A node against what its kubelet believes. With -o jsonl each line is one of the findings."""

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
    """What of the node was not there to be checked."""
    unreadable: list[Unreadable]
    """Inputs that exist but could not be read."""


class Summary(FindingCounts):
    """How much was looked at, and what was found; null: nothing of the kind was there to be looked at."""

    containers: Count | None
    threads: Count | None
    interrupts: Count | None


class Container(Owner):
    """A container that has a control group; names that nobody knows are null."""

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
    """null: nobody gives it CPUs, or which is not known."""
    exclusive: bool
    possible: list[CPUList]
    """What it may have, where it is not known which container of its pod it is."""
    configured: CPUList | None
    """cpuset.cpus; empty: those of the group above."""
    effective: CPUList | None
    threads: CPUList | None
    """Where any of its threads may run; null: it has none."""


class ContainerMems(TypedDict):
    expected: CPUList | None
    configured: CPUList | None
    effective: CPUList | None


class Finding(Graded, Found):
    """An error is a broken promise of the kubelet, a warning what can disturb, a note worth knowing."""

    subject: str
    """What it is about, for people."""
    uid: str | None
    """Of the pod that it is about."""
    container: str | None
    path: str | None
    """Of the control group that it is about."""


class Unchecked(TypedDict):
    missing: str
    checks: list[str]
    """Those that say nothing without it."""
