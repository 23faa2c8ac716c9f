"""Which control groups must change so that every container has the CPUs and NUMA nodes that it is due.

Nothing is changed here: a plan says what each group has now, so that whoever applies it sees whether that is
still so, and by container id, first process and the checksum of the state file whether it is still the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from cpuctl.audit.snapshot import ContainerProcess, NodeSnapshot, ObservedContainer
from cpuctl.cgroups.owners import Owner
from cpuctl.cpuset import CPUSet


class ListChange(NamedTuple):
    """A group's list as it is now, as it is to be, and what is in force now (None: not known)."""

    now: CPUSet
    wanted: CPUSet
    effective: CPUSet | None


class GroupChange(NamedTuple):
    """What is to become of one group; ``first`` is the container's oldest process, None if none is."""

    path: str
    owner: Owner
    first: ContainerProcess | None
    cpus: ListChange | None = None
    mems: ListChange | None = None


def plan_changes(snapshot: NodeSnapshot) -> Iterator[GroupChange]:
    """Yield the groups whose lists differ from what is expected, or are not in force."""
    for observed in snapshot.containers:
        cpus, mems = _cpus(snapshot, observed), _mems(observed)
        if cpus or mems:
            first = min(observed.processes, key=_age, default=None)
            yield GroupChange(
                path=observed.group.path, owner=observed.owner, first=first, cpus=cpus, mems=mems
            )
        yield from _below(observed)


def _cpus(snapshot: NodeSnapshot, observed: ObservedContainer) -> ListChange | None:
    """Compare CPUs that run; the others come back by themselves on v2, and v1 refuses them."""
    wanted, now, effective = (
        observed.expected.cpus,
        observed.group.cpuset.cpus,
        observed.group.cpuset.effective,
    )
    online = snapshot.machine.online
    if wanted is None or now is None or not wanted & online:
        return None
    if now & online == wanted & online and effective in (None, wanted & online):
        return None
    version = snapshot.hierarchies.version if snapshot.hierarchies else 2
    return ListChange(now, wanted if version == 2 else wanted & online, effective)


def _mems(observed: ObservedContainer) -> ListChange | None:
    wanted, now, effective = (
        observed.expected.mems,
        observed.group.cpuset.mems,
        observed.group.cpuset.effective_mems,
    )
    if wanted is None or now is None or (now == wanted and effective in (None, wanted)):
        return None
    return ListChange(now, wanted, effective)


def _below(observed: ObservedContainer) -> Iterator[GroupChange]:
    """Yield groups that the container's runtime has made below, where these have lists of their own."""
    wanted = observed.expected.cpus
    for group in observed.below:
        own = group.cpuset.cpus
        if wanted is not None and own and not own <= wanted:
            change = ListChange(own, wanted, group.cpuset.effective)
            yield GroupChange(path=group.path, owner=observed.owner, first=None, cpus=change)


def _age(leader: ContainerProcess) -> tuple[int, int]:
    return leader.started if leader.started is not None else 0, leader.pid
