"""What ``cpuctl top`` has shown, kept in a file and played again: an answer a line, as JSON.

A file is compressed where its name ends in ``.gz``, and is whole to its last line whenever its writer ends.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Iterator
from contextlib import suppress
from typing import IO, TYPE_CHECKING, NamedTuple

from cpuctl.errors import InputError, UsageError, unreadable, unwritable

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

    from cpuctl.answers.top import Top

MOST_WRITTEN = 1 << 30
"""Bytes of a recording on the disk: it ends there. An hour of 128 CPUs takes some 60 MB compressed."""
_MOST_MOMENTS = 100_000
_LONGEST_LINE = 16 << 20
_MOST_KEPT = 512 << 20
"""Bytes that a recording takes in memory, compressed line by line, when it is played."""
_SCHEMA = "top"
_COMPRESSED = b"\x1f\x8b"
_EXPECTED = "expected what cpuctl top --record has written, or top -o jsonl printed"


class Recorder:
    """Writes a recording to a file that must not be there yet."""

    def __init__(self, name: str, most: int = MOST_WRITTEN) -> None:
        self.name = name
        self.full = False
        self._most = most
        self._packer = zlib.compressobj(6, wbits=31) if name.endswith(".gz") else None
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            self._handle = os.open(name, flags, 0o600)
        except FileExistsError:
            raise UsageError("the file exists", where=name, hint="name another one") from None
        except OSError as error:
            raise unwritable(error, name) from None
        self._length = 0

    def write(self, document: Top) -> None:
        """Write one moment, so that a reader sees it at once; nothing once the file is ``full``.

        Raise NodeAccessError where the system refuses.
        """
        if self.full:
            return
        data = json.dumps(document, separators=(",", ":")).encode() + b"\n"
        if self._packer is not None:
            data = self._packer.compress(data) + self._packer.flush(zlib.Z_SYNC_FLUSH)
        if self._length + len(data) > self._most:
            self.full = True
            return
        self._put(data)

    def close(self) -> None:
        """End the file."""
        if self._handle < 0:
            return
        if self._packer is not None:
            with suppress(OSError):
                self._put(self._packer.flush())
        os.close(self._handle)
        self._handle = -1

    def _put(self, data: bytes) -> None:
        try:
            while data:
                written = os.write(self._handle, data)
                data, self._length = data[written:], self._length + written
        except OSError as error:
            raise unwritable(error, self.name) from None


class Recording(NamedTuple):
    """What a file holds; ``cut`` where its last line is not whole, as of a writer that was killed."""

    name: str
    lines: tuple[bytes, ...]
    cut: bool
    validator: Validator

    def moment(self, number: int) -> Top:
        """Return one moment, counted from 0; raise InputError for a line that is no answer of top."""
        where = f"{self.name}:{number + 1}"
        try:
            document: Top = json.loads(zlib.decompress(self.lines[number]))
        except (ValueError, RecursionError):
            raise InputError(f"is no JSON, {_EXPECTED}", where=where) from None
        for error in self.validator.iter_errors(document):  # type: ignore[arg-type]
            place = error.json_path.removeprefix("$").removeprefix(".")
            detail = f"{place}: {error.message[:200]}" if place else error.message[:200]
            raise InputError(f"{_EXPECTED}: {detail}", where=where)
        return document


def read_recording(name: str) -> Recording:
    """Read a recording; raise InputError for a file that is none, or holds more than anybody can look at."""
    from jsonschema import Draft202012Validator

    from cpuctl.schemas import schema_text

    lines: list[bytes] = []
    kept, cut = 0, False
    try:
        with open(name, "rb") as file:  # noqa: PTH123  # a text that may be empty
            for line in _lines(file):
                cut = not line.endswith(b"\n")
                if cut:
                    break
                lines.append(zlib.compress(line, 1))
                kept += len(lines[-1])
                if len(line) > _LONGEST_LINE or len(lines) > _MOST_MOMENTS or kept > _MOST_KEPT:
                    raise InputError(f"holds too much, {_EXPECTED}", where=f"{name}:{len(lines)}")
    except OSError as error:
        raise unreadable(error, name) from None
    if not lines:
        raise InputError(f"holds no moment, {_EXPECTED}", where=name)
    validator = Draft202012Validator(json.loads(schema_text(_SCHEMA)))
    recording = Recording(name, tuple(lines), cut, validator)
    recording.moment(0)
    return recording


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    """Yield lines; a compressed file that ends too early ends with what there is of it."""
    packed = file.read(len(_COMPRESSED)) == _COMPRESSED
    file.seek(0)
    source: IO[bytes] | gzip.GzipFile = gzip.GzipFile(fileobj=file) if packed else file
    while True:
        try:
            line = source.readline(_LONGEST_LINE + 1)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            return
        if not line:
            return
        yield line
