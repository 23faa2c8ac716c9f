"""Reading the snapshot of a node: in the same way from the live node, a directory and a recording.

Rule for the files in which containers read their exclusive CPUs (``assigned.cpuset`` in volumes): KEP-6122;
``pkg/volume/downwardapi`` and ``pkg/volume/projected`` write below a pod's directory.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from cpuctl.audit.interrupts import read_interrupts
from cpuctl.audit.snapshot import (
    ClaimedCPUs,
    ConfiguredKubelet,
    ContainerProcess,
    DownwardFile,
    Expectations,
    KubeletState,
    NodeSnapshot,
    ObservedContainer,
    PreparedClaims,
    Task,
)
from cpuctl.capture.collected import Process, Progress
from cpuctl.capture.node.cpu_settings import read_cpu_settings
from cpuctl.capture.node.files import NodeFiles
from cpuctl.capture.node.processes import read_members, read_processes, recorded_processes
from cpuctl.cgroups.container_logs import LogName, by_container_id
from cpuctl.cgroups.groups import Cgroup, CpusetValues, read_groups
from cpuctl.cgroups.hierarchies import Hierarchies, find_hierarchies
from cpuctl.cgroups.names import KUBEPODS, Driver, Level, group_path, root_components
from cpuctl.cgroups.owners import KnownNames, Owner, find_owners
from cpuctl.cpuset import CPUSet
from cpuctl.errors import InputError
from cpuctl.machine.kernel_text import parse_cpu_list
from cpuctl.machine.model import Machine
from cpuctl.machine.recording_layout import (
    CONTAINER_LOGS,
    DOWNWARD_API_VOLUMES,
    PROCESSES,
    PROJECTED_VOLUMES,
    STATE_DIRECTORY,
    prepared_claims_file,
)
from cpuctl.pods.model import ResourceFieldRef, StoredPod
from cpuctl.pods.rules import ASSIGNED_CPUSET


class NodeContext(NamedTuple):
    """The facts known about a node before its files are read; ``pods`` is None if not given.

    ``kubelet_roots`` are the possible kubelet directories, without the leading slash.
    ``runtime`` are names of containers by their ids, from a container runtime.
    """

    machine: Machine
    state: KubeletState = KubeletState()
    configured: ConfiguredKubelet = ConfiguredKubelet()
    pods: Mapping[str, StoredPod] | None = None
    cgroup_root: str = ""
    live: bool = False
    kubelet_roots: tuple[str, ...] = (STATE_DIRECTORY,)
    runtime: Mapping[str, LogName] = {}


def take_snapshot(files: NodeFiles, known: NodeContext, progress: Progress) -> NodeSnapshot:
    """Read control groups, threads and interrupts; unreadable files are recorded in *files*.

    Raise InputError for content that no kernel and no recording has.
    """
    hierarchies, groups, host_groups = node_groups(files, known.cgroup_root, progress)
    processes = all_processes(files, progress, live=known.live)
    snapshot = _snapshot_of_groups(files, known, groups, processes)
    balanced = any(thread.comm == "irqbalance" for process in processes for thread in process.threads)
    interrupts = read_interrupts(files, progress, exclusive=snapshot.exclusive, balanced=balanced)
    downward = read_downward_files(files, known.pods or {}, known.kubelet_roots, live=known.live)
    return snapshot._replace(
        hierarchies=hierarchies,
        host_groups=host_groups,
        interrupts=interrupts,
        downward_files=tuple(downward),
        cpu_settings=read_cpu_settings(files),
    )


def take_group_snapshot(
    files: NodeFiles, known: NodeContext, progress: Progress, pods: Container[str] | None = None
) -> NodeSnapshot:
    """Read control groups, of some *pods* (UIDs) or all, and of processes only what identifies their owner.

    Reading the memory map of a process stops it for a moment, which must not disturb a running container.
    """
    hierarchies, groups, _ = node_groups(files, known.cgroup_root, progress, pods)
    containers = {path for path, group in groups.items() if group.role.level is Level.CONTAINER}
    processes = tuple(read_members(files, containers, progress))
    return _snapshot_of_groups(files, known, groups, processes)._replace(hierarchies=hierarchies)


def _snapshot_of_groups(
    files: NodeFiles, known: NodeContext, groups: Mapping[str, Cgroup], processes: Sequence[Process]
) -> NodeSnapshot:
    owners = group_owners(files, known, processes, groups)
    prepared = read_prepared(files)
    claims = ClaimedCPUs(prepared, known.state.claims, known.pods or {}) if prepared else None
    tasks, expectations = tasks_by_group(processes, groups), Expectations(known.state, claims)
    return NodeSnapshot(
        machine=known.machine,
        groups=groups,
        owners=owners,
        containers=tuple(
            ObservedContainer(
                owner=owners[path],
                group=groups[path],
                expected=expectations.of(owners[path]),
                below=below,
                tasks=tasks.tasks.get(path, ()),
                processes=tasks.processes.get(path, ()),
            )
            for path, below in _containers(groups).items()
        ),
        others=tasks.others,
        pods=known.pods or {},
        pods_known=known.pods is not None,
        state=known.state,
        configured=known.configured,
        prepared=prepared,
    )


def read_prepared(files: NodeFiles) -> PreparedClaims | None:
    """Read what the driver for CPUs has prepared; None if it does not run on the node."""
    found = prepared_claims_file(files.read)
    if found is None:
        return None

    from cpuctl.dra.cdi import decode_cdi

    path, text = found
    try:
        return PreparedClaims(path, decode_cdi(text, path))
    except InputError as error:
        return PreparedClaims(path, problem=str(error))


def node_groups(
    files: NodeFiles, cgroup_root: str, progress: Progress, pods: Container[str] | None = None
) -> tuple[Hierarchies | None, dict[str, Cgroup], dict[str, CpusetValues]]:
    """Find the hierarchies, and read all groups below the kubelet's own ``kubepods`` by path.

    If there are no such groups below *cgroup_root*, all on the node are read. The result includes the CPU
    sets of other groups that have their own.
    """
    hierarchies = find_hierarchies(files)
    if hierarchies is None:
        return None, {}, {}
    groups, others = read_groups(files, hierarchies, lambda done: progress("cgroups", done, 0), pods)
    components = (*root_components(cgroup_root), KUBEPODS)
    tops = {_path(components, driver) for driver in Driver} & {group.path for group in groups}
    # A node whose driver was changed has both trees, one of them without pods.
    own = tuple(f"{top}/" for top in tops) or ("/",)
    ours = {group.path: group for group in groups if f"{group.path}/".startswith(own)}
    foreign = {group.path: group.cpuset for group in groups if group.path not in ours and group.cpuset.cpus}
    return hierarchies, ours, {**others, **foreign}


def _path(components: Sequence[str], driver: Driver) -> str:
    try:
        return group_path(components, driver)
    except ValueError:  # a name with which no kubelet starts
        return ""


def all_processes(files: NodeFiles, progress: Progress, *, live: bool) -> tuple[Process, ...]:
    """Read every process, from the recording if there is one; on the live node all but this one."""
    text = files.read(PROCESSES)
    if text is not None and not live:
        return tuple(recorded_processes(text))
    processes, area = read_processes(files, progress)
    for note in area.notes:
        files.refuse("proc", note)
    return tuple(process for process in processes if not (live and process.pid == os.getpid()))


def group_owners(
    files: NodeFiles, known: NodeContext, processes: Iterable[Process], groups: Mapping[str, Cgroup]
) -> dict[str, Owner]:
    """Return the owner of every group, from the pods' down, by path."""
    return find_owners(
        groups.values(),
        KnownNames(
            pods=known.pods or {},
            logs=by_container_id(files.names(CONTAINER_LOGS)),
            sandboxes=sandbox_ids(processes, groups),
            assigned=known.state.cpu.entries if known.state.cpu else {},
            runtime=known.runtime,
        ),
    )


