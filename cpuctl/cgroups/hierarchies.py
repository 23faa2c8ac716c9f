"""The mounts of a node's control groups: one unified hierarchy (v2), or one for each controller (v1).

Files: *Documentation/admin-guide/cgroup-v2.rst* and *Documentation/admin-guide/cgroup-v1/*. A hybrid node,
which has both, is treated as v1, as in a kubelet. Mounts: ``/proc/self/mountinfo``
(*proc(5)*).
"""

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from cpuctl.machine.tree import Tree
from cpuctl.records import Record

CGROUPS = "sys/fs/cgroup"
CONTROLLERS = frozenset({"cpu", "cpuacct", "cpuset", "hugetlb", "memory", "pids"})
UNIFIED = "unified"
"""Where a hybrid node mounts its v2 hierarchy."""

_FILE_PREFIXES = CONTROLLERS | {
    "blkio", "cgroup", "debug", "devices", "dmem", "freezer", "io", "irq", "misc", "net_cls", "net_prio",
    "perf_event", "rdma",
}  # fmt: skip
_V1_FILES = frozenset({"notify_on_release", "release_agent", "tasks"})
_UNIT = (".slice", ".scope", ".service")

CGROUP_TYPES = {1: "cgroup", 2: "cgroup2"}
"""The file system's name by the version of control groups."""

_ESCAPE = r"\\([0-7]{3})"
_POINT = 4


def is_interface_file(name: str) -> bool:
    """Distinguish a control group's own files from its child groups, which no listing does."""
    prefix, _, rest = name.partition(".")
    ours = name in _V1_FILES or (prefix in _FILE_PREFIXES and rest != "")
    return ours and not name.endswith(_UNIT)


class Hierarchies(Record):
    """The roots of the relevant hierarchies, as paths in a tree; empty for those that do not exist."""

    version: Literal[1, 2]
    cpuset: str
    cpu: str
    memory: str
    hugetlb: str
    hybrid: bool = False


def find_hierarchies(tree: Tree) -> Hierarchies | None:
    """Find the mounts of a node; None if it has no control groups."""
    mounts = list(mount_points(tree.names(CGROUPS)))
    if mounts == [CGROUPS]:
        return Hierarchies(version=2, cpuset=CGROUPS, cpu=CGROUPS, memory=CGROUPS, hugetlb=CGROUPS)
    of = {part: mount for mount in mounts for part in mount.removeprefix(f"{CGROUPS}/").split(",")}
    if not of.keys() & CONTROLLERS:
        return None
    return Hierarchies(
        version=1,
        cpuset=of.get("cpuset", ""),
        cpu=of.get("cpu", ""),
        memory=of.get("memory", ""),
        hugetlb=of.get("hugetlb", ""),
        hybrid=UNIFIED in of,
    )


def mount_points(names: Sequence[str]) -> Iterator[str]:
    """Return the mounts among the *names* in the control groups' directory: one on v2, several on v1."""
    if "cgroup.controllers" in names:
        yield CGROUPS
        return
    joined = {part for name in names if "," in name for part in name.split(",")}
    for name in names:
        # `cpu` next to `cpu,cpuacct` is a link to it.
        if name == UNIFIED or (name not in joined and not CONTROLLERS.isdisjoint(name.split(","))):
            yield f"{CGROUPS}/{name}"


class Mount(Record):
    """A mount: its path, and the type of its file system."""

    point: str
    kind: str


def mount_of(mountinfo: str, path: str) -> Mount | None:
    """Return the mount that an absolute path without links is on; a later one hides an earlier."""
    on = [mount for mount in _mounts(mountinfo) if f"{path}/".startswith(f"{mount.point.rstrip('/')}/")]
    longest = max((len(mount.point) for mount in on), default=0)
    return next((mount for mount in reversed(on) if len(mount.point) == longest), None)


def _mounts(text: str) -> Iterator[Mount]:
    for line in text.splitlines():
        options, separator, tail = line.partition(" - ")
        fields, kinds = options.split(" "), tail.split(" ")
        if separator and len(fields) > _POINT:
            point = re.sub(_ESCAPE, lambda found: chr(int(found[1], 8)), fields[_POINT])
            yield Mount(point, kinds[0])
