"""The answers of ``cpuctl cgroups``."""

from __future__ import annotations

from typing import Literal, TypedDict

from cpuctl.answers.node import AuditedNode, Owner
from cpuctl.answers.sources import Sources, Unreadable
from cpuctl.answers.values import ApiVersion, Count


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
    """What is there and could not be read."""


class GroupSummary(TypedDict):
    groups: Count
    differing: Count
    """Groups with a value that differs from what is expected."""


class Group(TypedDict):
    path: str
    """From the hierarchy's root."""
    parent: str | None
    """null: the group above is not the kubelet's."""
    level: Literal["kubepods", "qos", "pod", "container", "helper", "below"]
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