def _containers(groups: Mapping[str, Cgroup]) -> dict[str, tuple[Cgroup, ...]]:
    """Return the groups below every container's own group, by that group's path."""
    found: dict[str, list[Cgroup]] = {}
    current = ""
    for path, group in groups.items():
        if group.role.level is Level.CONTAINER:
            current = path
            found[current] = []
        elif current and path.startswith(f"{current}/"):
            # A group follows its parent, and everything below it precedes its siblings.
            found[current].append(group)
    return {path: tuple(below) for path, below in found.items()}


_NOWHERE = frozenset({"", ".", ".."})


def read_downward_files(
    files: NodeFiles, pods: Mapping[str, StoredPod], roots: Iterable[str], *, live: bool
) -> Iterator[DownwardFile]:
    """Read the files of all *pods* by UID that have not ended; the kubelet's directory is one of *roots*.

    Paths outside of the volume are skipped: the API server rejects them.
    """
    for pod in pods.values():
        for ref in pod.field_refs if not pod.terminal else ():
            if ref.in_file and ref.resource == ASSIGNED_CPUSET and (below := _place(pod.uid, ref)):
                yield _read(files, pod.uid, ref, [f"{root}/{below}" for root in roots], live=live)


def _place(uid: str, ref: ResourceFieldRef) -> str:
    """Return the path of a file below the kubelet's directory; empty if it would be elsewhere."""
    if "/" in uid or "/" in ref.volume or not _NOWHERE.isdisjoint((uid, ref.volume, *ref.name.split("/"))):
        return ""
    kind = PROJECTED_VOLUMES if ref.projected else DOWNWARD_API_VOLUMES
    return f"pods/{uid}/volumes/{kind}/{ref.volume}/{ref.name}"


