"""The node to record: its file tree, and what none of its files contain."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from cpuctl.capture.collected import Area, Collected, Progress, no_progress
from cpuctl.capture.kubelet.files import record_kubelet, record_volumes
from cpuctl.capture.node.cpu_settings import record_cpu_settings
from cpuctl.capture.node.files import Follow, NodeFiles
from cpuctl.capture.node.interrupts import record_interrupts
from cpuctl.capture.node.processes import read_processes
from cpuctl.capture.node.topology import record_topology
from cpuctl.cgroups.container_logs import log_names
from cpuctl.cgroups.hierarchies import CGROUPS, UNIFIED, is_interface_file, mount_points
from cpuctl.machine.recording_layout import CONTAINER_LOGS
from cpuctl.machine.tree import DirectoryTree, Tree


class Node(NamedTuple):
    """What to record: ``kubelet_version`` is a version and the program that reported it, empty if unknown.

    ``architecture`` is used if the kernel has no file that names it (before Linux 6.1).
    """

    tree: Tree
    follow: Follow
    live: bool = False
    architecture: str = ""
    kubelet_version: tuple[str, str] = ("", "")


def live_node() -> Node:
    """Return the node on which this process runs."""
    from cpuctl.capture.kubelet.running import installed_version

    tree = DirectoryTree(Path("/"))
    architecture = os.uname().machine
    version = installed_version()
    return Node(
        tree=tree, follow=tree.followed, live=True, architecture=architecture, kubelet_version=version
    )


def recorded_node(root: Path) -> Node:
    """Return the node whose files are below *root*; none of its programs are run."""
    tree = DirectoryTree(root)
    return Node(tree=tree, follow=tree.followed)


def record(node: Node, progress: Progress = no_progress) -> Collected:
    """Record a node; what cannot be read is listed, never an error."""
    files = NodeFiles(node.tree, node.follow)
    topology = record_topology(files, progress, architecture=node.architecture)
    interrupts = record_interrupts(files, progress)
    cgroups = record_cgroups(files, progress)
    processes, process_area = read_processes(files, progress)
    kubelet, kubelet_area = record_kubelet(files, processes, node.kubelet_version)
    volumes = record_volumes(files, kubelet.root_directory)
    return Collected(
        live=node.live,
        members=files.members,
        processes=processes,
        kubelet=kubelet,
        areas=(topology, kubelet_area, cgroups, process_area, interrupts, volumes, *_limits(files)),
        unreadable=files.unreadable,
    )


def _limits(files: NodeFiles) -> tuple[Area, ...]:
    if not files.left_out:
        return ()
    note = f"{files.left_out} files are left out because the archive would be too large to read"
    return (Area(name="limits", entries=0, notes=(note,)),)


# The control groups that a kubelet creates, and the limits of the groups above them.
#
# File names: *Documentation/admin-guide/cgroup-v2.rst* and *Documentation/admin-guide/cgroup-v1/*.

MAX_CGROUPS = 20_000
MAX_VISITED = 200_000
_MAX_DEPTH = 40

_CPUSETS = """
cgroup.controllers cgroup.subtree_control
cpuset.cpus cpuset.cpus.effective cpuset.cpus.exclusive cpuset.cpus.exclusive.effective
cpuset.cpus.isolated cpuset.cpus.partition cpuset.mems cpuset.mems.effective
cpuset.cpu_exclusive cpuset.effective_cpus cpuset.effective_mems cpuset.memory_migrate
cpuset.sched_load_balance
"""
_VALUES = """
cgroup.type cpu.idle cpu.max cpu.max.burst cpu.weight
memory.high memory.low memory.max memory.min memory.oom.group memory.swap.max
cpu.cfs_burst_us cpu.cfs_period_us cpu.cfs_quota_us cpu.shares
memory.limit_in_bytes memory.memsw.limit_in_bytes memory.soft_limit_in_bytes
pids.max
"""
_CPUSET_FILES = frozenset(_CPUSETS.split())
_FILES = _CPUSET_FILES.union(_VALUES.split())
_DECIDING = ("cpuset.cpus", "cpuset.cpus.partition", "cpuset.cpus.exclusive")
_HUGETLB_FILE = re.compile(
    r"hugetlb\.[0-9]+[KMGTP]?B\.((rsvd\.)?(max|limit_in_bytes)|current|usage_in_bytes|numa_stat)", re.ASCII
)


def record_cgroups(files: NodeFiles, progress: Progress) -> Area:
    """Record all groups at and below any ``kubepods``, and the CPU sets of the groups above them.

    On version 2, also record the CPU sets of other groups with their own lists: a partition has its CPUs
    exclusively. Also recorded are the CPU settings in systemd's files, and container names as far as the
    kubelet's links to container logs show them.
    """
    before = len(files.members)
    walk = _Walk(files, progress)
    hierarchies = list(mount_points(files.names(CGROUPS)))
    for hierarchy in hierarchies:
        _record_hierarchy(files, walk, hierarchy)
    for name in list(log_names(files.names(CONTAINER_LOGS)))[:MAX_CGROUPS]:
        files.keep(f"{CONTAINER_LOGS}/{name}", "")
    record_cpu_settings(files)
    notes = [f"cgroup version {_version(hierarchies)}", *walk.notes()]
    return Area(
        name="cgroups",
        entries=len(files.members) - before,
        counts={"cgroups": walk.recorded},
        notes=tuple(notes) if hierarchies else (),
    )


def _version(hierarchies: Sequence[str]) -> str:
    if hierarchies == [CGROUPS]:
        return "2"
    return "1 and 2 (hybrid)" if f"{CGROUPS}/{UNIFIED}" in hierarchies else "1"


def _record_hierarchy(files: NodeFiles, walk: _Walk, root: str) -> None:
    files.copy_some(root, _CPUSET_FILES)
    above: set[str] = set()
    for group in walk.groups(root):
        if "kubepods" not in group.path.removeprefix(root):
            if _has_own_set(files, group):
                above.add(group.path)
            continue
        above.update(_groups_above(group.path, root))
        for name in group.files:
            if name in _FILES or _HUGETLB_FILE.fullmatch(name):
                files.copy(f"{group.path}/{name}")
    for path in sorted(above):
        files.copy_some(path, _CPUSET_FILES)


def _has_own_set(files: NodeFiles, group: _Group) -> bool:
    """Return whether a group of the host has its own list, or is configured as a partition."""
    if "cpuset.cpus.partition" not in group.files:
        return False
    texts = {name: files.read(f"{group.path}/{name}") for name in _DECIDING if name in group.files}
    return any((text or "").strip() not in ("", "member") for text in texts.values())


def _groups_above(path: str, root: str) -> Iterator[str]:
    """Name the groups between the root and the first ``kubepods``."""
    parent = path.rpartition("/")[0]
    while parent != root and "kubepods" not in parent.removeprefix(root):
        yield parent
        parent = parent.rpartition("/")[0]


class _Group(NamedTuple):
    path: str
    files: tuple[str, ...]


@dataclass(slots=True)
class _Walk:
    """A bounded search through the hierarchies: ``kubepods`` may be at any depth, as in kind."""

    node: NodeFiles
    progress: Progress
    recorded: int = 0
    visited: int = 0
    limits: set[str] = field(default_factory=set)

    def groups(self, root: str) -> Iterator[_Group]:
        """Yield every group below the root, parents first; the kubelet's only as far as recorded."""
        waiting = [(root, 0)]
        while waiting:
            path, depth = waiting.pop()
            names = self._visit(path, depth)
            if not names:
                continue
            own = tuple(name for name in names if is_interface_file(name))
            if path != root and ("kubepods" not in path.removeprefix(root) or self._has_room()):
                yield _Group(path, own)
            groups = sorted(set(names) - set(own), reverse=True)
            waiting.extend((f"{path}/{name}", depth + 1) for name in groups)

    def notes(self) -> list[str]:
        """Return which limits were reached."""
        return sorted(self.limits)

    def _visit(self, path: str, depth: int) -> Sequence[str]:
        if depth > _MAX_DEPTH or self.visited >= MAX_VISITED:
            self.limits.add(f"only {MAX_VISITED} cgroups, up to {_MAX_DEPTH} levels deep, were checked")
            return ()
        self.visited += 1
        self.progress("cgroups", self.visited, 0)
        return self.node.names(path)

    def _has_room(self) -> bool:
        if self.recorded >= MAX_CGROUPS:
            self.limits.add(f"only the first {MAX_CGROUPS} kubelet cgroups are recorded")
            return False
        self.recorded += 1
        return True
