"""Logs of kubelets, line by line: klog's text and JSON, bare or from ``journalctl``, as text or ``-o json``.

klog's text is ``Lmmdd hh:mm:ss.uuuuuu pid file:line] "message" key="value"`` and has no year; its JSON has
``ts`` in milliseconds. Lines in neither form (other programs, plain prints) are skipped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from cpuctl.records import Record, replace

MOST_CHARACTERS = 1 << 18
"""The part of a line that is read: one that lists all pods of a node may be long; nothing is longer."""
_HEADER = re.compile(
    r"(?:^|\s)[IWEF](?P<month>\d\d)(?P<day>\d\d) (?P<clock>\d\d:\d\d:\d\d\.\d{6}) +"
    r"(?P<pid>\d+) [\w.-]+:\d+\] "
)
_ISO_YEAR = re.compile(r"(\d{4})-\d\d-\d\dT")
_MESSAGE = re.compile(r'"(?:[^"\\]|\\.)*+"')
_PAIR = re.compile(
    r'(?<= )(?P<key>[A-Za-z][\w.-]*+)=(?:(?P<quoted>"(?:[^"\\]|\\.)*+")|(?P<bare>.*?))'
    r"(?= [A-Za-z][\w.-]*+=|\Z)",
    re.DOTALL,
)
_OPENED = "=<"
_NOMINAL_YEAR = 2000
"""Used if the year is unknown: a leap year, which has all days that a year can have."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DECEMBER = 12


class LogLine(Record):
    """A structured line: its position, its time and its content.

    ``at`` are nanoseconds; without a year in the log they count from a substitute year. ``process``
    is the kubelet's process if the log contains it. A pod is ``namespace/name`` in ``fields``, a list of pods
    is separated by spaces; other values that are not text are as in JSON.
    """

    number: int
    at: int
    process: str
    message: str
    fields: Mapping[str, str]


def is_log(text: str) -> bool:
    """Determine by its first lines whether a text is such a log: cpuctl's YAML and JSON look different."""
    return next(read_log(text[:MOST_CHARACTERS]), None) is not None


def read_log(text: str) -> Iterator[LogLine]:
    """Yield the structured lines of a log in their order; errors of several lines become one line."""
    years = _Years()
    opened: _TextLine | None = None
    for number, line in enumerate(text.split("\n"), 1):
        found = _line(number, line[:MOST_CHARACTERS].rstrip("\r"), years)
        if opened is not None and (found is not None or len(opened.text) > MOST_CHARACTERS):
            yield opened.read()
            opened = None
        if isinstance(found, LogLine):
            yield found
        elif found is not None and found.text.endswith(_OPENED):
            opened = found
        elif found is not None:
            yield found.read()
        elif opened is not None:
            opened = replace(opened, text=f"{opened.text} {line[:MOST_CHARACTERS].strip()}")
    if opened is not None:
        yield opened.read()


class _TextLine(Record):
    number: int
    at: int
    process: str
    text: str

    def read(self) -> LogLine:
        """Take message and fields apart; a plain print is a message without fields."""
        stated = _MESSAGE.match(self.text)
        if stated is None:
            return LogLine(self.number, self.at, self.process, self.text, {})
        fields = {found["key"]: _value(found) for found in _PAIR.finditer(self.text, stated.end())}
        return LogLine(self.number, self.at, self.process, unquoted(stated[0]), fields)


class _Years:
    """Determines the year of klog's headers: from the journal, or by counting from December to January."""

    def __init__(self) -> None:
        self.year = _NOMINAL_YEAR
        self.month = 0

    def time(self, line: str, header: re.Match[str]) -> int | None:
        """Return when a line was written, None for a day that does not exist."""
        month = int(header["month"])
        if year := _ISO_YEAR.match(line):
            self.year = int(year[1])
        elif month == 1 and self.month == _DECEMBER:
            self.year += 1
        self.month = month
        try:
            read = datetime.fromisoformat(
                f"{self.year:04}-{month:02}-{header['day']}T{header['clock']}+00:00"
            )
        except ValueError:
            return None
        return (read - _EPOCH) // timedelta(microseconds=1) * 1000


def _line(number: int, line: str, years: _Years) -> LogLine | _TextLine | None:
    if (found := json_object(line)) is None:
        return _text_line(number, line, years)
    if not isinstance(printed := found.get("MESSAGE"), str | list):
        return _structured(number, found, None, "")
    at, process = _number(found.get("__REALTIME_TIMESTAMP")), str(found.get("_PID", ""))
    text = printed if isinstance(printed, str) else _from_bytes(printed)
    micro = None if at is None else at * 1000
    if (inner := json_object(text)) is not None:
        return _structured(number, inner, micro, process)
    read = _text_line(number, text, years)
    return read if read is None or micro is None else replace(read, at=micro)


def _from_bytes(printed: list[Any]) -> str:
    """Decode what the journal writes as numbers because it is not UTF-8 or has control characters."""
    small = all(isinstance(each, int) and 0 <= each < 256 for each in printed)  # a byte
    return bytes(printed).decode("utf-8", "replace") if small else ""


def _text_line(number: int, line: str, years: _Years) -> _TextLine | None:
    header = _HEADER.search(line)
    at = years.time(line, header) if header is not None else None
    if header is None or at is None:
        return None
    return _TextLine(number, at, header["pid"], line[header.end() :])


def _structured(number: int, found: dict[str, Any], at: int | None, process: str) -> LogLine | None:
    """Read klog's JSON; the journal's time takes precedence."""
    milli, stated = found.get("ts"), found.get("msg")
    if not isinstance(stated, str) or isinstance(milli, bool) or not isinstance(milli, int | float):
        return None
    if not 0 <= milli < 1e15:  # neither infinite nor beyond the year 30000
        return None
    own = round(milli * 1000) * 1000
    return LogLine(number, own if at is None else at, process, stated, {
        key: _plain(value) for key, value in found.items() if key not in ("ts", "msg", "v", "caller")
    })  # fmt: skip


def _plain(value: object) -> str:
    if isinstance(value, str):
        return value
    if name := object_name(value):
        return name
    if isinstance(value, list) and all(map(object_name, value)):
        return " ".join(map(object_name, value))
    return json.dumps(value)


def _number(value: object) -> int | None:
    text = value if isinstance(value, str) else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def _value(found: re.Match[str]) -> str:
    if found["quoted"] is not None:
        return unquoted(found["quoted"])
    bare = found["bare"].strip()
    if bare.startswith("["):
        return " ".join(bare.strip("[]").replace('"', "").replace(",", " ").split())
    return " ".join(bare[1:-1].split()) if bare.startswith("<") and bare.endswith(">") else bare


def unquoted(quoted: str) -> str:
    """Return the content of a text in Go's quotes."""
    try:
        return str(json.loads(quoted))
    except ValueError:  # Go has escapes that JSON does not have
        return quoted[1:-1].replace(r"\"", '"').replace(r"\\", "\\")


def json_object(line: str) -> dict[str, Any] | None:
    """Return the object in a line, None for all other lines, including truncated ones."""
    if not line.lstrip().startswith("{"):
        return None
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def object_name(reference: object) -> str:
    """Return ``namespace/name`` or the name of what an object refers to, empty if it names nothing."""
    if not isinstance(reference, dict) or not isinstance(name := reference.get("name"), str):
        return ""
    namespace = reference.get("namespace")
    return f"{namespace}/{name}" if isinstance(namespace, str) else name
