"""Which directories of a node are watched through the kernel, and which of its events matter."""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from ctypes import CDLL, get_errno
from pathlib import Path
from typing import NamedTuple

from cpuctl.audit.snapshot import NodeSnapshot
from cpuctl.cgroups.names import KUBEPODS, Level
from cpuctl.watching.sampling import GROUP_FILES, GroupPlace, is_above_containers

_NOT_THERE = (FileNotFoundError, NotADirectoryError)


class Followed(NamedTuple):
    """Paths on a node, without a leading slash, whose changes the kernel should report.

    For ``files``, their own changes; for ``directories``, any entry that appears or disappears; for
    ``groups``, writes to their files, and groups created and removed directly below; for ``above``, whether
    the kubelet's groups appear or disappear.
    """

    files: tuple[str, ...] = ()
    directories: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    above: tuple[str, ...] = ()


def followed_groups(snapshot: NodeSnapshot) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the kubelet's groups down to containers, in the relevant hierarchies, and those above them."""
    mounts = _mounts(snapshot)
    groups = [group.path for group in snapshot.groups.values() if group.role.level is not Level.BELOW]
    above = dict.fromkeys([path.rpartition("/")[0] for path in _tops(snapshot)] or [""])
    return (
        tuple(f"{mount}{path}" for mount in mounts for path in groups),
        tuple(f"{mount}{path}" for mount in mounts for path in above),
    )


def topmost_groups(snapshot: NodeSnapshot) -> tuple[GroupPlace, ...]:
    """Return the groups where a walk through all groups of the kubelet starts."""
    tops = _tops(snapshot)
    return tuple(GroupPlace(mount, path) for mount in _mounts(snapshot) for path in tops)


def _mounts(snapshot: NodeSnapshot) -> tuple[str, ...]:
    """Return where the relevant hierarchies are mounted."""
    at = snapshot.hierarchies
    return tuple(dict.fromkeys(filter(None, (at.cpuset, at.cpu)))) if at else ()


def _tops(snapshot: NodeSnapshot) -> list[str]:
    return [group.path for group in snapshot.groups.values() if group.role.level is Level.KUBEPODS]


class Places:
    """The kernel's notices about a node below *root*; *real* resolves the links of a path there."""

    def __init__(self, root: Path, real: Callable[[str], str | None]) -> None:
        self._root = str(root).rstrip("/")
        self._real = real
        self._notices: Notices | None = None
        self._names: dict[str, set[str]] = {}
        self._whole: set[str] = set()
        self._groups: set[str] = set()
        self._above: set[str] = set()
        self.problem = ""
        """Why the kernel does not report everything; empty if it does."""

    def follow(self, followed: Followed) -> bool:
        """Request notices for these paths, and no others; return whether there are new ones."""
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
        """Return the descriptor that becomes readable when there is a notice, or None if there is none."""
        return self._notices.fileno() if self._notices else None

    def read(self) -> bool:
        """Read the pending notices; return whether an audit may find something different after them."""
        matter = False
        for notice in self._notices.read() if self._notices else ():
            matter = self._matters(notice) or matter
        return matter

    def close(self) -> None:
        """Release the kernel's resources."""
        if self._notices:
            self._notices.close()
            self._notices = None

    def _matters(self, notice: Notice) -> bool:
        directory, name = notice.directory, notice.name
        if not name or directory in self._whole or name in self._names.get(directory, ()):
            return True
        if directory in self._groups:
            # Groups that a container creates below its own do not matter.
            ours = notice.of_directory and is_above_containers(directory)
            if ours and notice.made_directory:
                self._follow_new(f"{directory}/{name}")
            return ours or name in GROUP_FILES
        return directory in self._above and KUBEPODS in name

    def _follow_new(self, directory: str) -> None:
        """Follow a new group, and those that have been created below it meanwhile."""
        assert self._notices is not None
        with suppress(OSError):  # it was already removed; a limit is noticed at the next inspection
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


# Changes in directories as the kernel reports them (*inotify(7)*); Python's library has no binding.
#
# This includes control groups: what a process creates, removes or writes there by a system call, but not what
# the kernel changes itself.

_MODIFY, _MOVED, _CREATE, _DELETE = 0x002, 0x040 | 0x080, 0x100, 0x200
_DELETE_SELF, _MOVE_SELF = 0x400, 0x800
_OVERFLOW, _IGNORED, _DIRECTORY = 0x4000, 0x8000, 0x4000_0000
_ONLY_DIRECTORIES = 0x0100_0000
_WANTED = _MODIFY | _MOVED | _CREATE | _DELETE | _DELETE_SELF | _MOVE_SELF | _ONLY_DIRECTORIES
_HEAD = struct.Struct("iIII")
_FREE_SPACE_FIX = 1 << 16


class Notice(NamedTuple):
    """A notice of the kernel: the directory, and the name in it, empty for the directory itself.

    Both are empty if notices were lost. ``of_directory``: the name is or was that of a directory;
    ``made_directory``: this was created or moved.
    """

    directory: str
    name: str
    of_directory: bool = False
    made_directory: bool = False


class Notices:
    """An inotify instance; raise OSError if the kernel creates none, or accepts no more directories."""

    def __init__(self) -> None:
        # None is this process with everything that it has loaded, such as its C library.
        self._library = CDLL(None, use_errno=True)
        self._paths: dict[int, str] = {}
        self._handle = self._checked(self._library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when there is a notice."""
        return self._handle

    def add(self, directory: str) -> None:
        """Watch a directory; repeated calls have no further effect."""
        number = self._checked(self._library.inotify_add_watch(self._handle, os.fsencode(directory), _WANTED))
        self._paths[number] = directory

    @property
    def directories(self) -> frozenset[str]:
        """The directories whose changes are reported."""
        return frozenset(self._paths.values())

    def keep(self, directories: Iterable[str]) -> None:
        """Forget all other directories."""
        wanted = set(directories)
        for number in [number for number, path in self._paths.items() if path not in wanted]:
            del self._paths[number]
            self._library.inotify_rm_watch(self._handle, number)

    def read(self) -> Iterator[Notice]:
        """Read the pending notices, without waiting for any."""
        while True:
            try:
                data = os.read(self._handle, _FREE_SPACE_FIX)
            except BlockingIOError:
                return
            yield from self._notices(data)

    def close(self) -> None:
        """Release it."""
        os.close(self._handle)

    def _notices(self, data: bytes) -> Iterator[Notice]:
        at = 0
        while at < len(data):
            number, mask, _, length = _HEAD.unpack_from(data, at)
            at += _HEAD.size
            name = os.fsdecode(data[at : at + length].rstrip(b"\0"))
            at += length
            if mask & _OVERFLOW:
                yield Notice("", "")
            elif mask & _IGNORED:
                self._paths.pop(number, None)
            elif directory := self._paths.get(number):
                whether = bool(mask & _DIRECTORY)
                made = whether and bool(mask & (_CREATE | _MOVED))
                yield Notice(directory, name, of_directory=whether, made_directory=made)

    @staticmethod
    def _checked(result: int) -> int:
        if result < 0:
            number = get_errno()
            raise OSError(number, os.strerror(number))
        return result


def refusal(error: OSError) -> str:
    """Return why the kernel reports nothing, or no more directories."""
    limits = {
        errno.EMFILE: "the limit fs.inotify.max_user_instances is reached",
        errno.ENOSPC: "the limit fs.inotify.max_user_watches is reached",
    }
    return limits.get(error.errno or 0) or error.strerror or str(error)
