"""Recordings in one file: ``.tar``, ``.tar.gz``, ``.tar.bz2``, ``.tar.xz``, from Python 3.14 on ``.tar.zst``.

An archive is untrusted input: nothing is written to disk, no link is followed, only what lies below ``sys/``
and ``proc/`` and the kubelet's files of a capture are kept, and size, number and compression of the members
are limited while they stream by.
"""

from __future__ import annotations

from pathlib import Path

from cpuctl.errors import InputError, unreadable
from cpuctl.machine.archive.tar_stream import ByteStream, TarMembers
from cpuctl.machine.archive.unpacking import unpacked_pieces
from cpuctl.machine.recording_layout import RECORDED_DIRECTORIES, RECORDED_FILES
from cpuctl.machine.tree import MAX_FILE_BYTES, MemoryTree
from cpuctl.machine.wording import some_of

MAX_KEPT_BYTES = 128 << 20
"""The most text kept of one archive."""
MAX_NAME_CHARACTERS = 64 << 20
"""The longest that all names kept of one archive may be."""

_KEPT_ROOTS = ("sys", "proc")
_KEPT_AT_ONCE = tuple(f"{name}/" for name in _KEPT_ROOTS)
_KEPT_BELOW = tuple(f"{name}/" for name in RECORDED_DIRECTORIES)
_LONGEST_NAME = 4096  # PATH_MAX of Linux


def read_archive(path: Path) -> MemoryTree:
    """Read an archive whose ``sys`` and ``proc`` stand at its top or in one common directory.

    Raise InputError, with the archive's path, for one that is unreadable, corrupt, truncated, beyond the
    limits, or without ``sys``.
    """
    kept = _Kept()
    try:
        with path.open("rb") as packed:
            kept.read(TarMembers(ByteStream(unpacked_pieces(packed))))
        return MemoryTree(kept.only_tree())
    except InputError as error:
        raise error.within(str(path)) from None
    except OSError as error:
        raise unreadable(error, str(path)) from None
    except (EOFError, ValueError) as error:
        raise InputError(
            f"cannot be read as an archive: {error}",
            where=str(path),
            hint="expected a .tar, .tar.gz, .tar.bz2, .tar.xz or .tar.zst that holds sys/ and proc/",
        ) from error


class _Kept:
    """What is kept of an archive while it streams by, by common directory (none is ``""``)."""

    def __init__(self) -> None:
        self._trees: dict[str, dict[str, str | None]] = {}
        self._bytes = 0
        self._name_characters = 0

    def read(self, members: TarMembers) -> None:
        """Keep the texts of files; of links and directories only the names, as sysfs readers list them."""
        for name, link, size in members:
            place = _place(name)
            if place is None:
                continue
            top, path = place
            self._count(name, len(path), size or 0)
            files = self._trees.setdefault(top, {})
            if size is not None:
                # tar pads with NULs when a file is shorter than stat said, as all files of a live sysfs are.
                files[path] = members.data(size).rstrip(b"\0").decode(errors="replace")
            elif target := _place(link):
                files[path] = self._trees.get(target[0], {}).get(target[1])
            else:
                files.setdefault(path, None)

    def _count(self, name: str, characters: int, size: int) -> None:
        """Raise InputError beyond the limits."""
        self._bytes += size
        if size > MAX_FILE_BYTES or self._bytes > MAX_KEPT_BYTES:
            raise InputError(
                f"{name} has {size} bytes; at most {MAX_FILE_BYTES >> 20} MiB in one file "
                f"and {MAX_KEPT_BYTES >> 20} MiB in all are read"
            )
        self._name_characters += characters
        if self._name_characters > MAX_NAME_CHARACTERS:
            raise InputError(f"holds more than {MAX_NAME_CHARACTERS >> 20} MiB of names")

    def only_tree(self) -> dict[str, str | None]:
        """Return the one tree that the archive holds, the one at its top before any other."""
        found = {top: files for top, files in sorted(self._trees.items()) if _holds_sys(files)}
        if "" in found or len(found) == 1:
            return found.get("") or next(iter(found.values()))
        if found:
            raise InputError(
                f"holds several recordings ({some_of(list(found))}), expected one",
                hint="unpack it and name one",
            )
        raise InputError(
            "holds no sys/ directory, at its top or in one directory",
            hint="a recording holds sys/devices/system/cpu, sys/devices/system/node and proc/",
        )


def _holds_sys(files: dict[str, str | None]) -> bool:
    return any(path.startswith("sys/") for path in files)


def _place(name: str) -> tuple[str, str] | None:
    """Split a member's name into common directory and path; None for what is not kept."""
    if len(name) > _LONGEST_NAME:
        return None
    if name.startswith(_KEPT_AT_ONCE) and "/." not in name and "//" not in name and not name.endswith("/"):
        return "", name  # as nearly all members of most recordings
    return _place_of_parts(name)


def _place_of_parts(name: str) -> tuple[str, str] | None:
    if name.startswith("/"):
        return None
    parts = [part for part in name.split("/") if part not in {"", "."}]
    if ".." in parts or not parts:
        return None
    if _is_kept(parts):
        return "", "/".join(parts)
    if _is_kept(parts[1:]):
        return parts[0], "/".join(parts[1:])
    return None


def _is_kept(parts: list[str]) -> bool:
    if parts and parts[0] in _KEPT_ROOTS:
        return True
    path = "/".join(parts)
    return path in RECORDED_FILES or path.startswith(_KEPT_BELOW)
