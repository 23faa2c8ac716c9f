"""The owner of a control group: the pod and container that it was made for, from the best source available.

A group's path has the pod's UID and the container's id. The container's name comes from the pod's status,
else from the kubelet's link to its log, else from the CPUs that the kubelet's state gives to one of the pod's
containers only. Groups of the pods' sandboxes look like those of containers.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from cpuctl.cgroups.container_logs import LogName
from cpuctl.cgroups.groups import Cgroup
from cpuctl.cgroups.names import Level
from cpuctl.cpuset import CPUSet
from cpuctl.pods.model import ContainerKind, Pod
from cpuctl.pods.running import ContainerStatus, RunState
from cpuctl.records import Record


class ContainerRole(StrEnum):
    """The kind of a container in its pod."""

    APP = "app"
    INIT = "init"
    SIDECAR = "sidecar"
    EPHEMERAL = "ephemeral"
    SANDBOX = "sandbox"
    UNKNOWN = "unknown"


class NameSource(StrEnum):
    """The source of a container's name."""

    STATUS = "status"
    LOG = "log"
    RUNTIME = "runtime"
    STATE = "state"
    PROCESS = "process"


_PARTS = {
    ContainerKind.APP: ContainerRole.APP,
    ContainerKind.INIT: ContainerRole.INIT,
    ContainerKind.SIDECAR: ContainerRole.SIDECAR,
}


class Owner(NamedTuple):
    """The owner of a group, as far as known: unknown names are empty."""

    uid: str
    namespace: str = ""
    pod: str = ""
    container: str = ""
    container_id: str = ""
    runtime: str = ""
    part: ContainerRole = ContainerRole.UNKNOWN
    known_by: NameSource | None = None

    @property
    def pod_name(self) -> str:
        """``namespace/name``, or the UID if the name is unknown."""
        return f"{self.namespace}/{self.pod}" if self.pod else self.uid

    @property
    def name(self) -> str:
        """The container's name, or its short id."""
        return self.container or (
            ContainerRole.SANDBOX if self.part is ContainerRole.SANDBOX else self.container_id[:12]
        )

    def __str__(self) -> str:
        return f"{self.pod_name}/{self.name}" if self.name else self.pod_name


class KnownNames(Record):
    """The sources of names: pods by UID, links to logs and ids of sandboxes, exclusive CPUs in the state.

    ``runtime`` are a container runtime's names from another time, by container id.
    """

    pods: Mapping[str, Pod] = {}
    logs: Mapping[str, LogName] = {}
    sandboxes: frozenset[str] = frozenset()
    assigned: Mapping[str, Mapping[str, CPUSet]] = {}
    runtime: Mapping[str, LogName] = {}


def find_owners(groups: Iterable[Cgroup], known: KnownNames) -> dict[str, Owner]:
    """Return the owner of every group from the pods' down, by path."""
    groups = [group for group in groups if group.role.uid]
    finder = _Finder(known)
    containers = [group for group in groups if group.role.level is Level.CONTAINER]
    owners = {group.path: finder.by_id(group) for group in containers}
    owners |= {path: _sandbox(owners[path]) for path in finder.left_over(containers, owners)}
    owners |= finder.by_cpus([group for group in containers if _is_nameless(owners[group.path])])
    names = _pod_names(owners.values(), known.pods)
    found = {}
    for group in groups:
        owner = owners.get(group.path) or _below_or_above(group, owners)
        found[group.path] = owner if owner.pod else _with_pod(owner, names)
    return found


def _is_nameless(owner: Owner) -> bool:
    return not owner.container and owner.part is not ContainerRole.SANDBOX


def _sandbox(owner: Owner) -> Owner:
    return owner._replace(part=ContainerRole.SANDBOX, known_by=NameSource.STATUS)


def _below_or_above(group: Cgroup, owners: Mapping[str, Owner]) -> Owner:
    """Return the owner of a pod's own group, or of one below a container's first group."""
    role = group.role
    path = group.path
    while path and path not in owners:
        path = path.rpartition("/")[0]
    if path:
        return owners[path]
    return Owner(uid=role.uid, container_id=role.container_id, runtime=role.runtime)


