"""Threads sorted by the control groups that they run in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from cpuctl.audit.snapshot import ContainerProcess, Task
from cpuctl.capture.collected import Process
from cpuctl.cgroups.groups import Cgroup
from cpuctl.cgroups.names import Level
from cpuctl.cpuset import CPUSet
from cpuctl.machine.kernel_text import parse_cpu_list

_PAUSE = frozenset({"pause"})
_LONGEST_PATH = 4096  # PATH_MAX of Linux
_OUTSIDE = "/.."
"""How the path of a group outside of the reader's namespace begins (*cgroup_namespaces(7)*)."""


class TasksByGroup:
    """Threads and processes by the path of their container's group, and the threads of no container."""

    def __init__(self) -> None:
        self.tasks: dict[str, list[Task]] = {}
        self.processes: dict[str, list[ContainerProcess]] = {}
        self.others: list[Task] = []


def tasks_by_group(processes: Iterable[Process], groups: Mapping[str, Cgroup]) -> TasksByGroup:
    """Give every thread to the container in whose group, or below it, its process is."""
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
    """Return the ids of the containers in which nothing but ``pause`` runs."""
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
        """Return the path of the container's group at or above a group; empty where there is none."""
        if path not in self._known:
            self._known[path] = self._find(path) if len(path) <= _LONGEST_PATH else ""
        return self._known[path]

    def _find(self, path: str) -> str:
        if path.startswith(_OUTSIDE):
            # Only the end of such a path is certain; the names of containers are unique by their ids.
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
    """Return a path as the host has it, as far as that can be told from inside a cgroup namespace."""
    if len(path) > _LONGEST_PATH:
        return "/"
    while path.startswith(f"{_OUTSIDE}/") or path == _OUTSIDE:
        path = path.removeprefix(_OUTSIDE)
    return path or "/"


class _Sets:
    """Lists of CPUs, of which thousands of threads have the same few."""

    def __init__(self) -> None:
        self._known: dict[str, CPUSet] = {}

    def parse(self, text: str) -> CPUSet:
        """Read a list; nothing for what is none."""
        if text not in self._known:
            try:
                self._known[text] = parse_cpu_list(text)
            except ValueError:
                self._known[text] = CPUSet()
        return self._known[text]
