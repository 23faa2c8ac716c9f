"""Go's complaint about a value, told to people: what was expected at which place, and what stands there."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cpuctl.documents.cursor import Cursor
from cpuctl.documents.document import Document
from cpuctl.documents.paths import Path
from cpuctl.errors import InputError
from cpuctl.golang.durations import parse_duration
from cpuctl.golang.json_mistakes import DURATION, QUANTITY, Mistake
from cpuctl.golang.text import GoError
from cpuctl.kubelet.configuration.schema import STRUCTS
from cpuctl.kubelet.policy_options import ARCHIVED, ARCHIVED_WHY

_DURATION_HINT = "write a duration such as 10s, 1m30s or 100ms"


def explained(mistake: Mistake, document: Document, path: Path) -> InputError:
    """Make the error for a mistake that stands at *path* of a document."""
    value = document.value
    for step in path:
        value = value[step]  # type: ignore[index]  # the path was found in this very value
    cursor = Cursor(document, value, path)
    try:
        _reader(mistake.go_type)(cursor)
    except InputError as error:
        if isinstance(value, dict) and ARCHIVED in value:  # as KEP-4540 writes it
            return cursor.error(f"{error.message}: {ARCHIVED} is {ARCHIVED_WHY}", hint=error.hint)
        return error
    if isinstance(value, float) and _reader(mistake.go_type) in (_int32, _int64):
        wanted = "a whole number written without point or exponent"
        return cursor.error(f"expected {wanted}, found {document.written(path)}")
    return cursor.error(mistake.text)


def _reader(go_type: str) -> Callable[[Cursor], object]:
    if go_type in _READERS:
        return _READERS[go_type]
    if go_type.startswith("[]"):
        return Cursor.items
    # Named types that are no structs are strings in this API.
    return Cursor.members if go_type.startswith("map[") or go_type in STRUCTS else Cursor.text


def _duration(cursor: Cursor) -> int:
    if not isinstance(cursor.value, str):
        raise cursor.expected("a duration", hint=_DURATION_HINT)
    try:
        return parse_duration(cursor.value)
    except GoError as error:
        raise cursor.error(str(error), hint=_DURATION_HINT) from None


def _int32(cursor: Cursor) -> int:
    return cursor.integer(minimum=-(1 << 31), maximum=(1 << 31) - 1)


def _int64(cursor: Cursor) -> int:
    return cursor.integer(minimum=-(1 << 63), maximum=(1 << 63) - 1)


_READERS: Mapping[str, Callable[[Cursor], object]] = {
    "string": Cursor.text,
    "bool": Cursor.boolean,
    "int32": _int32,
    "int64": _int64,
    "float64": Cursor.number,
    DURATION: _duration,
    QUANTITY: Cursor.quantity,
}
