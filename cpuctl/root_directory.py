"""Access to files below a root directory. Only this module resolves links there, as chroot would.

An absolute link starts at the root. Each path component is opened relative to its parent's descriptor without
following links, so no other file can be swapped in on the way. Paths that leave the root and link loops
are refused; only regular files are opened. Below ``/`` the kernel resolves paths, as it does
for the kubelet. (Python has no ``openat2``, which could do the same in one call.)
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from cpuctl.errors import InputError

NOT_THERE = (FileNotFoundError, NotADirectoryError, ProcessLookupError)
"""procfs raises the last one if a process has ended since its directory was listed."""

DESCRIPTORS = "/proc/self/fd"
"""Where procfs lists the open files of this process."""

MOST_LINKS = 40
"""The number of links that Linux follows in one path."""

_OPEN_DIRECTORIES = 48
_ATTEMPTS = 5
_CHUNK = 1 << 16
_STEP = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY

_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a link",
}


DIRECTORY = "expected a regular file, found a directory"


class DanglingLinkError(FileNotFoundError):
    """The link *link* in a path points to *target*, which does not exist."""

    def __init__(self, link: str, target: str) -> None:
        super().__init__(f"/{link} is a link to {target}, which does not exist")


def not_regular(mode: int, where: str) -> InputError:
    """Return the error for something that is not a regular file."""
    kind = _KINDS.get(stat.S_IFMT(mode), "something else")
    return InputError(f"expected a regular file, found {kind}", where=where)


def follow_links(path: str, target_of: Callable[[str, str], str | None]) -> str:
    """Return a path with all links resolved, without a leading slash.

    *target_of* takes a directory and a name and returns the link's target, or None if it is not a link; it
    raises FileNotFoundError if there is no such name. Raise InputError for a path that leaves the root or a
    link loop, DanglingLinkError for a link in the path whose target does not exist.
    """
    done: list[str] = []
    waiting: list[tuple[str, _Link | None]] = [(name, None) for name in reversed(path.split("/"))]
    links = 0
    while waiting:
        name, link = waiting.pop()
        if name in ("", "."):
            continue
        if name == "..":
            if not done:
                raise _leaves(path, link)
            done.pop()
            continue
        try:
            target = target_of("/".join(done), name)
        except FileNotFoundError:
            if link is None:
                raise
            raise DanglingLinkError(*link) from None
        if target is None:
            done.append(name)
            continue
        if (links := links + 1) > MOST_LINKS:
            message = "its symbolic links form a loop, or there are too many"
            raise InputError(message, where=f"/{path.lstrip('/')}")
        here = ("/".join([*done, name]), target)
        waiting.extend((part, here) for part in reversed(target.split("/")))
        done = [] if target.startswith("/") else done
    return "/".join(done)


_Link = tuple[str, str]
"""The path of a link, and its target."""


def _leaves(path: str, link: _Link | None) -> InputError:
    if link is None:
        return InputError("points outside the root", where=f"/{path.lstrip('/')}")
    hint = "make it an absolute link, which begins at the root"
    message = f"is a link to {link[1]}, which points outside the root"
    return InputError(message, where=f"/{link[0]}", hint=hint)


def _require_name(path: str) -> None:
    """Raise FileNotFoundError for an impossible file name: one that contains NUL or cannot be encoded."""
    try:
        possible = b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        possible = False
    if not possible:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


class Root:
    """A directory used as ``/``; paths below it may have a leading slash.

    The directory itself may be given as a link. Descriptors are closed with the object. With *host* there is
    no such directory: paths are taken as on the command line and may be relative.
    """

    def __init__(self, path: Path | str = "/", *, host: bool = False) -> None:
        self.path = Path("" if host else path)
        self.live = host or os.path.realpath(path) == "/"
        self._prefix = "" if host else "/"
        self._links: dict[str, str] = {}
        self._open: dict[str, int] = {}

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        # At interpreter exit, modules have been cleared already.
        for handle in self._open.values():
            close(handle)

    def shown(self, path: str) -> str:
        """Return a path below the root as a path on this host, for messages."""
        return str(self.path / path.lstrip("/")) if self._prefix else path

    def real(self, path: str) -> str:
        """Return a path below the root with its links resolved; see ``follow_links`` for errors.

        The last component, and its target if it is a link, must exist. On the live host only a link at the
        end is resolved: the kernel follows the others whenever the path is used.
        """
        _require_name(path)
        if self.live:
            if not stat.S_ISLNK(os.lstat(self._prefix + path).st_mode):
                return path
            real = os.path.realpath(self._prefix + path, strict=True)
            return real.lstrip("/") if self._prefix else real
        return follow_links(path, self._target_of)

    def open_file(self, path: str) -> int:
        """Open a regular file for reading and return its descriptor.

        Raise InputError for anything else, without opening it, and for a path that leaves the root or a link
        loop; OSError for errors of the system.
        """
        handle = self._followed(path) if self.live else self._unread(path)
        try:
            mode = os.fstat(handle).st_mode
            if stat.S_ISDIR(mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
            if not stat.S_ISREG(mode):
                raise not_regular(mode, self._named(path))
            return self._opened(handle, path)
        finally:
            os.close(handle)

    def read(self, path: str, limit: int) -> bytes | None:
        """Return the content of a regular file; of a larger one, a little more than *limit* bytes.

        Return None if it does not exist or is a directory (see ``in_the_way``); raise as ``open_file`` does.
        """
        try:
            handle = self.open_file(path)
        except (*NOT_THERE, IsADirectoryError):
            return None
        try:
            return read_up_to(handle, limit)
        except ProcessLookupError:
            return None
        finally:
            os.close(handle)

    def names(self, path: str) -> list[str] | None:
        """Return the names in a directory, None if it does not exist; raise as ``open_directory`` does."""
        try:
            handle = self.open_directory(path)
        except NOT_THERE:
            return None
        try:
            return os.listdir(handle)  # noqa: PTH208  # a descriptor has no path
        except NOT_THERE:
            return None
        finally:
            os.close(handle)

    def open_directory(self, path: str) -> int:
        """Open a directory and return its descriptor, which the caller closes.

        Raise InputError for a path that leaves the root or a link loop, OSError for errors of the system.
        """
        _require_name(path)
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        if self.live:
            return os.open(f"{self._prefix}{path}" or ".", flags)
        return self._again(path, lambda: os.open(".", flags, dir_fd=self._directory(self._real(path))))

    def in_the_way(self, path: str) -> str:
        """Describe a directory or dangling link that is found where a file is expected."""
        try:
            _require_name(path)
            if self.live:
                path = os.path.abspath(self._prefix + path)  # noqa: PTH100  # links are not resolved here
            real = follow_links(path, self._target_of)
            with suppress(IsADirectoryError):
                os.close(LIVE_ROOT.open_file(real) if self.live else self.open_file(real))
                return ""
        except DanglingLinkError as error:
            return str(error)
        except OSError:
            return ""
        return DIRECTORY

    def _named(self, path: str) -> str:
        return f"/{path.lstrip('/')}" if self._prefix else path

    def _followed(self, path: str) -> int:
        _require_name(path)
        return os.open(self._prefix + path, os.O_PATH | os.O_CLOEXEC)

    def _opened(self, handle: int, path: str) -> int:
        """Open exactly the file of a descriptor for reading."""
        try:
            return os.open(f"{DESCRIPTORS}/{handle}", _READ)
        except OSError:
            # A bare chroot has no procfs: open it by name, and check that it is still the same file.
            opened = self._opened_by_name(path)
        if os.path.samestat(os.fstat(opened), os.fstat(handle)):
            return opened
        os.close(opened)
        raise InputError("is replaced while it is read", where=self._named(path))

    def _opened_by_name(self, path: str) -> int:
        if self.live:
            return os.open(self._prefix + path, _READ)
        parent, _, name = follow_links(path, self._target_of).rpartition("/")
        return os.open(name, _READ | os.O_NOFOLLOW, dir_fd=self._directory(parent))

    def _unread(self, path: str) -> int:
        """Return a descriptor for the file that can be inspected but not read (``O_PATH``)."""
        _require_name(path)
        return self._again(path, lambda: self._open_step(path))

    def _open_step(self, path: str) -> int:
        handle = self._step(path)
        if not stat.S_ISLNK(os.fstat(handle).st_mode):
            return handle
        os.close(handle)
        handle = self._step(follow_links(path, self._target_of))
        if not stat.S_ISLNK(os.fstat(handle).st_mode):
            return handle
        os.close(handle)
        raise _ReplacedError

    def _step(self, path: str) -> int:
        parent, _, name = path.strip("/").rpartition("/")
        if name in ("", ".", ".."):
            parent, _, name = follow_links(path, self._target_of).rpartition("/")
        return os.open(name or ".", _STEP, dir_fd=self._directory(self._real(parent)))

    def _again(self, path: str, work: Callable[[], int]) -> int:
        """Retry if a file is replaced while its path is resolved; give up after several attempts."""
        for _ in range(_ATTEMPTS):
            try:
                return work()
            except _ReplacedError:
                self._links.clear()
        raise InputError("keeps being replaced while it is read", where=f"/{path.lstrip('/')}")

    def _real(self, path: str) -> str:
        """Resolve a directory, and remember the result."""
        if path not in self._links:
            self._links[path] = follow_links(path, self._target_of)
        return self._links[path]

    def _target_of(self, directory: str, name: str) -> str | None:
        try:
            return os.readlink(name, dir_fd=self._directory(directory))
        except NOT_THERE:
            raise
        except OSError:  # not a link
            return None

    def _directory(self, path: str) -> int:
        """Return the descriptor of a directory whose path has no links; only some are kept open."""
        handle = self._open.pop(path, None)
        if handle is not None:
            self._open[path] = handle
            return handle
        missing = [path]
        while missing[-1] and missing[-1] not in self._open:
            missing.append(missing[-1].rpartition("/")[0])
        for each in reversed(missing):
            handle = self._open.pop(each, None) or self._entered(each, handle)
            if len(self._open) >= _OPEN_DIRECTORIES:
                os.close(self._open.pop(next(iter(self._open))))
            self._open[each] = handle
        assert handle is not None
        return handle

    def _entered(self, path: str, above: int | None) -> int:
        if above is None:
            return os.open(self.path if self._prefix else "/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        handle = os.open(path[path.rfind("/") + 1 :], _STEP, dir_fd=above)
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            return handle
        os.close(handle)
        if stat.S_ISLNK(mode):
            raise _ReplacedError
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)


class _ReplacedError(Exception):
    """A link has replaced something else in the meantime."""


LIVE_ROOT = Root()
"""The host's own file system."""

HOST = Root(host=True)
"""The same with paths as on the command line, which may be relative to the working directory."""


def read_up_to(descriptor: int, limit: int) -> bytes:
    """Read a file to its end; of a larger one, a little more than *limit* bytes."""
    # Sizes are not known in advance: stat reports 4096 for sysfs files and 0 for procfs files.
    chunks, length = [], 0
    while length <= limit and (chunk := os.read(descriptor, _CHUNK)):
        chunks.append(chunk)
        length += len(chunk)
    return b"".join(chunks)
