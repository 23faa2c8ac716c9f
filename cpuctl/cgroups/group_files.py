"""Files of control groups on the live node: read, written, locked; where the threads of a group may run.

Rule: *Documentation/admin-guide/cgroup-v2.rst*: a value is one ``write()``, in place; nothing is renamed.

The lock is on the hierarchy itself, so that every view of it shares the lock; a file below ``/run`` would not
do: a container with the host's control groups has its own ``/run``.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from cpuctl.cpuset import CPUSet
from cpuctl.errors import NodeAccessError, unreadable

_ATTEMPTS = 6
_FIRST_PAUSE = 0.005
_MAX_TEXT = 1 << 20
_AGAIN = frozenset({errno.EAGAIN, errno.EBUSY})
GONE = frozenset({errno.ENOENT, errno.ENODEV, errno.ENOTDIR})
"""The kernel's errors for a group that has vanished: its container has ended."""


class GroupFiles(NamedTuple):
    """The groups of one mounted hierarchy: ``root`` is its mount point, ``pause`` waits some seconds."""

    root: Path
    pause: Callable[[float], None]

    def read(self, group: str, name: str) -> str | None:
        """Return a file's text without the newline at its end; None if there is no such file.

        Raise OSError for any other kernel error.
        """
        try:
            descriptor = os.open(self._path(group, name), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError as error:
            if error.errno in GONE:
                return None
            raise
        try:
            return _whole(descriptor).decode(errors="replace").rstrip("\n")
        except OSError as error:
            if error.errno in GONE:
                return None
            raise
        finally:
            os.close(descriptor)

    def has(self, group: str) -> bool:
        """Return whether a group exists."""
        return os.path.isdir(self._path(group, ""))  # noqa: PTH112  # as in all other calls

    def write(self, group: str, name: str, text: str) -> None:
        """Write a whole value at once; retry for a moment if the group is busy.

        Raise OSError with the kernel's error.
        """
        wait = _FIRST_PAUSE
        for left in reversed(range(_ATTEMPTS)):
            try:
                self._write_once(group, name, text)
            except OSError as error:
                if error.errno not in _AGAIN or not left:
                    raise
            else:
                return
            self.pause(wait)
            wait *= 2

    def _write_once(self, group: str, name: str, text: str) -> None:
        data = text.encode() + b"\n"
        # As a shell does it: the kernel ignores O_TRUNC.
        flags = os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(self._path(group, name), flags)
        try:
            if os.write(descriptor, data) != len(data):
                raise OSError(errno.EIO, "the kernel took only part of the value")
        finally:
            os.close(descriptor)

    def _path(self, group: str, name: str) -> str:
        """Return the path of a file; raise ValueError for a name that leads elsewhere."""
        parts = [part for part in group.split("/") if part]
        if ".." in parts or "/" in name:
            raise ValueError(f"{group!r} is not a cgroup below {self.root}")
        return os.path.join(self.root, *parts, name)  # noqa: PTH118  # a Path would be constructed for every write


def _whole(descriptor: int) -> bytes:
    """Read to the end: the kernel returns lists of tasks page by page."""
    text = b""
    while len(text) < _MAX_TEXT and (part := os.read(descriptor, _MAX_TEXT)):
        text += part
    return text


@contextmanager
def locked(hierarchy: Path) -> Iterator[None]:
    """Lock a mounted hierarchy in this context; the kernel unlocks it if the process is killed.

    Raise NodeAccessError if another cpuctl holds it.
    """
    try:
        handle = os.open(hierarchy, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise unreadable(error, str(hierarchy)) from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise NodeAccessError(
                "another cpuctl is writing here", where=str(hierarchy), hint="try again"
            ) from None
        yield
    finally:
        os.close(handle)


_THREADS = ("cgroup.threads", "tasks", "cgroup.procs")
"""v2, v1, and the file that v2 still has for a group whose threads it cannot list."""
_ALLOWED = re.compile(r"^Cpus_allowed_list:[ \t]*(\S*)", re.MULTILINE)


class StrayThread(NamedTuple):
    """A thread that may run outside its group's CPUs."""

    tid: int
    group: str
    cpus: CPUSet


def stray_threads(files: GroupFiles, proc: Path, sets: Iterable[tuple[str, CPUSet]]) -> Iterator[StrayThread]:
    """Yield threads that may run outside their group's CPUs; those that end in the meantime are skipped."""
    for group, cpus in sets:
        for tid in _threads(files, group):
            allowed = _allowed(proc, tid)
            if allowed is not None and not allowed <= cpus:
                yield StrayThread(tid, group, allowed)


def _threads(files: GroupFiles, group: str) -> list[int]:
    for name in _THREADS:
        try:
            text = files.read(group, name)
        except OSError as error:
            if error.errno != errno.EOPNOTSUPP:
                raise
            continue
        if text is not None:
            # 0 is a thread of another PID namespace, which cannot be queried.
            return [int(word) for word in text.split() if word.isdecimal() and word != "0"]
    return []


def _allowed(proc: Path, tid: int) -> CPUSet | None:
    try:
        found = _ALLOWED.search((proc / str(tid) / "status").read_text(errors="replace"))
        return CPUSet.parse(found[1]) if found else None
    except (OSError, ValueError):
        return None
