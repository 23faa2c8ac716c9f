"""Read-only file trees: the live node, a recording of one, or texts in memory, all read in the same way.

Paths are relative to the tree's root and written without a leading slash: ``sys/devices/system/cpu/online``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from cpuctl.errors import InputError, unreadable
from cpuctl.root_directory import DIRECTORY, DanglingLinkError, Root, follow_links

MAX_FILE_BYTES = 32 << 20
"""The largest file read: /proc/cpuinfo of 8192 CPUs has about 16 MB."""


class Tree(Protocol):
    """What a reader needs from a file tree; a missing path is not an error."""

    def read(self, path: str) -> str | None:
        """Return the whole text of a regular file, or None if it does not exist.

        Raise InputError for a pipe, socket or device, and for a link that leads out of the tree.
        """

    def names(self, path: str) -> Sequence[str]:
        """Return the sorted names in a directory (including links), empty if it does not exist."""

    def followed(self, path: str) -> str | None:
        """Return the path with all links resolved; None if it leads nowhere or outside."""

    def in_the_way(self, path: str) -> str:
        """Describe what is at a path instead of a readable file: a directory or a dangling link."""


class DirectoryTree:
    """A directory on disk: ``/`` for the live node, or a recording, whose links never lead out of it."""

    def __init__(self, root: Path) -> None:
        self._root = Root(root)

    def read(self, path: str) -> str | None:
        """Return the text of a file; raise CpuctlError if it exists and cannot be read."""
        try:
            data = self._root.read(path, MAX_FILE_BYTES)
        except OSError as error:
            raise unreadable(error, path) from None
        if data is None:
            return None
        if len(data) > MAX_FILE_BYTES:
            raise InputError(f"is larger than {MAX_FILE_BYTES >> 20} MiB", where=path)
        return data.decode(errors="replace")

    def names(self, path: str) -> Sequence[str]:
        """Return the names in a directory; raise CpuctlError if it exists and cannot be listed."""
        try:
            return sorted(self._root.names(path) or ())
        except OSError as error:
            raise unreadable(error, path) from None

    def followed(self, path: str) -> str | None:
        """Return the path with all links resolved; None if it leads nowhere or outside."""
        try:
            return self._root.real(path)
        except (DanglingLinkError, InputError):
            return None
        except OSError:
            return path  # a missing path has no links

    def in_the_way(self, path: str) -> str:
        """Describe what is at a path instead of a readable file: a directory or a dangling link."""
        return self._root.in_the_way(path)


class MemoryTree:
    """Texts by path, and link targets; an entry whose text is None is only listed by name.

    Links are resolved as in a directory on disk: absolute ones start at the top, and none leads above it.
    *odd* contains entries that are neither regular files nor directories.
    """

    def __init__(
        self,
        files: Mapping[str, str | None],
        links: Mapping[str, str] = {},
        odd: Mapping[str, str] = {},
    ) -> None:
        self._files = files
        self._links = links
        self._odd = odd
        self._paths = sorted(files)
        self._resolved: dict[str, str] = {}

    def read(self, path: str) -> str | None:
        """Return the text stored under *path*; raise InputError as ``Tree`` does."""
        text = self._files.get(path)
        if text is not None or not (self._links or self._odd):
            return text
        real = self._followed(path)
        if kind := self._odd.get(real):
            raise InputError(f"expected a regular file, found {kind}", where=f"/{path}")
        return self._files.get(real)

    def names(self, path: str) -> Sequence[str]:
        """Return the names of all entries under *path*; raise InputError as ``Tree`` does."""
        return self._names(path) or (self._names(self._followed(path)) if self._links else ())

    def followed(self, path: str) -> str | None:
        """Return the path with all links resolved; None if it leads nowhere or outside."""
        try:
            return self._followed(path)
        except (DanglingLinkError, InputError):
            return None

    def in_the_way(self, path: str) -> str:
        """Describe what is at a path instead of a readable file: a directory or a dangling link."""
        try:
            real = follow_links(path, self._checked_target)
        except DanglingLinkError as error:
            return str(error)
        except FileNotFoundError:
            return ""
        return DIRECTORY if self._files.get(real) is None else ""

    def _followed(self, path: str) -> str:
        """Resolve the links in a path; its directory is resolved once."""
        parent, _, name = path.rpartition("/")
        if parent not in self._resolved:
            self._resolved[parent] = follow_links(parent, self._target_of)
        real = f"{self._resolved[parent]}/{name}".lstrip("/")
        return follow_links(real, self._target_of) if real in self._links else real

    def _target_of(self, directory: str, name: str) -> str | None:
        return self._links.get(f"{directory}/{name}" if directory else name)

    def _checked_target(self, directory: str, name: str) -> str | None:
        path = f"{directory}/{name}" if directory else name
        if path in self._links:
            return self._links[path]
        if path not in self._files and not self._names(path):
            raise FileNotFoundError(path)
        return None

    def _names(self, path: str) -> Sequence[str]:
        prefix = f"{path}/" if path else ""
        names = set()
        at = bisect_left(self._paths, prefix)
        while at < len(self._paths) and self._paths[at].startswith(prefix):
            name, slash, _ = self._paths[at][len(prefix) :].partition("/")
            names.add(name)
            # Paths below a directory are adjacent; they end before the character that follows the slash.
            at = bisect_left(self._paths, f"{prefix}{name}0", at) if slash else at + 1
        return sorted(names)
