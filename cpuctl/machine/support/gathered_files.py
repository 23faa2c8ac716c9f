"""The files of an archive of a whole cluster, packed or not; only what is asked for is read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from cpuctl.below_root import Root
from cpuctl.errors import CpuctlError, InputError, unreadable
from cpuctl.machine.archive import Opened, archive_errors, archive_members
from cpuctl.machine.tar_stream import TarMembers
from cpuctl.machine.tree import MAX_FILE_BYTES

MAX_READ_BYTES = 128 << 20
"""The most that is read of one archive in all."""
MAX_FILES = 100_000
_DEEPEST = 2
"""Directories above what a tool writes: that of the run, and that of the image."""


class GatheredFiles(Protocol):
    """What is asked of such an archive; ``name`` is its own, for messages."""

    name: str

    def paths(self, wanted: Callable[[str], bool]) -> Iterator[str]:
        """Yield the paths of the files that are *wanted*; raise CpuctlError where they cannot be listed."""

    def read(self, paths: Collection[str]) -> dict[str, bytes]:
        """Return the content of files by their paths; raise InputError beyond the limits."""


class UnpackedFiles:
    """A directory, whose links never lead out of it; *directories* are those that may stand two below it.

    Errors are those of ``GatheredFiles``.
    """

    def __init__(self, path: Path, directories: Collection[str]) -> None:
        self.name = str(path)
        self._root = Root(path)
        self._directories = directories

    def paths(self, wanted: Callable[[str], bool]) -> Iterator[str]:
        """Yield the wanted files below the directories, those of the run first."""
        found = 0
        for top in self._tops("", _DEEPEST):
            for directory in self._directories:
                for path in self._below(f"{top}{directory}", 2):
                    if wanted(path):
                        found += 1
                        if found > MAX_FILES:
                            raise InputError(f"holds more than {MAX_FILES} files", where=self.name)
                        yield path

    def read(self, paths: Collection[str]) -> dict[str, bytes]:
        """Return the content of files by their paths."""
        found: dict[str, bytes] = {}
        for path in paths:
            try:
                data = self._root.read(path, MAX_FILE_BYTES)
            except OSError as error:
                raise unreadable(error, f"{self.name}/{path}") from None
            if data is not None:
                _check_size(path, len(data), sum(map(len, found.values())), self.name)
                found[path] = data
        return found

    def _names(self, path: str) -> list[str]:
        try:
            return sorted(self._root.names(path) or ())
        except OSError as error:
            raise unreadable(error, f"{self.name}/{path}") from None

    def _tops(self, path: str, deeper: int) -> Iterator[str]:
        yield path
        names: list[str] = []
        with suppress(CpuctlError):  # what is closed to us, or a link out of it, may be anything
            names = self._names(path) if deeper else []
        # Of what stands beside the directories that are known, none has any below it.
        if not any(f"{each}/".startswith(f"{name}/") for name in names for each in self._directories):
            for name in names:
                yield from self._tops(f"{path}{name}/", deeper - 1)

    def _below(self, path: str, deeper: int) -> Iterator[str]:
        for name in self._names(path):
            yield f"{path}/{name}"
            if deeper > 1:
                yield from self._below(f"{path}/{name}", deeper - 1)


class PackedFiles:
    """An archive, read from its beginning for every question; errors are those of ``GatheredFiles``."""

    def __init__(self, name: str, opened: Opened) -> None:
        self.name = name
        self._opened = opened

    def paths(self, wanted: Callable[[str], bool]) -> Iterator[str]:
        """Yield the wanted files in their order."""
        found = 0
        for path, size, _ in self._members():
            if size is not None and wanted(path):
                found += 1
                if found > MAX_FILES:
                    raise InputError(f"holds more than {MAX_FILES} files", where=self.name)
                yield path

    def read(self, paths: Collection[str]) -> dict[str, bytes]:
        """Return the content of files by their paths."""
        found: dict[str, bytes] = {}
        for path, size, members in self._members():
            if size is not None and path in paths:
                _check_size(path, size, sum(map(len, found.values())), self.name)
                found[path] = members.data(size)
        return found

    def _members(self) -> Iterator[tuple[str, int | None, TarMembers]]:
        with archive_errors(self.name), self._opened() as packed:
            members = archive_members(packed)
            for name, _, _, size in members:
                parts = [part for part in name.split("/") if part not in {"", "."}]
                if ".." not in parts:
                    yield "/".join(parts), size, members


def _check_size(path: str, size: int, before: int, where: str) -> None:
    if size > MAX_FILE_BYTES or before + size > MAX_READ_BYTES:
        raise InputError(
            f"{path} has {size} bytes; at most {MAX_FILE_BYTES >> 20} MiB in one file "
            f"and {MAX_READ_BYTES >> 20} MiB in all are read",
            where=where,
        )
