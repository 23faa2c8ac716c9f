"""One cpuctl at a time: a lock on the hierarchy itself, so that every view of it shares the lock.

A file below ``/run`` would not do: a container with the host's control groups has a ``/run`` of its own.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cpuctl.errors import NodeAccessError, unreadable


@contextmanager
def locked(hierarchy: Path) -> Iterator[None]:
    """Lock a mounted hierarchy as long as this lasts; the kernel lets go of it when the process is killed.

    Raise NodeAccessError where another cpuctl holds it.
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
                "another cpuctl writes here", where=str(hierarchy), hint="try again"
            ) from None
        yield
    finally:
        os.close(handle)
