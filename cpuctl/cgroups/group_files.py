"""Reading and writing a control group's files on the live node, by the kernel's rules.

Rule: *Documentation/admin-guide/cgroup-v2.rst*: a value is one ``write()``, in place; nothing is renamed.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

_ATTEMPTS = 6
_FIRST_PAUSE = 0.005
_MAX_TEXT = 1 << 20
_AGAIN = frozenset({errno.EAGAIN, errno.EBUSY})
GONE = frozenset({errno.ENOENT, errno.ENODEV, errno.ENOTDIR})
"""What the kernel says of a group that has vanished: its container has ended."""


class GroupFiles(NamedTuple):
    """The groups of one mounted hierarchy: ``root`` is where it is mounted, ``pause`` waits some seconds."""

    root: Path
    pause: Callable[[float], None]

    def read(self, group: str, name: str) -> str | None:
        """Return a file's text without the newline at its end; None where there is no such file.

        Raise OSError with what else the kernel says.
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
        """Tell whether a group is there."""
        return os.path.isdir(self._path(group, ""))  # noqa: PTH112  # as for every other question

    def write(self, group: str, name: str, text: str) -> None:
        """Write a whole value at once; a group that is busy is tried again for a moment.

        Raise OSError with what the kernel says.
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
        # As a shell does it: the kernel takes no notice of O_TRUNC.
        flags = os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(self._path(group, name), flags)
        try:
            if os.write(descriptor, data) != len(data):
                raise OSError(errno.EIO, "the kernel took a part of the value only")
        finally:
            os.close(descriptor)

    def _path(self, group: str, name: str) -> str:
        """Return the path of a file; raise ValueError for a name that leads elsewhere."""
        parts = [part for part in group.split("/") if part]
        if ".." in parts or "/" in name:
            raise ValueError(f"{group!r} is no group below {self.root}")
        return os.path.join(self.root, *parts, name)  # noqa: PTH118  # a Path would be made for every write


def _whole(descriptor: int) -> bytes:
    """Read to the end: the kernel hands lists of tasks out by the page."""
    text = b""
    while len(text) < _MAX_TEXT and (part := os.read(descriptor, _MAX_TEXT)):
        text += part
    return text
