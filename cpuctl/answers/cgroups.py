"""The answers of ``cpuctl cgroups``."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from cpuctl.answers.audit import AuditedNode, Owner
from cpuctl.answers.values import SHA256, ApiVersion, Bounds, Count, CPUList, Sources, Unreadable

Level = Literal["kubepods", "qos", "pod", "container", "helper", "below"]


class AuditPart(TypedDict, total=False):
    next: str
    """The command that shows what to do about unexpected values."""


class CgroupsShow(AuditPart):
    """The kubelet's cgroups with actual and expected values. With -o jsonl, each line is one cgroup."""

    apiVersion: ApiVersion
    kind: Literal["CgroupsShow"]
    sources: Sources
    node: AuditedNode
    summary: GroupSummary
    groups: list[Group]
    """Every cgroup at or below kubepods, parents first."""
    unreadable: list[Unreadable]
    """Inputs that exist but could not be read."""


class GroupSummary(TypedDict):
    groups: Count
    differing: Count
    """Cgroups with a value that differs from what is expected."""


class Group(TypedDict):
    path: str
    """Path of the cgroup, relative to the root of the hierarchy."""
    parent: str | None
    """Null if the parent cgroup is not one of the kubelet's."""
    level: Level
    qosClass: Literal["Guaranteed", "Burstable", "BestEffort"] | None
    owner: Owner | None
    files: dict[str, GroupFile]
    """By file name; which files exist depends on the cgroup version."""


class GroupFile(TypedDict):
    actual: str | None
    """The file's content; null if there is no such file."""
    expected: list[str]
    """The expected contents, any one of which is correct; empty if unknown."""
    differs: bool


# cgroups apply


class NewPlanPart(TypedDict, total=False):
    next: str
    """The command that makes a new plan if the state has changed since this one was made."""


class CgroupsApply(NewPlanPart):
    """Writes to cgroups: what will be written, what was rejected and why, and the result."""

    apiVersion: ApiVersion
    kind: Literal["CgroupsApply"]
    sources: Sources
    cgroupVersion: Literal[1, 2]
    request: Literal["State", "Plan", "CgroupsPlan", "Arguments"]
    """The source of the requested CPUs."""
    outcome: ApplyOutcome
    summary: ApplySummary
    objections: list[Objection]
    writes: list[Write]
    """All writes, in order."""
    skipped: list[SkippedContainer]
    """Containers that are skipped, and why."""
    result: Result | None
    """What was done; null for a dry run."""
    warnings: list[str]


ApplyOutcome = Annotated[
    Literal["Clean", "Planned", "Rejected", "Applied", "Undone", "NotRestored"],
    "Clean: there is nothing to write. Planned: a dry run. Rejected: for the reasons listed; nothing is "
    "written. Applied: written, in effect, and not rewritten by anything else. Undone: the change failed, "
    "and everything was restored. NotRestored: the change failed, and something could not be restored.",
]


class ApplySummary(TypedDict):
    containers: Count
    """Containers with requested changes."""
    groups: Count
    """Cgroups that are written to."""
    writes: Count


class Objection(TypedDict):
    code: Literal["state-moved", "offline", "reserved", "exclusive", "outside", "partition"]
    subject: str
    message: str
    force: str | None
    """The option that overrides the objection; null if there is none."""


class Write(TypedDict):
    subject: str
    owner: Owner | None
    level: Level
    path: str
    file: str
    before: str
    """Empty if the cgroup has no list of its own."""
    after: str
    inherits: str | None
    """The list in effect before a cgroup without its own list gets one."""
    why: Literal["wait", "give up", "make room", "take over", "lift the quota", "limit"]


class SkippedContainer(TypedDict):
    subject: str
    why: str


class Result(TypedDict):
    failure: str | None
    """Why everything was undone; null on success."""
    watchedSeconds: Annotated[float, Bounds(0)]
    steps: list[Step]
    notRestored: list[WrittenFile]
    gone: list[WrittenFile]
    """What was not written because the container had ended."""


class WrittenFile(TypedDict):
    group: str
    """Path of the cgroup below /sys/fs/cgroup."""
    file: str
    problem: str | None


class Step(WrittenFile):
    step: Literal["writing", "written", "gone", "failed", "restored", "equivalent", "not restored"]
    before: str
    after: str


# audit -o plan


class CgroupsPlan(TypedDict):
    """What must be written to cgroups to give containers their CPUs and NUMA nodes.

    Also contains the conditions that must still be met when it is written.
    """

    apiVersion: ApiVersion
    kind: Literal["CgroupsPlan"]
    sources: Sources
    cgroupVersion: Literal[1, 2] | None
    hierarchy: str | None
    """Mount point of the hierarchy with the cpuset controller."""
    state: list[SavedFile]
    """The kubelet's state files that the plan was made from."""
    groups: list[PlannedGroup]


class SavedFile(TypedDict):
    path: str
    """Path on the node."""
    sha256: SHA256


class PlannedGroup(TypedDict):
    path: str
    """Path of the cgroup, relative to the root of the hierarchy."""
    owner: Owner
    process: OldestProcess | None
    """The container's oldest process; null if none was found."""
    cpus: Change | None
    """The change of cpuset.cpus; null if there is none."""
    mems: Change | None
    """The change of cpuset.mems; null if there is none."""


class OldestProcess(TypedDict):
    pid: Count
    startTime: Count | None
    """Start time in clock ticks since boot (field 22 of /proc/PID/stat)."""


class Change(TypedDict):
    now: CPUList
    """The file's content; empty if the cgroup has no list of its own."""
    desired: CPUList
    effective: CPUList | None
    """The list that was in effect; null if unknown."""
