"""Recording what ``cpuctl top`` shows in a file, and playing it: one JSON answer per line.

A file is compressed if its name ends in ``.gz``, and is complete to its last line whenever its writer stops.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from cpuctl.errors import InputError, UsageError, unreadable, unwritable
from cpuctl.phrases import byte_text, counted
from cpuctl.schemas import schema_text
from cpuctl.schemas.quick_check import MOST, Check, quick_check

if TYPE_CHECKING:
    from cpuctl.answers.top import Top

MOST_WRITTEN = 1 << 30
"""Maximum bytes of a recording on disk: it ends there. An hour of 128 CPUs takes some 60 MB compressed."""
_MOST_MOMENTS = 100_000
_LONGEST_LINE = 16 << 20
_MOST_PASSED_OVER = 1 << 30
"""Maximum total bytes of lines that are too long: a file with more is not a recording."""
_MOST_KEPT = 512 << 20
"""Maximum bytes of a recording in memory, compressed line by line, when it is played."""
_MOST_LISTED = 10
_PIECE = 1 << 16
_SCHEMA = "top"
_COMPRESSED = b"\x1f\x8b"
_GZIP = 31
"""The ``wbits`` of zlib for this format, with the largest window."""
_FLUSHED = b"\0\0\xff\xff"
"""The end of compressed data that is flushed but not finished."""
_DAMAGED = "the file is damaged: the rest is skipped"
_EXPECTED = "expected a file written by cpuctl top --record or the output of top -o jsonl"


class Recorder:
    """Writes a recording to a file that must not exist yet."""

    def __init__(self, name: str, most: int = MOST_WRITTEN) -> None:
        self.name = name
        self.full = False
        self._most = most
        self._packer = zlib.compressobj(6, wbits=_GZIP) if name.endswith(".gz") else None
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            self._handle = os.open(name, flags, 0o600)
        except FileExistsError:
            raise UsageError("the file exists", where=name, hint="specify another file") from None
        except OSError as error:
            raise unwritable(error, name) from None
        self._length = 0
        self._refused = False

    def write(self, document: Top) -> None:
        """Write one sample, so that a reader sees it at once; do nothing once the file is ``full``.

        Raise NodeAccessError if the system refuses.
        """
        if self.full:
            return
        data = json.dumps(document, separators=(",", ":")).encode() + b"\n"
        packer = self._packer and self._packer.copy()  # data that is not written must not affect later data
        if packer is not None:
            data = packer.compress(data) + packer.flush(zlib.Z_SYNC_FLUSH)
        if self._length + len(data) > self._most:
            self.full = True
            return
        self._packer = packer
        self._put(data)

    def close(self) -> None:
        """Finish the file; raise NodeAccessError if the system refuses this.

        If it has refused a sample, the file stays unfinished: a finished one would look complete.
        """
        if self._handle < 0:
            return
        try:
            if self._packer is not None and not self._refused:
                self._put(self._packer.flush())
        finally:
            handle, self._handle = self._handle, -1
            try:
                os.close(handle)
            except OSError as error:  # a file system that writes late, such as NFS
                raise unwritable(error, self.name) from None

    def _put(self, data: bytes) -> None:
        try:
            while data:
                written = os.write(self._handle, data)
                data, self._length = data[written:], self._length + written
        except OSError as error:
            self._refused = True
            raise unwritable(error, self.name) from None


class Line(NamedTuple):
    """A line of a recording: its number in the file, from 1, and its text, compressed."""

    number: int
    packed: bytes


class Recording(NamedTuple):
    """The content of a file. ``notes`` say what is left out, and why."""

    name: str
    lines: tuple[Line, ...]
    notes: tuple[str, ...]
    check: Check

    def moment(self, number: int) -> Top:
        """Return one sample, counted from 0; raise InputError for a line that is not an answer of top."""
        line = self.lines[number]
        where = f"{self.name}:{line.number}"
        try:
            document: Top = json.loads(zlib.decompress(line.packed))
        except (ValueError, RecursionError):
            raise InputError(f"is not JSON: {_EXPECTED}", where=where) from None
        if not self.check(document):
            raise InputError(f"{_EXPECTED}: {_objection(document)}", where=where)
        return document


def _one_of_these(_validator: Any, wanted: Any, value: Any, _schema: Any) -> Iterator[Exception]:  # noqa: ANN401
    """Apply ``enum`` as JSON Schema does, except that types of numbers must match, too."""
    from jsonschema import ValidationError

    if not any(type(each) is type(value) and each == value for each in wanted):
        yield ValidationError(f"{value!r} is not one of {wanted!r}")


def _objection(document: Top) -> str:
    """Return what is wrong with a rejected sample, by the schema itself, which is slow."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    # To a schema, 1.0 is an integer, and one of 1 and 2; to the check that rejected the sample, neither.
    whole = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    validator = extend(Draft202012Validator, {"enum": _one_of_these}, type_checker=whole)  # type: ignore[no-untyped-call]
    error = next(validator(json.loads(schema_text(_SCHEMA))).iter_errors(document), None)
    if error is None:
        return next(_out_of_range(document, ""), "a number is out of range")
    place = error.json_path.removeprefix("$").removeprefix(".")
    return f"{place}: {error.message[:200]}" if place else error.message[:200]


