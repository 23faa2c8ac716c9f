"""The one error tree: what stops a command, where it happened, and what to do next.

A kubelet's "no" is never an error here: decisions are values (see ``cpuctl.engine.outcome``).
Only ``cpuctl.cli`` catches these, prints them and exits with their ``exit_code``.
"""

from __future__ import annotations

import errno
from typing import ClassVar, Self

_REASONS = {
    errno.EACCES: "permission denied",
    errno.EDQUOT: "the quota of disk space is used up",
    errno.EFBIG: "larger than a file may be here (ulimit -f)",
    errno.EIO: "input/output error",
    errno.EISDIR: "it is a directory",
    errno.ELOOP: "too many symbolic links",
    errno.ENAMETOOLONG: "the name is too long",
    errno.ENOENT: "no such file or directory",
    errno.ENOSPC: "no space left on the device",
    errno.ENOTDIR: "a part of the path is not a directory",
    errno.EPERM: "operation not permitted",
    errno.EROFS: "the file system is read-only",
}
_ROOM = "make room there, or use a file elsewhere"
_REMEDIES = {
    errno.EACCES: "try again with sudo, or use a file elsewhere",
    errno.EDQUOT: _ROOM,
    errno.EFBIG: "raise the limit",
    errno.ENOSPC: _ROOM,
    errno.EPERM: "try again with sudo, or use a file elsewhere",
    errno.EROFS: "use a file elsewhere",
}


NO_MACHINE = "is a kubelet configuration, not a machine"
"""What a file is that was named in the place of another: the command line knows the option for it."""


class CpuctlError(Exception):
    """Base of everything cpuctl raises on purpose.

    ``where`` names the place (file, line, path inside it), ``hint`` the next step for the reader.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message

    def within(self, outer: str) -> Self:
        """Return the same error, its place prefixed with *outer* (a file, say)."""
        where = f"{outer}: {self.where}" if self.where else outer
        return type(self)(self.message, where=where, hint=self.hint)


class UsageError(CpuctlError):
    """The command line asks for something that does not fit together."""

    exit_code = 2


class InputError(CpuctlError):
    """A file, archive or value that cpuctl was given cannot be used."""

    exit_code = 4


class PolicyError(CpuctlError):
    """A policy (a plugin) fails, takes too long, or answers with what it may not."""

    exit_code = 4


class NodeAccessError(CpuctlError):
    """The node refused (permission, kernel) and nothing was changed."""

    exit_code = 5


class NotRestoredError(CpuctlError):
    """The node was changed, and not all of it could be restored."""

    exit_code = 6


def os_reason(error: OSError) -> str:
    """Say why the system refused: for the usual reasons in words of our own, as C libraries' differ."""
    return _REASONS.get(error.errno or 0) or error.strerror or str(error)


MISSING = f"cannot be read: {_REASONS[errno.ENOENT]}"
"""What is said of a file that is not there."""


def unreadable(error: OSError, where: str, *, hint: str = "") -> CpuctlError:
    """Make the error for something at *where* that cannot be read: the node's refusal, or bad input."""
    message = f"cannot be read: {os_reason(error)}"
    if isinstance(error, PermissionError):
        return NodeAccessError(message, where=where, hint="try again with sudo")
    return InputError(message, where=where, hint=hint)


def unwritable(error: OSError, where: str) -> NodeAccessError:
    """Make the error for a file at *where* that cannot be written, and is as it was."""
    hint = _REMEDIES.get(error.errno or 0, "")
    return NodeAccessError(f"cannot be written: {os_reason(error)}", where=where, hint=hint)
