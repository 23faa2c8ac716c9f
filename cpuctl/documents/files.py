"""Files as the command line names them, standard input among them."""

from __future__ import annotations

import sys
from typing import BinaryIO

from cpuctl.errors import InputError, unreadable

STDIN = "-"
MAX_INPUT_BYTES = 256 << 20
"""The largest file read: all pods of a large cluster as JSON have about that, and devices have no end."""

_CHUNK = 1 << 20


def read_input(name: str) -> bytes:
    """Return the whole content of a file, or of standard input for ``-``.

    Raise NodeAccessError where permission is missing, InputError where it cannot be read otherwise or is
    too large.
    """
    try:
        data = _read_up_to(name, MAX_INPUT_BYTES + 1)
    except OSError as error:
        raise unreadable(error, source_name(name)) from None
    if len(data) > MAX_INPUT_BYTES:
        raise InputError(f"is larger than {MAX_INPUT_BYTES >> 20} MiB", where=source_name(name))
    return data


def _read_up_to(name: str, length: int) -> bytes:
    if name == STDIN:
        return _first_bytes(sys.stdin.buffer, length)
    with open(name, "rb") as file:  # noqa: PTH123  # an empty name is an error here, not a directory
        return _first_bytes(file, length)


def _first_bytes(file: BinaryIO, length: int) -> bytes:
    # Asked for all at once, Python would reserve that much memory for the smallest file.
    chunks = []
    while length and (chunk := file.read(min(length, _CHUNK))):
        chunks.append(chunk)
        length -= len(chunk)
    return b"".join(chunks)


def source_name(name: str) -> str:
    """Name a file for people: ``<stdin>`` for ``-``, and escapes for bytes that are no text."""
    if name == STDIN:
        return "<stdin>"
    return name.encode(errors="backslashreplace").decode() or "''"
