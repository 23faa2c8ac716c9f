"""Changes in directories as the kernel reports them (*inotify(7)*); Python's library has no binding.

It reports those of control groups, too: what somebody makes, removes or writes there by a system call, but
not what the kernel changes itself.
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterable, Iterator
from ctypes import CDLL, get_errno
from typing import NamedTuple

_MODIFY, _MOVED, _CREATE, _DELETE = 0x002, 0x040 | 0x080, 0x100, 0x200
_DELETE_SELF, _MOVE_SELF = 0x400, 0x800
_OVERFLOW, _IGNORED, _DIRECTORY = 0x4000, 0x8000, 0x4000_0000
_ONLY_DIRECTORIES = 0x0100_0000
_WANTED = _MODIFY | _MOVED | _CREATE | _DELETE | _DELETE_SELF | _MOVE_SELF | _ONLY_DIRECTORIES
_HEAD = struct.Struct("iIII")
_ROOM = 1 << 16


class Notice(NamedTuple):
    """What the kernel reports: the directory, and the name in it, empty where it is the directory itself.

    Both are empty where there was too much to keep all. ``of_directory``: what the name stands for is or
    was a directory itself, and ``made_directory``: it has come.
    """

    directory: str
    name: str
    of_directory: bool = False
    made_directory: bool = False


class Notices:
    """An inotify instance; raise OSError where the kernel makes none, or takes no more directories."""

    def __init__(self) -> None:
        # None is this process with all that it has loaded, its C library for one.
        self._library = CDLL(None, use_errno=True)
        self._paths: dict[int, str] = {}
        self._handle = self._checked(self._library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))

    def fileno(self) -> int:
        """Return the descriptor that can be read when there is a notice."""
        return self._handle

    def add(self, directory: str) -> None:
        """Ask for notices of a directory; once more does no harm."""
        number = self._checked(self._library.inotify_add_watch(self._handle, os.fsencode(directory), _WANTED))
        self._paths[number] = directory

    @property
    def directories(self) -> frozenset[str]:
        """Those whose changes are reported."""
        return frozenset(self._paths.values())

    def keep(self, directories: Iterable[str]) -> None:
        """Forget all other directories."""
        wanted = set(directories)
        for number in [number for number, path in self._paths.items() if path not in wanted]:
            del self._paths[number]
            self._library.inotify_rm_watch(self._handle, number)

    def read(self) -> Iterator[Notice]:
        """Take the notices that are there, without waiting for any."""
        while True:
            try:
                data = os.read(self._handle, _ROOM)
            except BlockingIOError:
                return
            yield from self._notices(data)

    def close(self) -> None:
        """Let go of it."""
        os.close(self._handle)

    def _notices(self, data: bytes) -> Iterator[Notice]:
        at = 0
        while at < len(data):
            number, mask, _, length = _HEAD.unpack_from(data, at)
            at += _HEAD.size
            name = os.fsdecode(data[at : at + length].rstrip(b"\0"))
            at += length
            if mask & _OVERFLOW:
                yield Notice("", "")
            elif mask & _IGNORED:
                self._paths.pop(number, None)
            elif directory := self._paths.get(number):
                whether = bool(mask & _DIRECTORY)
                made = whether and bool(mask & (_CREATE | _MOVED))
                yield Notice(directory, name, of_directory=whether, made_directory=made)

    @staticmethod
    def _checked(result: int) -> int:
        if result < 0:
            number = get_errno()
            raise OSError(number, os.strerror(number))
        return result


def refusal(error: OSError) -> str:
    """Return why the kernel reports nothing, or no more directories."""
    limits = {
        errno.EMFILE: "fs.inotify.max_user_instances is reached",
        errno.ENOSPC: "fs.inotify.max_user_watches is reached",
    }
    return limits.get(error.errno or 0) or error.strerror or str(error)
