"""Real shells on a pseudo-terminal: keys go in, and the shell's output comes out."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

TAB, ENTER, LINE_START, LINE_END, KILL_LINE = b"\t", b"\r", b"\x01", b"\x05", b"\x15"
_ESCAPES = re.compile(
    rb"\x1b(?:\[[0-9;?<>=]*[a-zA-Z]|[()][A-B0]|[=>]|\][^\x07]*\x07|P[^\x1b]*\x1b\\|k[^\x1b]*\x1b\\)"
)
_PATIENCE = 30.0
_QUERIES = {b"\x1b[c": b"\x1b[?62;c", b"\x1b[0c": b"\x1b[?62;c", b"\x1b[6n": b"\x1b[1;1R"}


class Terminal:
    """An interactive shell; use as a context."""

    def __init__(self, command: Sequence[str], directory: Path, environment: Mapping[str, str]) -> None:
        self._end, other = pty.openpty()
        self._seen = b""
        self._shell = subprocess.Popen(
            command,
            stdin=other,
            stdout=other,
            stderr=other,
            cwd=directory,
            env=environment,
            start_new_session=True,
            preexec_fn=_own_terminal,  # noqa: PLW1509  # no other thread runs here
        )
        os.close(other)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._shell.kill()
        self._shell.wait()
        os.close(self._end)

    def send(self, keys: bytes) -> None:
        """Send keys."""
        os.write(self._end, keys)

    def wait_for(self, text: str, after: int = 0) -> str:
        """Read until *text* appears; return everything written since position *after*, without colours."""
        assert self.comes(text, after), f"no {text!r} in {self.shown(after)!r}"
        return self.shown(after)

    def comes(self, text: str, after: int, seconds: float = _PATIENCE) -> bool:
        """Read until *text* appears, or for some time."""
        until = time.monotonic() + seconds
        while text not in self.shown(after):
            if time.monotonic() >= until:
                return False
            self._read(until - time.monotonic())
        return True

    def shown(self, after: int) -> str:
        """Return the text written since position *after*, without colours."""
        return _ESCAPES.sub(b"", self._seen[after:]).decode(errors="replace").replace("\r", "")

    def settle(self, seconds: float = 0.7) -> None:
        """Read until there is no more output for a while."""
        while self._read(seconds):
            pass

    def mark(self) -> int:
        """Return the position up to which output has been read."""
        return len(self._seen)

    def _read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self._end], [], [], max(seconds, 0))
        if not ready:
            return False
        data = os.read(self._end, 65536)
        self._seen += data
        for query, answer in _QUERIES.items():
            if query in data:
                os.write(self._end, answer)
        return bool(data)


def _own_terminal() -> None:
    """Make standard input the terminal that Ctrl-C comes from."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