def _read(files: NodeFiles, uid: str, ref: ResourceFieldRef, paths: list[str], *, live: bool) -> DownwardFile:
    file = DownwardFile(uid=uid, container=ref.container, path=paths[0])
    for path in paths:
        text = files.read(path)
        if text is not None or path in files.refused:
            return file._replace(path=path, text=text, looked_at=text is not None)
    # A recording may lack volumes: if it has this one, it has its files.
    volumes = (path.removesuffix(f"/{ref.name}") for path in paths)
    return file._replace(looked_at=live or any(files.names(volume) for volume in volumes))


# Threads sorted by the control groups that they run in.

_PAUSE = frozenset({"pause"})
_LONGEST_PATH = 4096  # PATH_MAX of Linux
_OUTSIDE = "/.."
"""The prefix of the path of a group outside of the reader's namespace (*cgroup_namespaces(7)*)."""


class TasksByGroup:
    """Threads and processes by the path of their container's group, and the threads outside containers."""

    def __init__(self) -> None:
        self.tasks: dict[str, list[Task]] = {}
        self.processes: dict[str, list[ContainerProcess]] = {}
        self.others: list[Task] = []


def tasks_by_group(processes: Iterable[Process], groups: Mapping[str, Cgroup]) -> TasksByGroup:
    """Assign every thread to the container in or below whose group its process is."""
    found, sets, homes = TasksByGroup(), _Sets(), _Homes(groups)
    for process in processes:
        home = homes.of(process.cgroup)
        tasks = list(_tasks(process, sets))
        if home:
            found.tasks.setdefault(home, []).extend(tasks)
            leader = ContainerProcess(process.pid, process.started, process.memory)
            found.processes.setdefault(home, []).append(leader)
        else:
            found.others.extend(tasks)
    return found


def sandbox_ids(processes: Iterable[Process], groups: Mapping[str, Cgroup]) -> frozenset[str]:
    """Return the ids of the containers in which only ``pause`` runs."""
    names: dict[str, set[str]] = {}
    for process in processes:
        group = groups.get(process.cgroup)
        if group is not None and group.role.level is Level.CONTAINER:
            comms = names.setdefault(group.role.container_id, set())
            comms.update(thread.comm for thread in process.threads)
    return frozenset(container for container, comms in names.items() if comms == _PAUSE)


class _Homes:
    """Finds the containers that groups belong to."""

    def __init__(self, groups: Mapping[str, Cgroup]) -> None:
        self._containers = {path for path, group in groups.items() if group.role.level is Level.CONTAINER}
        self._by_name = {path.rpartition("/")[2]: path for path in self._containers}
        self._known: dict[str, str] = {}

    def of(self, path: str) -> str:
        """Return the path of the container's group at or above a group; empty if there is no such group."""
        if path not in self._known:
            self._known[path] = self._find(path) if len(path) <= _LONGEST_PATH else ""
        return self._known[path]

    def _find(self, path: str) -> str:
        if path.startswith(_OUTSIDE):
            # Only the end of such a path is certain; container names are unique because of their ids.
            return next((self._by_name[part] for part in path.split("/") if part in self._by_name), "")
        while path and path not in self._containers:
            path = path.rpartition("/")[0]
        return path


def _tasks(process: Process, sets: _Sets) -> Iterator[Task]:
    for thread in process.threads:
        cpus = sets.parse(thread.cpus or "")
        if cpus:
            yield Task(
                pid=process.pid,
                tid=thread.tid,
                comm=thread.comm,
                group=_group(process.cgroup),
                cpus=cpus,
                kernel=process.kernel,
                fixed=process.fixed,
            )


def _group(path: str) -> str:
    """Return a path as the host sees it, as far as that is known inside a cgroup namespace."""
    if len(path) > _LONGEST_PATH:
        return "/"
    while path.startswith(f"{_OUTSIDE}/") or path == _OUTSIDE:
        path = path.removeprefix(_OUTSIDE)
    return path or "/"


class _Sets:
    """Parsed lists of CPUs: thousands of threads have the same few lists."""

    def __init__(self) -> None:
        self._known: dict[str, CPUSet] = {}

    def parse(self, text: str) -> CPUSet:
        """Parse a list; empty if it is not one."""
        if text not in self._known:
            try:
                self._known[text] = parse_cpu_list(text)
            except ValueError:
                self._known[text] = CPUSet()
        return self._known[text]
