"""Which control groups must change so that every container has the CPUs and NUMA nodes that it is due.

Nothing is changed here: a plan says what each group has now, so that whoever applies it sees whether that is
still so, and by container id, first process and the checksum of the state file whether it is still the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from cpuctl.audit.picture import Leader, Picture, Seen
from cpuctl.cgroups.owners import Owner
from cpuctl.cpuset import CPUSet


class Change(NamedTuple):
    """A group's list as it is now, as it is to be, and what is in force now (None: not known)."""

    now: CPUSet
    wanted: CPUSet
    effective: CPUSet | None


class GroupChange(NamedTuple):
    """What is to become of one group; ``first`` is the container's oldest process, None where none is."""

    path: str
    owner: Owner
    first: Leader | None
    cpus: Change | None = None
    mems: Change | None = None


def plan_changes(picture: Picture) -> Iterator[GroupChange]:
    """Yield the groups whose lists differ from what is expected, or are not in force."""
    for seen in picture.containers:
        cpus, mems = _cpus(picture, seen), _mems(seen)
        if cpus or mems:
            first = min(seen.leaders, key=_age, default=None)
            yield GroupChange(path=seen.group.path, owner=seen.owner, first=first, cpus=cpus, mems=mems)
        yield from _below(seen)


def _cpus(picture: Picture, seen: Seen) -> Change | None:
    """Compare CPUs that run; the others come back by themselves on v2, and v1 refuses them."""
    wanted, now, effective = seen.expected.cpus, seen.group.cpuset.cpus, seen.group.cpuset.effective
    online = picture.machine.online
    if wanted is None or now is None or not wanted & online:
        return None
    if now & online == wanted & online and effective in (None, wanted & online):
        return None
    version = picture.hierarchies.version if picture.hierarchies else 2
    return Change(now, wanted if version == 2 else wanted & online, effective)


def _mems(seen: Seen) -> Change | None:
    wanted, now, effective = seen.expected.mems, seen.group.cpuset.mems, seen.group.cpuset.effective_mems
    if wanted is None or now is None or (now == wanted and effective in (None, wanted)):
        return None
    return Change(now, wanted, effective)


def _below(seen: Seen) -> Iterator[GroupChange]:
    """Yield groups that the container's runtime has made below, where these have lists of their own."""
    wanted = seen.expected.cpus
    for group in seen.below:
        own = group.cpuset.cpus
        if wanted is not None and own and not own <= wanted:
            change = Change(own, wanted, group.cpuset.effective)
            yield GroupChange(path=group.path, owner=seen.owner, first=None, cpus=change)


def _age(leader: Leader) -> tuple[int, int]:
    return leader.started if leader.started is not None else 0, leader.pid
