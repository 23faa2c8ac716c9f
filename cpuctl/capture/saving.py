"""A new file that is there whole, or not at all."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

from cpuctl.errors import NodeAccessError, UsageError, os_reason

_PRIVATE = 0o600  # a capture names what runs on a node
_NO_HARD_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


def check_target(path: Path, *, replace: bool) -> None:
    """Raise UsageError where *path* must not be written: it exists, or is no regular file.

    *replace* permits to put a new file in the place of an existing one.
    """
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        if path.parent.is_dir():
            return
        raise UsageError("there is no such directory", where=str(path.parent)) from None
    except OSError as error:
        raise _refused(error, path) from None
    if not stat.S_ISREG(mode):
        raise UsageError("exists and is no regular file", where=str(path), hint="name another file")
    if not replace:
        raise _already_there(path)


def save(path: Path, write: Callable[[IO[bytes]], None], *, replace: bool) -> None:
    """Write a file beside *path*, then move it there; mode and owner of a replaced file are kept.

    Raise UsageError where *path* has come into being meanwhile, NodeAccessError where the system refuses.
    """
    check_target(path, replace=replace)
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise _refused(error, path) from None
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
            file.flush()
            _like_the_old(file.fileno(), path)
            os.fsync(file.fileno())
        _move(temporary, path, replace=replace)
        _sync_directory(path.parent)
    except FileExistsError:
        raise _already_there(path) from None
    except OSError as error:
        raise _refused(error, path) from None
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()


def _like_the_old(handle: int, path: Path) -> None:
    try:
        old = path.lstat()
    except FileNotFoundError:
        os.fchmod(handle, _PRIVATE)
        return
    with suppress(PermissionError):
        os.fchown(handle, old.st_uid, old.st_gid)
    os.fchmod(handle, stat.S_IMODE(old.st_mode))


def _move(temporary: Path, path: Path, *, replace: bool) -> None:
    if not replace:
        try:
            # Unlike a rename, a link never takes the place of a file that came into being meanwhile.
            os.link(temporary, path)
        except OSError as error:
            if error.errno not in _NO_HARD_LINKS:
                raise
        else:
            return
    temporary.rename(path)


def _sync_directory(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)  # the new name itself must survive a power cut
    finally:
        os.close(handle)


def _already_there(path: Path) -> UsageError:
    return UsageError("exists already", where=str(path), hint="name another file, or add --force")


def _refused(error: OSError, path: Path) -> NodeAccessError:
    return NodeAccessError(f"cannot be written: {os_reason(error)}", where=str(path))
