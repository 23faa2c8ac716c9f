"""A new file that is there whole, or not at all."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import IO

from cpuctl.errors import UsageError, unwritable
from cpuctl.whole_file import PRIVATE, sync_directory, written_beside

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
        raise unwritable(error, str(path)) from None
    if not stat.S_ISREG(mode):
        raise UsageError("exists and is no regular file", where=str(path), hint="name another file")
    if not replace:
        raise _already_there(path)


def save(path: Path, write: Callable[[IO[bytes]], object], *, replace: bool, mode: int = PRIVATE) -> None:
    """Write a file beside *path*, then move it there; mode and owner of a replaced file are kept.

    What names who runs on a node is its writer's alone (the *mode* of a new file) unless that is asked for.

    Raise UsageError where *path* has come into being meanwhile, NodeAccessError where the system refuses.
    """
    check_target(path, replace=replace)
    try:
        with written_beside(path, write, like=_old(path), keep_owner=False, mode=mode) as temporary:
            _move(temporary, path, replace=replace)
            sync_directory(path.parent)
    except FileExistsError:
        raise _already_there(path) from None
    except OSError as error:
        raise unwritable(error, str(path)) from None


def _old(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except FileNotFoundError:
        return None


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


def _already_there(path: Path) -> UsageError:
    return UsageError("exists already", where=str(path), hint="name another file, or add --force")
