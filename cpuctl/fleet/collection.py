"""The recordings that make up a fleet: named ones, and those in directories, patterns and lists.

In directories, recordings are recognized by content. A file that is named itself always belongs to the fleet:
if it cannot be read, that is its answer.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from glob import glob, has_magic
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from cpuctl.errors import InputError, UsageError, unreadable
from cpuctl.machine.sources import LIVE, SYNTHETIC, short_name

STDIN, LIST = "-", "@"
_ARCHIVES = (".tar", ".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst", ".tgz")
_MAX_LIST_BYTES = 64 << 20
_BLOCK = 1 << 20
_PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd")
_TAR_AT, _TAR = 257, b"ustar"
_GATHERED = ("nodes/*/sysinfo.tgz", "cluster-scoped-resources/core/nodes/*.yaml")
_MEMBERS_OF_MACHINES = (b'"cpus"', b'"topology"', b'"nodes"', b'"num_cores"')
"""Members of any tool's JSON about a machine; objects of the API server also have a kind."""


class Recording(NamedTuple):
    """One node of a fleet: its name there, and its source, as for ``-m``.

    ``digest`` is the SHA-256 of its content if it is a single file: of equal ones, only the first is read.
    """

    name: str
    source: str
    digest: str = ""


class Collection(NamedTuple):
    """The recordings of a fleet, in order, and the files in its directories that are not recordings."""

    recordings: tuple[Recording, ...]
    passed_over: tuple[str, ...] = ()


def collect(names: Sequence[str]) -> Collection:
    """Find the recordings of *names*: paths, directories, patterns, ``@FILE`` or ``-`` for a list of these.

    Raise UsageError if nothing is named, and InputError for a name that matches nothing.
    """
    if not names:
        hint = (
            "specify recordings, directories or patterns, @FILE for a list of them, or - for a list on stdin"
        )
        raise UsageError("no recordings specified", hint=hint)
    if not names[1:]:
        # Among others, it is an unreadable node, and the others are processed.
        refuse_missing(names[0])
    passed_over: list[str] = []
    sources = dict.fromkeys(source for name in names for source in _sources(name, passed_over))
    if not sources:
        hint = "record a node with cpuctl capture FILE"
        if all(map(_is_list, names)):
            raise InputError("lists no recordings", where=", ".join(map(_list_name, names)), hint=hint)
        raise InputError("no recordings were found", where=", ".join(names), hint=hint)
    return Collection(tuple(_named(list(sources))), tuple(passed_over))


def _sources(name: str, passed_over: list[str]) -> Iterator[str]:
    listed = _listed(name) if _is_list(name) else [name]
    for each in listed:
        yield from _of_name(each, passed_over)


def _is_list(name: str) -> bool:
    return name == STDIN or name.startswith(LIST)


def _list_name(name: str) -> str:
    return "<stdin>" if name == STDIN else name.removeprefix(LIST)


def refuse_missing(name: str) -> None:
    """Raise InputError for a name of a collection that matches nothing."""
    path, sign, _ = name.rpartition("#")
    of_node = sign and Path(path).exists()
    if not (_is_list(name) or has_magic(name) or of_node or name == LIVE or name.startswith(SYNTHETIC)):
        try:
            Path(name).lstat()
        except OSError as error:
            raise unreadable(error, name) from None


def _listed(name: str) -> list[str]:
    """Read a list, one name per line, or each followed by NUL, as ``find -print0`` writes it.

    Empty lines and comments are ignored; a name with line breaks requires NULs.
    """
    where = _list_name(name)
    try:
        with sys.stdin.buffer if name == STDIN else Path(where).open("rb") as file:
            data = file.read(_MAX_LIST_BYTES + 1)
    except OSError as error:
        raise unreadable(error, where) from None
    if len(data) > _MAX_LIST_BYTES:
        raise InputError(f"is larger than {_MAX_LIST_BYTES >> 20} MiB", where=where)
    text = os.fsdecode(data)
    if "\0" in text:
        return [name for name in text.split("\0") if name]
    lines = (line.strip() for line in text.split("\n"))
    return [line for line in lines if line and not line.startswith("#")]


def _of_name(name: str, passed_over: list[str]) -> Iterator[str]:
    path = Path(name)
    if name == LIVE or name.startswith(SYNTHETIC):
        yield name
    elif has_magic(name) and not path.exists():
        found = sorted(glob(name, recursive=True))  # noqa: PTH207  # patterns may be absolute
        if not found:
            raise InputError("no file matches this pattern", where=name)
        for each in found:
            yield from _of_name(each, passed_over)
    elif path.is_dir() and not may_be_recording(path):
        yield from _in_directory(path, passed_over)
    else:
        yield name


def _in_directory(directory: Path, passed_over: list[str]) -> Iterator[str]:
    """Yield the recordings in a directory and those below it; links to directories are not followed."""
    try:
        entries = sorted(each for each in directory.iterdir() if not each.name.startswith("."))
    except OSError as error:
        raise unreadable(error, str(directory)) from None
    for entry in entries:
        if may_be_recording(entry):
            yield str(entry)
        elif entry.is_dir() and not entry.is_symlink():
            yield from _in_directory(entry, passed_over)
        else:
            passed_over.append(str(entry))


def may_be_recording(path: Path) -> bool:
    """Return whether ``-m`` could probably read a path, by its first bytes or its directories.

    A file named like an archive should be one: if it is not, that is reported later.
    """
    from cpuctl.machine.foreign.recognition import HEAD_BYTES, recognised
    from cpuctl.machine.sources import begins_gatherinfo

    if path.is_dir():
        return (path / "sys").is_dir() or _is_must_gather(path)
    if path.name.endswith(_ARCHIVES) and (path.is_file() or not path.exists()):
        return True  # including dangling links
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError:
        return True  # the error is reported when it is read
    if head.startswith(_PACKED) or head[_TAR_AT:].startswith(_TAR) or begins_gatherinfo(head):
        return True
    form = recognised(head)
    if form == "JSON":
        return b'"kind"' not in head and any(member in head for member in _MEMBERS_OF_MACHINES)
    return form not in (None, "without CPUs")


def _is_must_gather(path: Path) -> bool:
    """Look for nodes where a must-gather image puts them, in its own directory or not."""
    return any(next(path.glob(f"{below}{nodes}"), None) for below in ("", "*/") for nodes in _GATHERED)


def _named(sources: Sequence[str]) -> Iterator[Recording]:
    """Name every node after its file.

    Files with the same name are named after their directory if they are the only recording there, as in
    ``node7/capture.tar.xz``, else by their whole path.
    """
    alone = Counter(map(os.path.dirname, sources))

    def by_directory(source: str) -> str:
        directory = os.path.dirname(source)  # noqa: PTH120  # a path may have a node behind it
        return Path(directory).name or source if alone[directory] == 1 else source

    names = list(map(short_name, sources))
    for longer in (by_directory, str):
        shared = {name for name, count in Counter(names).items() if count > 1}
        names = [
            longer(source) if name in shared else name for source, name in zip(sources, names, strict=True)
        ]
    for source, name in zip(sources, names, strict=True):
        yield Recording(name, source, file_digest(source))


def file_digest(source: str) -> str:
    """Return the SHA-256 of a file's content; an empty text if it is not a file or cannot be read."""
    path = Path(source)
    digest = sha256()
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    except OSError:
        return ""
    return digest.hexdigest()
