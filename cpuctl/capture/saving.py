"""A new file that is written completely, or not at all."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, NamedTuple

from cpuctl.atomic_file import (
    PRIVATE,
    FileAttributes,
    attributes_of,
    back_up,
    hidden_link,
    sync_directory,
    temporary_file,
)
from cpuctl.errors import NotRestoredError, UsageError, os_reason, unwritable

_NO_HARD_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}

_ATTEMPTS = 5


def check_target(path: Path, *, replace: bool, directory: int | None = None) -> None:
    """Raise UsageError if *path* must not be written: it exists, or is not a regular file.

    *replace* allows an existing file to be replaced. *directory* is the descriptor of the directory if it is
    already open.
    """
    try:
        name = path if directory is None else path.name
        mode = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
    except FileNotFoundError:
        if path.parent.is_dir():
            return
        from shlex import quote

        hint = f"mkdir -p {quote(str(path.parent))}"
        raise UsageError("no such directory", where=str(path.parent), hint=hint) from None
    except OSError as error:
        raise unwritable(error, str(path)) from None
    if not stat.S_ISREG(mode):
        raise UsageError("exists and is not a regular file", where=str(path), hint="specify another file")
    if not replace:
        raise _already_there(path)


def save(
    path: Path,
    write: Callable[[IO[bytes]], object],
    *,
    replace: bool,
    mode: int = PRIVATE,
    backup: bool = False,
    directory: int | None = None,
) -> Path | None:
    """Write a file next to *path*, then move it there; mode and owner of a replaced file are kept.

    A new file gets *mode*: by default only its owner can read it, because it may name what runs on a node.
    Return where the replaced file is now if a *backup* is to be kept. *directory* is the descriptor of the
    directory if it is already open.

    Raise UsageError if *path* has been created meanwhile, NodeAccessError if the system refuses; in both
    cases nothing has changed. Raise NotRestoredError if the old file could not be restored.
    """
    check_target(path, replace=replace, directory=directory)
    way = _Way(replace, mode, backup)
    try:
        if directory is not None:
            return _saved(path, write, way, directory)
        own = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            return _saved(path, write, way, own)
        finally:
            os.close(own)
    except FileExistsError:
        raise _already_there(path) from None
    except OSError as error:
        raise unwritable(error, str(path)) from None


class _Way(NamedTuple):
    replace: bool
    mode: int
    backup: bool


def _saved(path: Path, write: Callable[[IO[bytes]], object], way: _Way, directory: int) -> Path | None:
    like = _old(path, directory)
    with temporary_file(
        path, write, like=like, keep_owner=False, mode=way.mode, directory=directory
    ) as temporary:
        old = _second_name(path, way, directory) if like else None
        new = os.stat(temporary.name, dir_fd=directory, follow_symlinks=False)
        try:
            _move(temporary, path, directory, replace=way.replace)
            sync_directory(directory)
        except BaseException as error:
            if _is(path, new, directory):
                _put_back(path, old, directory, error, existed=like is not None)
            else:
                _forget(old, directory)
            raise
    if way.backup:
        return old
    _forget(old, directory)
    return None


def _forget(old: Path | None, directory: int) -> None:
    if old is not None:
        with suppress(FileNotFoundError):  # another run took it for a leftover of a killed run
            os.unlink(old.name, dir_fd=directory)


def _is(path: Path, new: os.stat_result, directory: int) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(new, os.stat(path.name, dir_fd=directory, follow_symlinks=False))
    return False


def _second_name(path: Path, way: _Way, directory: int) -> Path | None:
    """Keep the old file next to the new one; without hard links, this fails only if a backup is wanted."""
    try:
        for _ in range(_ATTEMPTS):
            with suppress(FileNotFoundError):  # another run created its own at this moment
                return _linked(path, way, directory)
        return _linked(path, way, directory)
    except OSError as error:
        if way.backup or error.errno not in _NO_HARD_LINKS:
            raise
        return None


def _linked(path: Path, way: _Way, directory: int) -> Path | None:
    return back_up(path, datetime.now(UTC), directory) if way.backup else hidden_link(path, directory)


def _old(path: Path, directory: int) -> FileAttributes | None:
    try:
        return attributes_of(path.name, directory=directory)
    except FileNotFoundError:
        return None


def _put_back(path: Path, old: Path | None, directory: int, cause: BaseException, *, existed: bool) -> None:
    """Put the old file back in place of the new one, or remove the new one if there was no old file."""
    try:
        if old is not None:
            os.rename(old.name, path.name, src_dir_fd=directory, dst_dir_fd=directory)
        elif not existed:
            os.unlink(path.name, dir_fd=directory)
    except OSError as error:
        raise _replaced(path, cause, f"cannot be restored: {os_reason(error)}", old) from None
    if existed and old is None:
        raise _replaced(path, cause, "is gone: this file system has no hard links") from None


def _replaced(path: Path, cause: BaseException, what: str, old: Path | None = None) -> NotRestoredError:
    reason = os_reason(cause) if isinstance(cause, OSError) else "interrupted"
    hint = f"the old content is in {old}" if old else ""
    message = f"{reason}; the new file is in place, and the old one {what}"
    return NotRestoredError(message, where=str(path), hint=hint)


def _move(temporary: Path, path: Path, directory: int, *, replace: bool) -> None:
    if not replace:
        try:
            # Unlike a rename, a link never replaces a file that was created meanwhile.
            os.link(temporary.name, path.name, src_dir_fd=directory, dst_dir_fd=directory)
        except OSError as error:
            if error.errno not in _NO_HARD_LINKS:
                raise
        else:
            return
    os.rename(temporary.name, path.name, src_dir_fd=directory, dst_dir_fd=directory)


def _already_there(path: Path) -> UsageError:
    return UsageError("already exists", where=str(path), hint="specify another file, or use --force")
