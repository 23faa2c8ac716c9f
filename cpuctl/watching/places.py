"""Which directories of a node the kernel is asked about, and which of its notices matter."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from cpuctl.audit.snapshot import NodeSnapshot
from cpuctl.cgroups.names import KUBEPODS, Level
from cpuctl.watching.notices import Notice, Notices, refusal
from cpuctl.watching.sampling import GROUP_FILES, GroupPlace, is_above_containers

_NOT_THERE = (FileNotFoundError, NotADirectoryError)


class Followed(NamedTuple):
    """Paths on a node, without a slash before them, whose changes the kernel is to report.

    Of *files* changes of themselves; of *directories* whatever comes and goes; of *groups* what somebody
    writes into them, and the groups that come and go right below; of *above* whether the kubelet's groups do.
    """

    files: tuple[str, ...] = ()
    directories: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    above: tuple[str, ...] = ()


def followed_groups(snapshot: NodeSnapshot) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Name the kubelet's groups down to containers, in the hierarchies that count, and what is above them."""
    mounts = _mounts(snapshot)
    groups = [group.path for group in snapshot.groups.values() if group.role.level is not Level.BELOW]
    above = dict.fromkeys([path.rpartition("/")[0] for path in _tops(snapshot)] or [""])
    return (
        tuple(f"{mount}{path}" for mount in mounts for path in groups),
        tuple(f"{mount}{path}" for mount in mounts for path in above),
    )


def topmost_groups(snapshot: NodeSnapshot) -> tuple[GroupPlace, ...]:
    """Name where a walk through all groups of the kubelet begins."""
    tops = _tops(snapshot)
    return tuple(GroupPlace(mount, path) for mount in _mounts(snapshot) for path in tops)


def _mounts(snapshot: NodeSnapshot) -> tuple[str, ...]:
    """Name where the hierarchies that count are mounted."""
    at = snapshot.hierarchies
    return tuple(dict.fromkeys(filter(None, (at.cpuset, at.cpu)))) if at else ()


def _tops(snapshot: NodeSnapshot) -> list[str]:
    return [group.path for group in snapshot.groups.values() if group.role.level is Level.KUBEPODS]


class Places:
    """What the kernel reports of a node below *root*; *real* says where the links of a path lead there."""

    def __init__(self, root: Path, real: Callable[[str], str | None]) -> None:
        self._root = str(root).rstrip("/")
        self._real = real
        self._notices: Notices | None = None
        self._names: dict[str, set[str]] = {}
        self._whole: set[str] = set()
        self._groups: set[str] = set()
        self._above: set[str] = set()
        self.problem = ""
        """Why the kernel does not report everything; empty where it does."""

    def follow(self, followed: Followed) -> bool:
        """Ask for notices of these paths, and no others; return whether there are more than before."""
        self._names = {}
        for path in followed.files:
            directory, _, name = path.rpartition("/")
            self._names.setdefault(self._at(directory), set()).add(name)
        self._whole, self._groups, self._above = (
            {self._at(path) for path in paths}
            for paths in (followed.directories, followed.groups, followed.above)
        )
        before = self._notices.directories if self._notices else frozenset()
        self._ask({*self._names, *self._whole, *self._groups, *self._above})
        return self._notices is not None and not self._notices.directories <= before

    def fileno(self) -> int | None:
        """Return the descriptor that can be read when there is a notice, None where there is none."""
        return self._notices.fileno() if self._notices else None

    def read(self) -> bool:
        """Take the notices that are there; return whether an audit may find something else after them."""
        matter = False
        for notice in self._notices.read() if self._notices else ():
            matter = self._matters(notice) or matter
        return matter

    def close(self) -> None:
        """Let go of what the kernel keeps."""
        if self._notices:
            self._notices.close()
            self._notices = None

    def _matters(self, notice: Notice) -> bool:
        directory, name = notice.directory, notice.name
        if not name or directory in self._whole or name in self._names.get(directory, ()):
            return True
        if directory in self._groups:
            # What a container makes below its group is its own business.
            ours = notice.of_directory and is_above_containers(directory)
            if ours and notice.made_directory:
                self._follow_new(f"{directory}/{name}")
            return ours or name in GROUP_FILES
        return directory in self._above and KUBEPODS in name

    def _follow_new(self, directory: str) -> None:
        """Follow a group that has come, and those that have come below it meanwhile."""
        assert self._notices is not None
        with suppress(OSError):  # it has gone already; a limit is noticed at the next look
            self._notices.add(directory)
            self._groups.add(directory)
            if is_above_containers(directory):
                for below in _directories(directory):
                    self._follow_new(below)

    def _ask(self, directories: Iterable[str]) -> None:
        try:
            self._notices = self._notices or Notices()
            self._notices.keep(directories)
            for directory in directories:
                with suppress(*_NOT_THERE):
                    self._notices.add(directory)
            self.problem = ""
        except OSError as error:
            self.problem = refusal(error)

    def _at(self, path: str) -> str:
        return f"{self._root}/{self._real(path) or path}".rstrip("/") or "/"


def _directories(path: str) -> Iterator[str]:
    with os.scandir(path) as entries:
        yield from (entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
