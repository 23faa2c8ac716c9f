"""Files that are written completely or not at all, whatever happens in between."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from secrets import token_hex
from typing import IO, NamedTuple

from cpuctl.errors import UsageError

PRIVATE = 0o600
"""The mode of a file that only its owner can access."""

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OF_ITS_CONTENT = re.compile(r"security\.(ima|evm|capability)|trusted\.overlay\..*")
"""Extended attributes that belong to a file's content, or to the file system, not to its place."""
_MOST_BACKUPS = 1000
_NO_ATTRIBUTES = {errno.EOPNOTSUPP, errno.ENOSYS}


class FileAttributes(NamedTuple):
    """The attributes of a file; ``owner`` is user and group."""

    mode: int
    owner: tuple[int, int]
    attributes: Mapping[str, bytes]


def attributes_of(name: str | Path, *, directory: int | None = None) -> FileAttributes:
    """Return mode, owner and extended attributes (SELinux labels, access lists) of a regular file.

    Raise UsageError for any other file: a link, for instance, is readable by everyone.
    """
    handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise UsageError("exists and is not a regular file", where=str(name), hint="specify another file")
        attributes = _attributes(f"/proc/self/fd/{handle}")  # an O_PATH descriptor has none
        return FileAttributes(stat.S_IMODE(found.st_mode), (found.st_uid, found.st_gid), attributes)
    finally:
        os.close(handle)


def _attributes(handle: str) -> dict[str, bytes]:
    try:
        names = os.listxattr(handle)
    except OSError as error:
        if error.errno in _NO_ATTRIBUTES:
            return {}
        raise
    found = {}
    for name in names:
        with suppress(PermissionError):  # unreadable ones cannot be kept: writing reports that
            if not _OF_ITS_CONTENT.fullmatch(name):
                found[name] = os.getxattr(handle, name)
    return found


@contextmanager
def temporary_file(
    path: Path,
    write: Callable[[IO[bytes]], object],
    *,
    like: FileAttributes | None,
    keep_owner: bool = True,
    mode: int = PRIVATE,
    directory: int | None = None,
) -> Iterator[Path]:
    """Write a file next to *path* for the caller to move there; remove it if it is not moved.

    It gets mode, owner and extended attributes of *like*, else the current user and *mode*. Without
    *keep_owner*, a user who may not change owners remains its owner. *directory* is the descriptor of the
    directory, if already open; the yielded path is in it. Leftovers of a killed run are removed.
    """
    own = os.open(path.parent, _DIRECTORY) if directory is None else directory
    try:
        _clean(path.name, own)
        handle, name = _made(path.name, own)
        try:
            with os.fdopen(handle, "wb") as file:
                write(file)
                file.flush()
                _put_on(file.fileno(), like, mode, keep_owner=keep_owner)
                os.fsync(file.fileno())
                yield path.with_name(name)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=own)
    finally:
        if directory is None:
            os.close(own)


def back_up(path: Path, now: datetime, directory: int) -> Path | None:
    """Give a file a second name with the time; return None if this second already has 1000 of them."""
    stem = f"{path.name}.{now:%Y%m%dT%H%M%SZ}"
    for number in range(1, _MOST_BACKUPS):
        backup = path.with_name(f"{stem}.bak" if number == 1 else f"{stem}-{number}.bak")
        with suppress(FileExistsError):
            os.link(path.name, backup.name, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
            return backup
    return None


def sync_directory(directory: Path | int) -> None:
    """Wait until the names in a directory are on disk: they must survive a power failure."""
    if isinstance(directory, int):
        os.fsync(directory)
        return
    handle = os.open(directory, _DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def hidden_link(path: Path, directory: int) -> Path:
    """Give a file a second name for a moment; if the process is killed, the next run removes it."""
    hidden = path.with_name(_stem(path.name) + token_hex(4))
    os.link(path.name, hidden.name, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
    return hidden


def _stem(name: str) -> str:
    return f".{name}.cpuctl-"


def _made(name: str, directory: int) -> tuple[int, str]:
    """Make a file under a hidden name; its lock shows that the writer is alive."""
    while True:
        hidden = _stem(name) + token_hex(4)
        handle = os.open(hidden, _NEW, PRIVATE, dir_fd=directory)
        with suppress(OSError):  # not every file system supports locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):  # another run removed it as a leftover
            if os.path.samestat(os.fstat(handle), os.stat(hidden, dir_fd=directory, follow_symlinks=False)):
                return handle, hidden
        os.close(handle)


def _clean(name: str, directory: int) -> None:
    """Remove leftovers of killed runs next to a file; files that other runs still write are locked."""
    hidden = re.compile(re.escape(_stem(name)) + "[0-9a-f]{8}")
    for each in filter(hidden.fullmatch, os.listdir(directory)):  # a descriptor has no path
        with suppress(OSError):
            _remove_dead(each, directory)


def _remove_dead(name: str, directory: int) -> None:
    handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
    try:
        found = os.fstat(handle)
        if stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid():
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(name, dir_fd=directory)
    finally:
        os.close(handle)


def _put_on(handle: int, like: FileAttributes | None, mode: int, *, keep_owner: bool) -> None:
    if like is None:
        os.fchmod(handle, mode)
        return
    try:
        os.fchown(handle, *like.owner)
    except PermissionError:
        if keep_owner:
            raise
    os.fchmod(handle, like.mode)
    for name, value in like.attributes.items():
        try:
            os.setxattr(handle, name, value)
        except OSError:
            if keep_owner:
                raise
