"""Replacing a state file in place: under a lock, only as it was read, with a backup, whole or not at all.

The lock keeps other cpuctl away, not the kubelet: it must not run, as it would write its own state over this.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from cpuctl.checkpoints.go_json import MAX_CHARACTERS
from cpuctl.errors import InputError, NodeAccessError, os_reason, unreadable
from cpuctl.whole_file import sync_directory, written_beside

_MOST_BACKUPS = 1000


def read_state_file(path: Path) -> bytes:
    """Read a state file.

    Raise InputError for a link, for what is no file, and for one beyond reason, NodeAccessError where the
    system does not allow it.
    """
    try:
        # Without O_NONBLOCK, a pipe would be waited for.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise InputError("is no regular file", where=str(path))
            content = _content(handle)
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise InputError("is a symbolic link: name the file itself", where=str(path)) from None
        raise unreadable(error, str(path)) from None
    if len(content) > MAX_CHARACTERS:
        raise InputError(f"is larger than {MAX_CHARACTERS >> 20} MiB", where=str(path))
    return content


def replace_state_file(path: Path, old: bytes, new: bytes, *, now: datetime | None = None) -> Path:
    """Put *new* in the place of *old*, which stays as a backup beside it; return the backup's path.

    Mode and owner are kept. A kill at any point leaves the old file or the new one, with the backup in place
    before the new one is. Raise NodeAccessError where the file is not *old* any more, where another cpuctl is
    writing, and where the system refuses; nothing is changed then, unless the error says that the file is
    written. *now* is the time in the backup's name, in UTC.
    """
    with _locked(path):
        backup = _back_up(path, old, now or datetime.now(UTC))
        try:
            sync_directory(path.parent)
            like = backup.lstat()
            with written_beside(path, lambda file: file.write(new), like=like) as temporary:
                if not _same_file(path, backup):
                    backup.unlink()
                    raise _changed(path)
                temporary.rename(path)
        finally:
            if _same_file(path, backup):
                backup.unlink()
        _confirm(path)
    return backup


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Lock the file's directory against other cpuctl; turn what the system refuses into our error."""
    try:
        handle = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        finally:
            os.close(handle)
    except BlockingIOError:
        raise NodeAccessError(
            "another cpuctl writes here", where=str(path.parent), hint="try again"
        ) from None
    except OSError as error:
        raise NodeAccessError(f"cannot be written: {os_reason(error)}", where=str(path)) from None


def _back_up(path: Path, old: bytes, now: datetime) -> Path:
    """Give the file a second name, and make sure that what has it now is what was read."""
    stem = f"{path.name}.{now:%Y%m%dT%H%M%SZ}"
    for number in range(1, _MOST_BACKUPS):
        backup = path.with_name(f"{stem}.bak" if number == 1 else f"{stem}-{number}.bak")
        try:
            os.link(path, backup, follow_symlinks=False)
        except FileExistsError:
            continue
        if not _kept(backup, old):
            raise _changed(path)
        return backup
    raise NodeAccessError(f"there are {_MOST_BACKUPS} backups of this second", where=str(path))


def _content(handle: int) -> bytes:
    """Read a file to its end, or to the first byte that is too much."""
    with os.fdopen(handle, "rb", closefd=False) as file:
        return file.read(MAX_CHARACTERS + 1)


def _kept(backup: Path, content: bytes) -> bool:
    """Keep a backup that holds *content*, remove any other; tell which."""
    holds = False
    try:
        with suppress(InputError):
            holds = read_state_file(backup) == content
    finally:
        if not holds:
            backup.unlink()
    return holds


def _same_file(path: Path, other: Path) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(path.lstat(), other.lstat())
    return False


def _confirm(path: Path) -> None:
    try:
        sync_directory(path.parent)
    except OSError as error:
        message = f"is written, but may not survive a power cut: {os_reason(error)}"
        raise NodeAccessError(message, where=str(path)) from None


def _changed(path: Path) -> NodeAccessError:
    return NodeAccessError(
        "has changed since it was read", where=str(path), hint="stop the kubelet, then start again"
    )
