"""The lines that somebody pasted, or a log on standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

_LONGEST = 1 << 20
"""Bytes of a line that are kept: what follows in it is a line of its own."""


def message_lines(texts: Sequence[str]) -> Iterator[str]:
    """Yield the lines of *texts*, ``-`` standing for standard input; empty lines are left out."""
    for text in texts:
        for line in _stdin() if text == "-" else text.splitlines():
            if line.strip():
                yield line


def _stdin() -> Iterator[str]:
    while line := sys.stdin.buffer.readline(_LONGEST):
        yield line.decode(errors="replace").rstrip("\r\n")