def _out_of_range(value: Any, place: str) -> Iterator[str]:  # noqa: ANN401
    """Name the numbers that only the quick check rejects: infinity, NaN, and those too large to be exact."""
    match value:
        case dict():
            for name, each in value.items():
                yield from _out_of_range(each, f"{place}.{name}" if place else name)
        case list():
            for index, each in enumerate(value):
                yield from _out_of_range(each, f"{place}[{index}]")
        case int() | float() if not -MOST <= value <= MOST:
            yield f"{place}: {str(value)[:200]} is out of range"
        case _:
            pass


def read_recording(name: str) -> Recording:
    """Read a recording; lines that cannot be played are left out, with a note.

    Raise InputError for a file that is not a recording.
    """
    try:
        with open(name, "rb") as file:  # noqa: PTH123  # a text that may be empty
            lines, notes = _read(file, name)
    except OSError as error:
        raise unreadable(error, name) from None
    if not lines:
        why = f" that can be played ({notes[0]})" if notes else ""
        raise InputError(f"does not contain a sample{why}: {_EXPECTED}", where=name)
    recording = Recording(name, lines, notes, quick_check(json.loads(schema_text(_SCHEMA))))
    recording.moment(0)
    return recording


def _read(file: IO[bytes], name: str) -> tuple[tuple[Line, ...], tuple[str, ...]]:
    """Return the lines that can be kept, and notes on all others."""
    text, lines, notes = _Text(file), list[Line](), list[str]()
    kept = too_long = passed_over = 0
    for number, line in enumerate(text.lines(), 1):
        if line.length > _LONGEST_LINE:
            too_long, passed_over = too_long + 1, passed_over + line.length
            if passed_over > _MOST_PASSED_OVER:
                raise InputError(f"its lines are too long: {_EXPECTED}", where=f"{name}:{number}")
            if too_long <= _MOST_LISTED:
                most = byte_text(_LONGEST_LINE)
                notes.append(f"line {number} has {line.length} bytes, more than {most}, and is skipped")
            continue
        if len(lines) == _MOST_MOMENTS or kept > _MOST_KEPT:
            count = counted(len(lines), "sample")
            notes.append(f"only the first {count} are played, to limit memory use")
            break
        lines.append(Line(number, zlib.compress(line.text, 1)))
        kept += len(lines[-1].packed)
    else:
        if text.flaw == _DAMAGED:
            _remove_garbage(lines)
        if text.flaw:
            notes.append(text.flaw)
    if too_long > _MOST_LISTED:
        notes.append(f"{too_long - _MOST_LISTED} more lines are too long, and are skipped")
    return tuple(lines), tuple(notes)


def _remove_garbage(lines: list[Line]) -> None:
    """Remove the lines at the end that are not JSON objects: damaged data may unpack for a while."""
    while lines:
        with suppress(ValueError, RecursionError):
            if isinstance(json.loads(zlib.decompress(lines[-1].packed)), dict):
                return
        lines.pop()


class _ReadLine(NamedTuple):
    """A line and its length; without its text if that is too long."""

    text: bytes
    length: int


class _Text:
    """The text of a file, unpacked if it is compressed; ``flaw`` says what is wrong with its end."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.flaw = ""

    def lines(self) -> Iterator[_ReadLine]:
        """Yield the complete lines; one that is far too long is the last."""
        parts, length = list[bytes](), 0
        for piece in self._pieces():
            *ends, rest = piece.split(b"\n")
            for part in ends:
                length += len(part)
                yield _ReadLine(b"".join((*parts, part)) if length <= _LONGEST_LINE else b"", length)
                parts, length = [], 0
            length += len(rest)
            if length <= _LONGEST_LINE:
                parts.append(rest)
            else:
                parts.clear()
            if length > _MOST_PASSED_OVER:
                yield _ReadLine(b"", length)
                return
        if length:
            self.flaw = self.flaw or "the last line is incomplete, and is skipped"

    def _pieces(self) -> Iterator[bytes]:
        packed = self._file.read(len(_COMPRESSED)) == _COMPRESSED
        self._file.seek(0)
        data = iter(lambda: self._file.read(_PIECE), b"")
        return self._unpacked(data) if packed else data

    def _unpacked(self, source: Iterator[bytes]) -> Iterator[bytes]:
        """Unpack one compressed file, or several that were concatenated."""
        unpacker, ending = zlib.decompressobj(_GZIP), b""
        for packed in source:
            data, ending, piece = packed, (ending + packed)[-len(_FLUSHED) :], b""
            while data or len(piece) == _PIECE:  # a full piece: there may be more output without more data
                if unpacker.eof:
                    unpacker = zlib.decompressobj(_GZIP)
                before = unpacker.copy()
                try:
                    piece = unpacker.decompress(data, _PIECE)
                except zlib.error:
                    self.flaw = _DAMAGED
                    yield from _up_to_damage(before, data)
                    return
                yield piece
                data = unpacker.unconsumed_tail
                if unpacker.eof:
                    data, piece = unpacker.unused_data, b""
        if not unpacker.eof and ending != _FLUSHED:
            self.flaw = "the file is truncated: its end is missing"


def _up_to_damage(unpacker: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    """Unpack byte by byte: data before the damage is not lost."""
    with suppress(zlib.error):
        for at in range(len(data)):
            yield unpacker.decompress(data[at : at + 1])
