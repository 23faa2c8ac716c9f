"""The log of the Node Resource Interface plugin ``logger``, with a runtime's requests as events.

Rule: ``plugins/logger`` of containerd/nri 8ec8b28: every object of a request is YAML, one line of it per log
line, after the request's name. The log is in logrus' text format: ``time="..." level=info msg="..."``, or on
a terminal ``INFO [0012] ...``; any prefix (``kubectl logs --timestamps``, a journal) is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from cpuctl.documents.document import Value
from cpuctl.documents.loading import load_documents
from cpuctl.errors import InputError
from cpuctl.messages.log_lines import MOST_CHARACTERS, unquoted
from cpuctl.records import Record

MAX_REQUESTS = 200_000
"""The maximum number of requests: a busy node has several thousand in a day."""
_WRITTEN = re.compile(r'(?:^|\s)time="(?P<time>[^"]{1,64})" level=\w+ msg=(?P<said>"(?:[^"\\]|\\.)*+"|\S+)')
_SHOWN = re.compile(
    r"(?:^|\s|\x1b\[\d+m)INFO\s*(?:\x1b\[0m)?\[(?P<seconds>\d{4,9})\](?:\x1b\[0m)? ?(?P<said>.*)"
)
_LINE = re.compile(
    r"(?P<request>Synchronize|(?:Run|Update|PostUpdate|Stop|Remove)PodSandbox|"
    r"(?:Create|PostCreate|Start|PostStart|Update|PostUpdate|Stop|Remove)Container|ValidateContainerAdjustment)"
    r":(?: {4}(?P<line>.*)| (?P<object>\w+):\s*)$"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST = frozenset({"pod", "pods", "request"})
"""The object that begins every request."""


class RuntimeRequest(Record):
    """One request: its name, its time in nanoseconds, the line it begins on, and its objects' texts."""

    name: str
    at: int
    line: int
    objects: dict[str, list[str]]


def is_runtime_log(text: str) -> bool:
    """Return whether a text is such a log, judging by its beginning."""
    return next(read_requests(text[:MOST_CHARACTERS], ""), None) is not None


def read_requests(text: str, source: str) -> Iterator[RuntimeRequest]:
    """Yield the requests of a log in their order; times never go back.

    A request whose beginning is cut off is skipped. Raise InputError for more than the maximum.
    """
    request: RuntimeRequest | None = None
    lines: list[str] | None = None
    count, latest = 0, 0
    for number, line in enumerate(text.split("\n"), 1):
        found = _line(line[:MOST_CHARACTERS])
        if found is None:
            continue
        at, stated = found
        name, part, about = stated["request"], stated["line"], stated["object"]
        if part is not None:
            if request is not None and name == request.name and lines is not None:
                lines.append(part)
            continue
        latest = max(latest, at)
        if about in _FIRST:
            if request is not None:
                yield request
            count += 1
            if count > MAX_REQUESTS:
                raise InputError(
                    f"contains more than {MAX_REQUESTS:,} requests",
                    where=f"{source} line {number}",
                    hint="split it at a point between two requests",
                )
            request = RuntimeRequest(name, latest, number, {})
        if request is None or request.name != name:
            lines = None
            continue
        lines = []
        request.objects[about] = lines
    if request is not None:
        yield request


def _line(line: str) -> tuple[int, re.Match[str]] | None:
    """Return the time of a line and its part of a request."""
    if (written := _WRITTEN.search(line)) is not None:
        stated = written["said"]
        at = _time(written["time"])
        text = unquoted(stated) if stated.startswith('"') else stated
    elif (shown := _SHOWN.search(line)) is not None:
        at, text = int(shown["seconds"]) * 10**9, shown["said"]
    else:
        return None
    found = _LINE.match(text)
    return None if found is None or at is None else (at, found)


def _time(text: str) -> int | None:
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (read - _EPOCH) // timedelta(microseconds=1) * 1000 if read.tzinfo is not None else None


class Objects:
    """A reader of requests' objects; a text that repeats with every request of a pod is parsed once."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.read: dict[str, Value] = {}

    def of(self, request: RuntimeRequest, name: str) -> Value:
        """Return an object of a request; None if it has no such object.

        Raise InputError for invalid YAML, for example in a truncated log.
        """
        text = "\n".join(request.objects.get(name, ()))
        if text.strip() in ("", "null"):
            return None
        if text not in self.read:
            where = f"{self.source} line {request.line}"
            try:
                documents = load_documents(text, where)
            except InputError as error:
                message = f"{request.name}: {name}: {error.message}"
                raise InputError(message, where=where, hint="is the log truncated?") from None
            self.read[text] = documents[0].value
        return self.read[text]


def member(found: Value, *path: str) -> Value:
    """Return a nested member of a printed object, by names in snake_case or camelCase; None if missing."""
    for name in path:
        if not isinstance(found, dict):
            return None
        head, *others = name.split("_")
        found = found.get(name, found.get(head + "".join(map(str.title, others))))
    return found


def text_of(found: Value) -> str:
    """Return a text, empty for any other value."""
    return found if isinstance(found, str) else ""


def number_of(found: Value) -> int | None:
    """Return a number, which may be wrapped (``{value: 1024}``) or a text; None for any other value."""
    if isinstance(found, dict):
        # An optional number that is set to 0 is printed as an empty object.
        found = found.get("value", 0)
    if isinstance(found, bool):
        return None
    if isinstance(found, str) and re.fullmatch(r"-?[0-9]{1,20}", found, re.ASCII):
        return int(found)
    return found if isinstance(found, int) else None
