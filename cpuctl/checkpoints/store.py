"""Atomic replacement of a state file: under a lock, only if unchanged since it was read, with a backup.

The lock excludes other cpuctl runs, not the kubelet: it must not run, as it would overwrite the file with its
own state. A run that changes several files locks their directories from the first read to the last check,
and accesses the files through the directories' descriptors, even if a path leads elsewhere by then.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from cpuctl.atomic_file import attributes_of, back_up, sync_directory, temporary_file
from cpuctl.errors import InputError, NodeAccessError, NotRestoredError, os_reason, unreadable, unwritable
from cpuctl.golang.json_values import MAX_CHARACTERS
from cpuctl.root_directory import Root

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC

_held: dict[Path, int] = {}
"""The descriptors of the directories that this run has locked, by the displayed path."""


class RunLock:
    """Locks directories against other cpuctl runs from the first read to the last check."""

    def __init__(self) -> None:
        self._own: dict[Path, int] = {}

    def __enter__(self) -> Self:
        """Begin without any locks."""
        return self

    def __exit__(self, *_: object) -> None:
        """Release all locks."""
        for shown in self._own:
            del _held[shown]
        for handle in set(self._own.values()):
            os.close(handle)
        self._own.clear()

    def hold(self, shown: Path, root: Root, path: str) -> int:
        """Lock the directory *path* below *root*, return its descriptor; *shown* identifies it from then on.

        Raise NodeAccessError if another cpuctl holds the lock or the system refuses it, InputError if the
        directory is unusable for another reason.
        """
        if shown in _held:
            return _held[shown]
        try:
            handle = root.open_directory(path)
        except OSError as error:
            raise unreadable(error, str(shown)) from None
        try:
            same = next((each for each in _held.values() if os.path.sameopenfile(each, handle)), None)
            if same is None:
                _lock(handle, shown)
        except BaseException:
            os.close(handle)
            raise
        self._own[shown] = _held[shown] = handle
        return handle


class NotSyncedError(NodeAccessError):
    """The new file is in place, the old one is *backup*, but it is unknown whether they are on disk."""

    exit_code = NotRestoredError.exit_code
    backup: Path | None = None


def read_state_file(path: Path) -> bytes:
    """Read a state file.

    Raise InputError for a link, for anything but a regular file, and for one of unreasonable size,
    NodeAccessError if the system denies access.
    """
    directory = _held.get(path.parent)
    try:
        return _read(str(path) if directory is None else path.name, directory, str(path))
    except OSError as error:
        raise unreadable(error, str(path)) from None


def _read(name: str, directory: int | None, where: str) -> bytes:
    handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISLNK(mode):
            raise InputError("is a symbolic link: name the file itself", where=where)
        if not stat.S_ISREG(mode):
            raise InputError("is not a regular file", where=where)
        with open(f"/proc/self/fd/{handle}", "rb") as file:  # noqa: PTH123
            content = file.read(MAX_CHARACTERS + 1)
    finally:
        os.close(handle)
    if len(content) > MAX_CHARACTERS:
        raise InputError(f"is larger than {MAX_CHARACTERS >> 20} MiB", where=where)
    return content


def replace_state_file(path: Path, old: bytes, new: bytes, *, now: datetime | None = None) -> Path:
    """Replace *old* with *new*, keep *old* as a backup next to it, and return the backup's path.

    Mode, owner and extended attributes are kept. A kill at any point leaves the old file or the new one, the
    latter always with the backup. Raise NodeAccessError, and change nothing, if the file is no longer *old*,
    if another cpuctl is writing, or if a system call fails. Raise NotSyncedError if the new file is in place
    but might not be on disk. *now* is the time in the backup's name, in UTC.
    """
    with _locked(path) as directory:
        backup = _back_up(path, old, now or datetime.now(UTC), directory)
        try:
            sync_directory(directory)
            like = attributes_of(backup.name, directory=directory)
            with temporary_file(
                path, lambda file: file.write(new), like=like, directory=directory
            ) as temporary:
                if not _same_file(path, backup, directory):
                    _unlink(backup, directory)
                    raise _changed(path)
                os.rename(temporary.name, path.name, src_dir_fd=directory, dst_dir_fd=directory)
        finally:
            if _same_file(path, backup, directory):
                _unlink(backup, directory)
        _confirm(path, backup, directory)
    return backup


def take_back(path: Path, backup: Path, old: bytes, new: bytes) -> None:
    """Move a backup back to its original place, which works even on a full disk.

    Raise NodeAccessError if *path* is not *new*, or *backup* not *old*, or if a system call fails, InputError
    if one of them is no longer a regular file.
    """
    with _locked(path) as directory:
        if _read(path.name, directory, str(path)) != new or _read(backup.name, directory, str(backup)) != old:
            raise _changed(path)
        os.rename(backup.name, path.name, src_dir_fd=directory, dst_dir_fd=directory)
        sync_directory(directory)


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    """Lock the file's directory against other cpuctl runs; turn system errors into ours."""
    try:
        if path.parent in _held:
            yield _held[path.parent]
            return
        handle = os.open(path.parent, _DIRECTORY)
        try:
            _lock(handle, path.parent)
            yield handle
        finally:
            os.close(handle)
    except OSError as error:
        raise unwritable(error, str(path)) from None


def _lock(handle: int, directory: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise NodeAccessError(
            "another cpuctl is writing here", where=str(directory), hint="try again"
        ) from None
    except OSError as error:
        raise NodeAccessError(f"cannot be locked: {os_reason(error)}", where=str(directory)) from None


def _back_up(path: Path, old: bytes, now: datetime, directory: int) -> Path:
    """Give the file a second name, and verify that the file with this name is the one that was read."""
    backup = back_up(path, now, directory)
    if backup is None:
        raise NodeAccessError("too many backups: 1000 within the same second", where=str(path))
    if not _kept(backup, old, directory):
        raise _changed(path)
    return backup


def _kept(backup: Path, content: bytes, directory: int) -> bool:
    """Keep a backup that holds *content*, remove any other; return whether it was kept."""
    holds = False
    try:
        with suppress(InputError):
            holds = _read(backup.name, directory, str(backup)) == content
    finally:
        if not holds:
            _unlink(backup, directory)
    return holds


def _unlink(path: Path, directory: int) -> None:
    os.unlink(path.name, dir_fd=directory)


def _same_file(path: Path, other: Path, directory: int) -> bool:
    with suppress(FileNotFoundError):
        one, two = (os.stat(each.name, dir_fd=directory, follow_symlinks=False) for each in (path, other))
        return os.path.samestat(one, two)
    return False


def _confirm(path: Path, backup: Path, directory: int) -> None:
    try:
        sync_directory(directory)
    except OSError as error:
        message = f"is written, but may be lost in a power failure: {os_reason(error)}"
        not_synced = NotSyncedError(message, where=str(path))
        not_synced.backup = backup
        raise not_synced from None


def _changed(path: Path) -> NodeAccessError:
    return NodeAccessError(
        "has changed since it was read", where=str(path), hint="stop the kubelet, then start again"
    )
