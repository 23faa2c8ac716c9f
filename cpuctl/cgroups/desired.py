"""The CPUs and NUMA nodes that containers should have, by their control groups: values only.

Rule: kubelet v1.36 ``pkg/kubelet/cm/cpumanager``: a container has the CPUs that are recorded for it, any
other the shared pool. A pod's sandbox is left alone, as in the kubelet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from cpuctl.cgroups.groups import Cgroup
from cpuctl.cgroups.owners import ContainerRole, Owner
from cpuctl.cpuset import CPUSet

_SHORT_ID = 12
NAMELESS = "its container within the pod is unknown (use --pods)"
NOT_HERE = "it is not running here"


class RunningContainer(NamedTuple):
    """A running container: its owner and its cgroup."""

    owner: Owner
    group: Cgroup


class DesiredGroup(NamedTuple):
    """What a container's cgroup should have; None is left unchanged.

    ``exclusive``: no other container may have these CPUs. ``shared``: they are the shared pool, including any
    reserved CPUs in it.
    """

    path: str
    owner: Owner
    cpus: CPUSet | None = None
    mems: CPUSet | None = None
    exclusive: bool = False
    shared: bool = False


class LeftOut(NamedTuple):
    """A container that is left unchanged."""

    subject: str
    why: str


class DesiredState(NamedTuple):
    """The desired sets, and the containers that are left unchanged."""

    groups: tuple[DesiredGroup, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


class ContainerReference(NamedTuple):
    """A container by its pod, ``namespace/name`` or UID, and its name or the beginning of its id."""

    pod: str
    container: str

    def __str__(self) -> str:
        return f"{self.pod}/{self.container}"

    def names(self, owner: Owner) -> bool:
        """Return whether this is the container."""
        by_id = len(self.container) >= _SHORT_ID and owner.container_id.startswith(self.container)
        return self.pod in (owner.pod_name, owner.uid) and (self.container == owner.container or by_id)


class Assignment(NamedTuple):
    """The exclusive CPUs of containers, and the shared pool; None if unknown."""

    own: Mapping[ContainerReference, CPUSet] = {}
    pool: CPUSet | None = None


def by_assignment(members: Iterable[RunningContainer], assignment: Assignment) -> DesiredState:
    """Give every container its exclusive CPUs, and the pool to those without."""
    members = [member for member in members if member.owner.part is not ContainerRole.SANDBOX]
    holders = {place.pod for place in assignment.own}
    groups, left_out = [], []
    for member in members:
        owner = member.owner
        own = next((cpus for place in _places(owner) if (cpus := assignment.own.get(place))), None)
        if own is None and not owner.container and not holders.isdisjoint((owner.uid, owner.pod_name)):
            left_out.append(LeftOut(str(owner), NAMELESS))
        elif cpus := own or assignment.pool:
            path = member.group.path
            groups.append(
                DesiredGroup(path=path, owner=owner, cpus=cpus, exclusive=own is not None, shared=own is None)
            )
    return DesiredState(groups=tuple(groups), left_out=(*left_out, *_not_here(members, assignment.own)))


def _places(owner: Owner) -> Iterator[ContainerReference]:
    yield ContainerReference(owner.uid, owner.container)
    yield ContainerReference(owner.pod_name, owner.container)


def _not_here(members: Iterable[RunningContainer], places: Iterable[ContainerReference]) -> Iterator[LeftOut]:
    here = {place for member in members for place in _places(member.owner)}
    pods = {place.pod for place in here}
    for place in places:
        # In a running pod, init containers have ended: they need nothing.
        if place not in here and place.pod not in pods:
            yield LeftOut(str(place), NOT_HERE)


def by_reference(
    members: Sequence[RunningContainer],
    references: Mapping[ContainerReference, CPUSet],
    held: Mapping[str, Mapping[str, CPUSet]],
) -> DesiredState:
    """Give the named containers the named CPUs; if the state *held* CPUs for one, they are exclusive.

    Raise LookupError with the first name that no container has.
    """
    groups = []
    for place, cpus in references.items():
        found = [member for member in members if place.names(member.owner)]
        if not found:
            raise LookupError(str(place))
        for member in found:
            owner = member.owner
            exclusive = owner.container in held.get(owner.uid, {})
            groups.append(DesiredGroup(path=member.group.path, owner=owner, cpus=cpus, exclusive=exclusive))
    return DesiredState(groups=tuple(groups))
