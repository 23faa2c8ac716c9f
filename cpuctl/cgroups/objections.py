"""Reasons not to write CPU sets that the kernel would accept: values, each with its own override.

Rule: *Documentation/admin-guide/cgroup-v2.rst*, Cpuset: CPUs outside the parent's, and those of a partition,
are accepted silently and never take effect. CPUs that the kubelet guarantees to one container belong only to
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Literal, NamedTuple

from cpuctl.cgroups.desired import DesiredGroup, RunningContainer
from cpuctl.cgroups.groups import Cgroup
from cpuctl.cgroups.names import ancestors
from cpuctl.cpuset import CPUSet
from cpuctl.phrases import are, named

_NOT_PARTITIONS = ("", "member")


class Override(StrEnum):
    """What a user can override."""

    OFFLINE = "offline"
    RESERVED = "reserved"
    EXCLUSIVE = "exclusive"


ObjectionCode = Literal["state-moved", "offline", "reserved", "exclusive", "outside", "partition"]


class Objection(NamedTuple):
    """A reason to write nothing; ``force`` is the option that overrules it, if there is one.

    ``impossible``: the kernel rejects the write even with that option.
    """

    code: ObjectionCode
    subject: str
    message: str
    force: Override | None = None
    impossible: bool = False


class ApplyContext(NamedTuple):
    """The facts that desired sets are checked against.

    ``held`` are the exclusive CPUs of the kubelet's state by pod and container, ``divided`` the pods whose
    containers share the pod's; ``reach`` are the CPUs that the groups above the kubelet's have.
    ``takes_offline``: version 2 of control groups keeps CPUs that are offline, version 1 rejects them.
    """

    online: CPUSet
    reserved: CPUSet = CPUSet()
    reach: CPUSet | None = None
    groups: Mapping[str, Cgroup] = {}
    members: Sequence[RunningContainer] = ()
    held: Mapping[str, Mapping[str, CPUSet]] = {}
    divided: frozenset[str] = frozenset()
    takes_offline: bool = True


def find_objections(
    desired: Sequence[DesiredGroup], situation: ApplyContext, forced: Iterable[Override] = ()
) -> list[Objection]:
    """Return all objections except those that the user has overruled."""
    overruled = frozenset(forced)
    found = [
        *_offline(desired, situation),
        *_reserved(desired, situation),
        *_exclusive(desired, situation),
        *_outside(desired, situation),
        *_partitions(desired, situation),
    ]
    return [objection for objection in found if objection.force not in overruled]


def moved_on(what: str, *, missing: bool = False) -> Objection:
    """Object to a plan that was made from another state; *missing*: from a file that is not on this node."""
    changed = "exists on the plan's node, but not here" if missing else "has changed since the plan was made"
    return Objection(
        code="state-moved",
        subject=what,
        message=f"the {'file' if missing else 'state'} {changed}: make a new plan",
    )


def _offline(desired: Sequence[DesiredGroup], situation: ApplyContext) -> Iterator[Objection]:
    for one in desired:
        if one.cpus is not None and (gone := one.cpus - situation.online):
            yield Objection(
                code="offline",
                subject=str(one.owner),
                message=f"{are(gone)} not online",
                force=Override.OFFLINE,
                impossible=not situation.takes_offline,
            )


def _reserved(desired: Sequence[DesiredGroup], situation: ApplyContext) -> Iterator[Objection]:
    for one in desired:
        if one.cpus is not None and not one.shared and (taken := one.cpus & situation.reserved):
            yield Objection(
                code="reserved",
                subject=str(one.owner),
                message=f"{are(taken)} reserved for the system",
                force=Override.RESERVED,
            )


def _exclusive(desired: Sequence[DesiredGroup], situation: ApplyContext) -> Iterator[Objection]:
    """Object to CPUs guaranteed to another container; an init container's CPUs pass on to its own pod."""
    guarantees = _guarantees(desired, situation)
    for one in desired:
        for (uid, name), cpus in guarantees.items():
            mine = (uid, name) == (one.owner.uid, one.owner.container)
            if mine or one.cpus is None or not (double := one.cpus & cpus):
                continue
            if uid == one.owner.uid and not _both_run(situation, uid, name):
                continue
            pod = next((each.owner.pod_name for each in situation.members if each.owner.uid == uid), uid)
            yield Objection(
                code="exclusive",
                subject=str(one.owner),
                message=f"{are(double)} exclusive to {pod}/{name}",
                force=Override.EXCLUSIVE,
            )


def _guarantees(desired: Sequence[DesiredGroup], situation: ApplyContext) -> dict[tuple[str, str], CPUSet]:
    """Return all exclusive CPUs as they will be after the writes."""
    found = {
        (uid, name): cpus for uid, containers in situation.held.items() for name, cpus in containers.items()
    }
    new = {
        (one.owner.uid, one.owner.container): one.cpus
        for one in desired
        if one.exclusive and one.cpus is not None
    }
    return found | new


def _both_run(situation: ApplyContext, uid: str, name: str) -> bool:
    if uid in situation.divided:
        return False
    return any(each.owner.uid == uid and each.owner.container == name for each in situation.members)


def _outside(desired: Sequence[DesiredGroup], situation: ApplyContext) -> Iterator[Objection]:
    for one in desired:
        outside = (
            (one.cpus & situation.online) - situation.reach if one.cpus and situation.reach else CPUSet()
        )
        if outside:
            yield Objection(
                code="outside",
                subject=str(one.owner),
                message=f"{are(outside)} not available to the cgroups above kubepods: {situation.reach}",
            )


def _partitions(desired: Sequence[DesiredGroup], situation: ApplyContext) -> Iterator[Objection]:
    """Object to partitions above a group, and to CPUs that another partition has taken."""
    partitions = {
        path: group
        for path, group in situation.groups.items()
        if group.cpuset.partition not in _NOT_PARTITIONS
    }
    for one in desired:
        lineage = {one.path, *ancestors(one.path)}
        for path, group in partitions.items():
            taken = (one.cpus or CPUSet()) & (group.cpuset.effective or CPUSet())
            if path in lineage:
                message = f"its cgroup {path} is a partition ({group.cpuset.partition})"
            elif taken and "invalid" not in group.cpuset.partition:
                message = f"the partition {path} has taken {named(taken)}"
            else:
                continue
            yield Objection(code="partition", subject=str(one.owner), message=message)
