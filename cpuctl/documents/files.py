"""Files as the command line names them, standard input among them."""

from __future__ import annotations

import sys
from pathlib import Path

from cpuctl.errors import unreadable

STDIN = "-"


def read_input(name: str) -> bytes:
    """Return the whole content of a file, or of standard input for ``-``.

    Raise NodeAccessError where permission is missing, InputError where it cannot be read otherwise.
    """
    try:
        return sys.stdin.buffer.read() if name == STDIN else Path(name).read_bytes()
    except OSError as error:
        raise unreadable(error, source_name(name)) from None


def source_name(name: str) -> str:
    """Name a file for people: ``<stdin>`` for ``-``, and escapes for bytes that are no text."""
    return "<stdin>" if name == STDIN else name.encode(errors="backslashreplace").decode()
