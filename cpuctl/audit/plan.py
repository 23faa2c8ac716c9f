"""The control groups that must change so that every container has its expected CPUs and NUMA nodes.

Nothing is changed here: a plan has the current value of each group, so that applying it can check whether
it is unchanged, and container id, first process and checksum of the state file, which identify the group.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from cpuctl.audit.snapshot import ContainerProcess, NodeSnapshot, ObservedContainer
from cpuctl.cgroups.owners import Owner
from cpuctl.cpuset import CPUSet


class ListChange(NamedTuple):
    """A group's list: its current, its new and its effective value (None: unknown)."""

    now: CPUSet
    wanted: CPUSet
    effective: CPUSet | None


class GroupChange(NamedTuple):
    """The changes to one group; ``first`` is the container's oldest process, None if it has no process."""

    path: str
    owner: Owner
    first: ContainerProcess | None
    cpus: ListChange | None = None
    mems: ListChange | None = None


def plan_changes(snapshot: NodeSnapshot) -> Iterator[GroupChange]:
    """Yield the groups whose lists differ from the expected ones, or are not in effect."""
    for observed in snapshot.containers:
        cpus, mems = _cpus(snapshot, observed), _mems(observed)
        if cpus or mems:
            first = min(observed.processes, key=_age, default=None)
            yield GroupChange(
                path=observed.group.path, owner=observed.owner, first=first, cpus=cpus, mems=mems
            )
        yield from _below(observed)


def left_out(snapshot: NodeSnapshot) -> tuple[ObservedContainer, ...]:
    """Return the containers with wrong CPU sets that no plan can correct, because their names are unknown."""
    return tuple(observed for observed in snapshot.containers if observed.fits_none)


def _cpus(snapshot: NodeSnapshot, observed: ObservedContainer) -> ListChange | None:
    """Compare the online CPUs; the others return on their own on v2, and v1 rejects them."""
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
    """Yield groups that the container's runtime has made below, if these have their own lists."""
    wanted = observed.expected.cpus
    for group in observed.below:
        own = group.cpuset.cpus
        if wanted is not None and own and not own <= wanted:
            change = ListChange(own, wanted, group.cpuset.effective)
            yield GroupChange(path=group.path, owner=observed.owner, first=None, cpus=change)


def _age(leader: ContainerProcess) -> tuple[int, int]:
    return leader.started if leader.started is not None else 0, leader.pid
