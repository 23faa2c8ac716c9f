"""The part of a command line before the cursor, and the small files that it names."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

MAX_BYTES = 4 << 20
"""How much JSON is read from all files together while the user types: larger files are skipped."""
_SLOWER = 16
"""How many times longer it takes to read YAML."""
_MOST_FILES = 200


class CommandLine(NamedTuple):
    """The words before the one that is being typed (``current``), without the shell's quotes."""

    words: tuple[str, ...]
    current: str

    @classmethod
    def from_line(cls, line: Sequence[str], *, quoted: bool) -> CommandLine:
        """Take the words that a shell passes; ``quoted`` if they still contain the quotes."""
        words = [_unquoted(word) for word in line] if quoted else list(line)
        return cls(tuple(words[:-1]), words[-1] if words else "")

    def values(self, *names: str) -> Iterator[str]:
        """Yield the values of an option, in every spelling: ``-f A``, ``-fA``, ``--file A``, ``--file=A``."""
        for place, word in enumerate(self.words):
            if word in names:
                yield from self.words[place + 1 : place + 2]
            for name in names:
                start = f"{name}=" if name.startswith("--") else name
                if word.startswith(start) and word != name:
                    yield word.removeprefix(start)

    def value(self, *names: str) -> str:
        """Return the last value of an option, or an empty text."""
        return next(reversed(list(self.values(*names))), "")


def _unquoted(word: str) -> str:
    """Remove a shell's quotes, including an unclosed one; nothing is expanded except ``~``."""
    import shlex

    for attempt in (word, word + "'", word + '"', word.removesuffix("\\")):
        try:
            parts = shlex.split(attempt)
        except ValueError:
            continue
        text = parts[0] if parts else ""
        return os.path.expanduser(text) if word.startswith("~") else text  # noqa: PTH111  # an empty text stays one
    return word


@dataclass(slots=True)
class SmallFiles:
    """Files within size limits; standard input, pipes and devices are never opened."""

    left: int = MAX_BYTES

    def texts(self, names: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Yield the name and content of readable files, and of the manifests in directories."""
        from cpuctl.errors import CpuctlError
        from cpuctl.pods.reading.manifest_files import find_manifest_files

        for name in names:
            try:
                files = find_manifest_files([name]) if name != "-" else []
            except CpuctlError:
                continue
            for file in files[:_MOST_FILES]:
                data = self._read(file.name)
                if data:
                    yield file.name, data

    def _read(self, name: str) -> bytes:
        try:
            found = os.stat(name)  # noqa: PTH116
            if not stat.S_ISREG(found.st_mode) or found.st_size > self.left:
                return b""
            descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(descriptor, "rb") as file:  # noqa: PTH123
                data = file.read(self.left)
        except OSError:
            return b""
        cost = len(data) * (1 if data.lstrip()[:1] in {b"{", b"["} else _SLOWER)
        if cost > self.left:
            return b""
        self.left -= cost
        return data
