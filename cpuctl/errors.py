"""All exceptions of cpuctl: what stopped a command, where, and what to do next.

A kubelet's rejection is never an error here: decisions are values (see ``cpuctl.engine.outcome``).
Only ``cpuctl.cli`` catches these, prints them and exits with their ``exit_code``.
"""

from __future__ import annotations

import errno
from typing import ClassVar, Self

_REASONS = {
    errno.EACCES: "permission denied",
    errno.EDQUOT: "disk quota exceeded",
    errno.EFBIG: "file too large (ulimit -f)",
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
_FREE_SPACE_FIX = "make room there, or use a file elsewhere"
_REMEDIES = {
    errno.EACCES: "try again with sudo, or use a file elsewhere",
    errno.EDQUOT: _FREE_SPACE_FIX,
    errno.EFBIG: "raise the limit",
    errno.ENOSPC: _FREE_SPACE_FIX,
    errno.EPERM: "try again with sudo, or use a file elsewhere",
    errno.EROFS: "use a file elsewhere",
}


NO_MACHINE = "is a kubelet configuration, not a machine"
"""The message for a configuration given as a machine; the command line adds the right option."""


class CpuctlError(Exception):
    """Base of everything cpuctl raises on purpose.

    ``where`` is the location (file, line, path in the file), ``hint`` the next step for the user.
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
        """Return the same error with *outer*, such as a file, prefixed to its location."""
        where = f"{outer}: {self.where}" if self.where else outer
        return type(self)(self.message, where=where, hint=self.hint)


class UsageError(CpuctlError):
    """The command line is invalid."""

    exit_code = 2


class InputError(CpuctlError):
    """A file, archive or value that cpuctl was given cannot be used."""

    exit_code = 4


class PolicyError(CpuctlError):
    """A policy plugin failed, timed out, or returned an invalid answer."""

    exit_code = 4


class NodeAccessError(CpuctlError):
    """The node denied access (permissions, kernel); nothing was changed."""

    exit_code = 5


class NotRestoredError(CpuctlError):
    """The node was changed and could not be fully restored."""

    exit_code = 6


def os_reason(error: OSError) -> str:
    """Describe a system error; use our own words for common ones, because C libraries differ."""
    return _REASONS.get(error.errno or 0) or error.strerror or str(error)


MISSING = f"cannot be read: {_REASONS[errno.ENOENT]}"
"""The message for a missing file."""


def unreadable(error: OSError, where: str, *, hint: str = "") -> CpuctlError:
    """Return the error for an unreadable file: NodeAccessError without permission, else InputError."""
    message = f"cannot be read: {os_reason(error)}"
    if isinstance(error, PermissionError):
        return NodeAccessError(message, where=where, hint="try again with sudo")
    return InputError(message, where=where, hint=hint)


def unwritable(error: OSError, where: str) -> NodeAccessError:
    """Return the error for a file that could not be written and is unchanged."""
    hint = _REMEDIES.get(error.errno or 0, "")
    return NodeAccessError(f"cannot be written: {os_reason(error)}", where=where, hint=hint)
