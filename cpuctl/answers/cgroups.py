"""The answers of ``cpuctl cgroups``."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from cpuctl.answers.audit import AuditedNode, Owner
from cpuctl.answers.values import SHA256, ApiVersion, Bounds, Count, CPUList, Sources, Unreadable

Level = Literal["kubepods", "qos", "pod", "container", "helper", "below"]


class CgroupsShow(TypedDict):
    """The kubelet's control groups, what they say and what they should say.

    With -o jsonl each line is one group.
    """

    apiVersion: ApiVersion
    kind: Literal["CgroupsShow"]
    sources: Sources
    node: AuditedNode
    summary: GroupSummary
    groups: list[Group]
    """Every group at or below kubepods, a group before those below it."""
    unreadable: list[Unreadable]
    """Inputs that exist but could not be read."""


class GroupSummary(TypedDict):
    groups: Count
    differing: Count
    """Groups with a value that differs from what is expected."""


class Group(TypedDict):
    path: str
    """From the hierarchy's root."""
    parent: str | None
    """null: the group above is not the kubelet's."""
    level: Level
    qosClass: Literal["Guaranteed", "Burstable", "BestEffort"] | None
    owner: Owner | None
    files: dict[str, GroupFile]
    """By the file's name; those that there are depend on the version of control groups."""


class GroupFile(TypedDict):
    actual: str | None
    """null: there is no such file."""
    expected: list[str]
    """The texts that it may have; none: nobody says."""
    differs: bool


# cgroups apply


class CgroupsApply(TypedDict):
    """Writes to control groups: what is to be written, why not, and what has come of it."""

    apiVersion: ApiVersion
    kind: Literal["CgroupsApply"]
    sources: Sources
    cgroupVersion: Literal[1, 2]
    request: Literal["State", "Plan", "CgroupsPlan", "Arguments"]
    """What says which CPUs are wanted."""
    outcome: ApplyOutcome
    summary: ApplySummary
    objections: list[Objection]
    writes: list[Write]
    """All writes, in their order."""
    leftOut: list[LeftOut]
    """Containers that nothing is done for."""
    result: Result | None
    """What was done; null for a dry run."""
    warnings: list[str]


ApplyOutcome = Annotated[
    Literal["Clean", "Planned", "Refused", "Applied", "Undone", "NotRestored"],
    "Clean: there is nothing to write. Planned: a dry run. Refused: there are objections, and nothing is "
    "written. Applied: written, in force, and nobody has rewritten it. Undone: it failed, and all is as "
    "before. NotRestored: it failed, and something is not as before.",
]


class ApplySummary(TypedDict):
    containers: Count
    """Containers that something is wanted for."""
    groups: Count
    """Control groups that are written to."""
    writes: Count


class Objection(TypedDict):
    code: Literal["state-moved", "offline", "reserved", "exclusive", "outside", "partition"]
    subject: str
    message: str
    force: str | None
    """The option that overrules it; null where none does."""


class Write(TypedDict):
    subject: str
    owner: Owner | None
    level: Level
    path: str
    file: str
    before: str
    """Empty where the group has no list of its own."""
    after: str
    inherits: str | None
    """What is in force before a group without a list of its own gets one."""
    why: Literal["wait", "give up", "make room", "take over", "lift the quota", "limit"]


class LeftOut(TypedDict):
    subject: str
    why: str


class Result(TypedDict):
    failure: str | None
    """Why everything was undone; null where all went well."""
    watchedSeconds: Annotated[float, Bounds(0)]
    steps: list[Step]
    notRestored: list[WrittenFile]
    gone: list[WrittenFile]
    """What was not written, as the container had ended."""


class WrittenFile(TypedDict):
    group: str
    """Below /sys/fs/cgroup."""
    file: str
    problem: str | None


class Step(WrittenFile):
    step: Literal["writing", "written", "gone", "failed", "restored", "equivalent", "not restored"]
    before: str
    after: str


# audit -o plan


class CgroupsPlan(TypedDict):
    """What must be written to control groups so that containers have the CPUs and NUMA nodes they are due.

    It says, too, what must still be so when it is written.
    """

    apiVersion: ApiVersion
    kind: Literal["CgroupsPlan"]
    sources: Sources
    cgroupVersion: Literal[1, 2] | None
    hierarchy: str | None
    """Where the hierarchy that decides on CPUs is mounted."""
    state: list[SavedFile]
    """The kubelet's state files that the plan was made from."""
    groups: list[PlannedGroup]


class SavedFile(TypedDict):
    path: str
    """On the node."""
    sha256: SHA256


class PlannedGroup(TypedDict):
    path: str
    """From the hierarchy's root."""
    owner: Owner
    process: OldestProcess | None
    """The container's oldest process; null where none was seen."""
    cpus: Change | None
    """cpuset.cpus"""
    mems: Change | None
    """cpuset.mems"""


class OldestProcess(TypedDict):
    pid: Count
    startTime: Count | None
    """Clock ticks from boot to its start (field 22 of /proc/PID/stat)."""


class Change(TypedDict):
    now: CPUList
    """What the file said; empty: it has none of its own."""
    wanted: CPUList
    effective: CPUList | None
    """What was in effect; null: not known."""
