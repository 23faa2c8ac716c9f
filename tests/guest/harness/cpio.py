"""Archives in the newc cpio format, which the kernel unpacks as its first file system.

The format is the one of the kernel document *Documentation/driver-api/early-userspace/buffer-format.rst*.
Every file belongs to root and has no time, so that the same tree gives the same bytes for any user.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

_TRAILER = "TRAILER!!!"


@dataclass(frozen=True, slots=True)
class Entry:
    """One file, directory or symbolic link; ``name`` is its path without a leading slash."""

    name: str
    mode: int
    data: bytes = b""


def regular_file(name: str, data: bytes, permissions: int = 0o644) -> Entry:
    return Entry(name, stat.S_IFREG | permissions, data)


def copies(source: Path, name: str) -> Iterator[Entry]:
    """Yield *source* under another *name*, a directory with its whole content."""
    mode = source.lstat().st_mode
    if stat.S_ISLNK(mode):
        yield Entry(name, mode, str(source.readlink()).encode())
    elif stat.S_ISREG(mode):
        yield Entry(name, mode, source.read_bytes())
    elif stat.S_ISDIR(mode):
        yield Entry(name, mode)
        for child in sorted(source.iterdir()):
            yield from copies(child, f"{name}/{child.name}")


def write_archive(stream: BinaryIO, entries: Iterable[Entry]) -> None:
    """Write *entries* in their order: the kernel needs a directory before its content."""
    stream.writelines(_member(entry, number) for number, entry in enumerate(entries, start=1))
    stream.write(_member(Entry(_TRAILER, 0), 0))


def _member(entry: Entry, number: int) -> bytes:
    name = entry.name.encode() + b"\0"
    fields = [number, entry.mode, 0, 0, 1, 0, len(entry.data), 0, 0, 0, 0, len(name), 0]
    header = b"070701" + b"".join(b"%08x" % field for field in fields)
    return _padded(header + name) + _padded(entry.data)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
