"""Read-only file trees: the live node, a recording of one, or texts in memory, read all the same way.

Paths are relative to the tree's root and written without a leading slash: ``sys/devices/system/cpu/online``.
"""

from __future__ import annotations

import errno
import os
import stat
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from cpuctl.errors import InputError, unreadable

MAX_FILE_BYTES = 32 << 20
"""The largest file read: /proc/cpuinfo of 8192 CPUs has about 16 MB."""

_CHUNK = 1 << 16
_NOT_THERE = (FileNotFoundError, NotADirectoryError, ProcessLookupError)
"""The last is what procfs says of a process that has ended since its directory was found."""


class Tree(Protocol):
    """What a reader needs of a file tree; a path that is not there is an answer, not an error."""

    def read(self, path: str) -> str | None:
        """Return the whole text of a regular file, or None where there is none."""

    def names(self, path: str) -> Sequence[str]:
        """Return the sorted names in a directory (links included), empty where there is none."""


class DirectoryTree:
    """A directory on disk: ``/`` for the live node, or a recording, whose links never lead out of it."""

    def __init__(self, root: Path) -> None:
        self._prefix = os.path.realpath(root).rstrip("/") + "/"
        self._resolved: dict[str, str | None] = {}

    def read(self, path: str) -> str | None:
        """Return the text of a file; raise CpuctlError where it exists and cannot be read."""
        parent, _, name = path.rpartition("/")
        directory = self._real_directory(parent)
        if directory is None:
            return None
        try:
            data = _read_regular_file(f"{directory}/{name}", MAX_FILE_BYTES)
        except _NOT_THERE:
            return None
        except OSError as error:
            raise unreadable(error, path) from None
        if data is None:
            return None
        if len(data) > MAX_FILE_BYTES:
            raise InputError(f"is larger than {MAX_FILE_BYTES >> 20} MiB", where=path)
        return data.decode(errors="replace")

    def names(self, path: str) -> Sequence[str]:
        """Return the names in a directory; raise CpuctlError where it exists and cannot be listed."""
        directory = self._real_directory(path)
        if directory is None:
            return ()
        try:
            with os.scandir(directory) as entries:
                return sorted(entry.name for entry in entries)
        except _NOT_THERE:
            return ()
        except OSError as error:
            raise unreadable(error, path) from None

    def followed(self, path: str) -> str | None:
        """Return where the links of a path lead, itself without links; None when that is outside the root."""
        real = self._real_path(path)
        return None if real is None else f"{real}/".removeprefix(self._prefix).rstrip("/")

    def _real_directory(self, path: str) -> str | None:
        """Resolve a directory once; None when its links lead out of the root."""
        if path not in self._resolved:
            self._resolved[path] = self._real_path(path)
        return self._resolved[path]

    def _real_path(self, path: str) -> str | None:
        try:
            real = os.path.realpath(self._prefix + path)
        except RecursionError:  # more links, one behind the other, than any kernel follows
            return None
        return real if f"{real}/".startswith(self._prefix) else None


def _read_regular_file(path: str, limit: int) -> bytes | None:
    """Read a file, or a little more than *limit* of it; None for a link, a pipe or a device."""
    try:
        # Opening alone can change things: a watchdog starts to count, a pipe's writer wakes up.
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return None
        # Should it have become a pipe meanwhile: without O_NONBLOCK, that would wait for a writer for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        if error.errno == errno.ELOOP:
            return None
        raise
    try:
        return _read_up_to(descriptor, limit) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    finally:
        os.close(descriptor)


def _read_up_to(descriptor: int, limit: int) -> bytes:
    # Sizes are not known beforehand: stat says 4096 for sysfs files and 0 for procfs files.
    chunks, length = [], 0
    while length <= limit and (chunk := os.read(descriptor, _CHUNK)):
        chunks.append(chunk)
        length += len(chunk)
    return b"".join(chunks)


class MemoryTree:
    """Texts by path; an entry whose text is None is a link, listed by name and not followed."""

    def __init__(self, files: Mapping[str, str | None]) -> None:
        self._files = files
        self._paths = sorted(files)

    def read(self, path: str) -> str | None:
        """Return the text stored under *path*."""
        return self._files.get(path)

    def names(self, path: str) -> Sequence[str]:
        """Return the names of all entries under *path*."""
        prefix = f"{path}/" if path else ""
        names = set()
        at = bisect_left(self._paths, prefix)
        while at < len(self._paths) and self._paths[at].startswith(prefix):
            name, slash, _ = self._paths[at][len(prefix) :].partition("/")
            names.add(name)
            # What is below a directory stands together; the next character after the slash is behind it.
            at = bisect_left(self._paths, f"{prefix}{name}0", at) if slash else at + 1
        return sorted(names)
