"""Files that come to be whole or not at all, whatever happens on the way."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

PRIVATE = 0o600
"""The mode of a file that is its writer's alone."""


@contextmanager
def written_beside(
    path: Path,
    write: Callable[[IO[bytes]], object],
    *,
    like: os.stat_result | None,
    keep_owner: bool = True,
    mode: int = PRIVATE,
) -> Iterator[Path]:
    """Write a file beside *path* for the caller to move there; what is not moved away is removed.

    It gets the mode and the owner of *like*, or else its writer and *mode*. Without *keep_owner*, a user who
    may not give files away keeps it.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
            file.flush()
            _dress(file.fileno(), like, mode, keep_owner=keep_owner)
            os.fsync(file.fileno())
        yield temporary
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()


def sync_directory(directory: Path) -> None:
    """Wait until names in a directory are on the disk: they must survive a power cut."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _dress(handle: int, like: os.stat_result | None, mode: int, *, keep_owner: bool) -> None:
    if like is None:
        os.fchmod(handle, mode)
        return
    try:
        os.fchown(handle, like.st_uid, like.st_gid)
    except PermissionError:
        if keep_owner:
            raise
    os.fchmod(handle, stat.S_IMODE(like.st_mode))