def _pod_names(owners: Iterable[Owner], pods: Mapping[str, Pod]) -> dict[str, tuple[str, str]]:
    names = {owner.uid: (owner.namespace, owner.pod) for owner in owners if owner.pod}
    return names | {uid: (pod.namespace, pod.name) for uid, pod in pods.items()}


def _with_pod(owner: Owner, names: Mapping[str, tuple[str, str]]) -> Owner:
    namespace, pod = names.get(owner.uid, ("", ""))
    return owner._replace(namespace=namespace, pod=pod)


class _Finder:
    """Finds the names of containers from the known sources."""

    def __init__(self, known: KnownNames) -> None:
        self.known = known
        self.statuses = {
            status.container_id: (pod, status)
            for pod in known.pods.values()
            for status in pod.statuses
            if status.container_id
        }
        self.taken: set[tuple[str, str]] = set()

    def by_id(self, group: Cgroup) -> Owner:
        """Look up a container's id."""
        role = group.role
        owner = Owner(uid=role.uid, container_id=role.container_id, runtime=role.runtime)
        if found := self.statuses.get(role.container_id):
            return self._named(owner, *found)
        if role.container_id in self.known.sandboxes:
            return owner._replace(part=ContainerRole.SANDBOX, known_by=NameSource.PROCESS)
        log, known_by = self.known.logs.get(role.container_id), NameSource.LOG
        if log is None:
            log, known_by = self.known.runtime.get(role.container_id), NameSource.RUNTIME
        if log is not None:
            self.taken.add((owner.uid, log.container))
            pod = self.known.pods.get(owner.uid)
            return owner._replace(
                namespace=log.namespace,
                pod=log.pod,
                container=log.container,
                part=_part(pod, log.container),
                known_by=known_by,
            )
        return owner

    def _named(self, owner: Owner, pod: Pod, status: ContainerStatus) -> Owner:
        self.taken.add((owner.uid, status.name))
        return owner._replace(
            namespace=pod.namespace,
            pod=pod.name,
            container=status.name,
            runtime=owner.runtime or status.runtime,
            part=ContainerRole.EPHEMERAL if status.ephemeral else _part(pod, status.name),
            known_by=NameSource.STATUS,
        )

    def left_over(self, groups: Sequence[Cgroup], owners: Mapping[str, Owner]) -> Iterator[str]:
        """Yield the sandboxes: groups of pods all of whose running containers have other groups."""
        there = {group.role.container_id for group in groups}
        complete = {
            uid
            for uid, pod in self.known.pods.items()
            if (running := {each.container_id for each in pod.statuses if each.state is RunState.RUNNING})
            and running <= there
        }
        for group in groups:
            if group.role.uid in complete and _is_nameless(owners[group.path]):
                yield group.path

    def by_cpus(self, groups: Sequence[Cgroup]) -> dict[str, Owner]:
        """Name the containers that are the only ones in their pod with CPUs that occur once in the state."""
        equivalent = Counter((group.role.uid, group.cpuset.cpus) for group in groups)
        given: dict[tuple[str, CPUSet | None], list[str]] = {}
        for uid in {group.role.uid for group in groups} & self.known.assigned.keys():
            for name, assigned in self.known.assigned[uid].items():
                if (uid, name) not in self.taken:
                    given.setdefault((uid, assigned), []).append(name)
        found = {}
        for group in groups:
            role, cpus = group.role, group.cpuset.cpus
            names = given.get((role.uid, cpus), [])
            if len(names) == equivalent[role.uid, cpus] == 1:
                found[group.path] = Owner(
                    uid=role.uid,
                    container=names[0],
                    container_id=role.container_id,
                    runtime=role.runtime,
                    part=_part(self.known.pods.get(role.uid), names[0]),
                    known_by=NameSource.STATE,
                )
        return found


def _part(pod: Pod | None, name: str) -> ContainerRole:
    kinds = (each.kind for each in pod.all_containers if each.name == name) if pod else ()
    return next((_PARTS[kind] for kind in kinds), ContainerRole.UNKNOWN)
