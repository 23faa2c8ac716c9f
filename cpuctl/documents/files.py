"""Files as the command line names them, including standard input."""

from __future__ import annotations

import os
import re
import stat
import sys
from contextlib import suppress
from itertools import islice
from typing import BinaryIO

from cpuctl.errors import InputError, unreadable

STDIN = "-"
_STDIN_NAME = "<stdin>"
MAX_INPUT_BYTES = 256 << 20
"""The size of the largest file that is read: about that of all pods of a large cluster as JSON."""

_CHUNK = 1 << 20
_KINDS = (frozenset({"json", "yaml", "yml"}), frozenset({"tar", "tar.gz", "tar.xz", "tar.zst", "tgz"}))
"""Endings of files with the same content in another form."""
_LIKE = 0.7
"""The minimum similarity of two file names, without their extensions, that differ by one typing error."""
_MOST_NAMES = 2000
_NULL = os.makedev(1, 3)
_TERMINALS = frozenset({4, 5, *range(136, 144), 188, 204, 229})
"""Major numbers of consoles, pseudo terminals and serial lines (*Documentation/admin-guide/devices.txt*)."""


def read_input(name: str) -> bytes:
    """Return the whole content of a file, or of standard input for ``-``.

    A named pipe is waited for; an endless device is not read. Raise NodeAccessError if
    permission is missing, InputError if it cannot be read otherwise or is too large.
    """
    try:
        data = _read_up_to(name, MAX_INPUT_BYTES + 1)
    except OSError as error:
        raise unreadable(error, source_name(name)) from None
    except ValueError:  # NUL, or characters that cannot be encoded
        raise InputError("is not a valid file name", where=source_name(name)) from None
    return _within_bounds(data, name)


def nearest_path(path: str) -> str:
    """Return the path that was probably meant by one that does not exist; empty if none is similar.

    Names with different numbers mean different things: ``node7`` is not a misspelt ``node8``.
    """
    from pathlib import Path

    from cpuctl.spelling import nearest

    given = Path(path)
    missing = next((each for each in (*reversed(given.parents), given) if not os.path.lexists(each)), None)
    if missing is None:
        return ""
    numbers = re.findall("[0-9]+", missing.name)
    begin, _, ending = missing.name.partition(".")
    with suppress(OSError), os.scandir(missing.parent) as entries:
        names = [each.name for each in islice(entries, _MOST_NAMES)]
        stems = {name: name.partition(".")[0] for name in sorted(names)}
        known = {
            stem: name
            for name, stem in stems.items()
            if re.findall("[0-9]+", name) == numbers and (stem == begin or _same_kind(name, ending))
        }
        if stem := nearest(begin, known, _LIKE):
            found = missing.with_name(known[stem])
            if missing == given and ending and found.is_dir():
                return ""
            whole = found / given.relative_to(missing)
            return str(whole if whole.exists() else found)
    return ""


def _same_kind(name: str, ending: str) -> bool:
    """Return whether a name may be meant by another with this ending: a JSON file is no note."""
    own = name.partition(".")[2]
    return not own or not ending or own == ending or any({own, ending} <= kind for kind in _KINDS)


def read_member(path: str) -> bytes:
    """Return the whole content of a file from a directory; only regular files are accepted.

    Raise as ``read_input`` does.
    """
    from cpuctl.root_directory import HOST, read_up_to

    try:
        handle = HOST.open_file(path)
        try:
            data = read_up_to(handle, MAX_INPUT_BYTES)
        finally:
            os.close(handle)
    except OSError as error:
        raise unreadable(error, source_name(path)) from None
    return _within_bounds(data, path)


def _within_bounds(data: bytes, name: str) -> bytes:
    if len(data) > MAX_INPUT_BYTES:
        raise InputError(f"is larger than {MAX_INPUT_BYTES >> 20} MiB", where=source_name(name))
    return data


def _read_up_to(name: str, length: int) -> bytes:
    if name == STDIN:
        with suppress(OSError, ValueError):  # it may not be a regular file
            _refuse_device(os.fstat(sys.stdin.fileno()), name)
        return _first_bytes(sys.stdin.buffer, length)
    _refuse_device(os.stat(name), name)  # noqa: PTH116  # an empty name is an error here, not a directory
    with open(name, "rb") as file:  # noqa: PTH123
        return _first_bytes(file, length)


def _refuse_device(found: os.stat_result, name: str) -> None:
    """Raise InputError for a device other than a terminal: most have no end, and opening some has effects."""
    endless = stat.S_ISCHR(found.st_mode) and found.st_rdev != _NULL
    if stat.S_ISBLK(found.st_mode) or (endless and os.major(found.st_rdev) not in _TERMINALS):
        raise InputError("is a device, expected a file", where=source_name(name))


def _first_bytes(file: BinaryIO, length: int) -> bytes:
    # If asked to read everything at once, Python would reserve that much memory for the smallest file.
    chunks = []
    while length and (chunk := file.read(min(length, _CHUNK))):
        chunks.append(chunk)
        length -= len(chunk)
    return b"".join(chunks)


def source_name(name: str) -> str:
    """Name a file for people: ``<stdin>`` for ``-``, and escapes for bytes that are not text."""
    if name == STDIN:
        return _STDIN_NAME
    return name.encode(errors="backslashreplace").decode() or "''"


def file_argument(name: str) -> str:
    """Return the name of a file for the next command to type: unchanged, but ``FILE`` for standard input.

    A pipe is read only once: ``-`` again would wait for the terminal. *name* may be that of ``source_name``.
    """
    return "FILE" if name in (STDIN, _STDIN_NAME) else name
