"""Why Go's JSON decoder refuses a value: the first mistake it reports, and its path.

Rule: ``sigs.k8s.io/json`` and ``encoding/json``. A value of a wrong type is noted, and decoding continues; a
text that a type's own reader refuses (a duration, a quantity) ends it at once and hides the earlier mistakes.
Types are written as Go writes them: ``*int32``, ``[]string``, ``map[string]bool``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

from cpuctl.documents.positions import Path
from cpuctl.golang.conversions import json_number
from cpuctl.golang.durations import parse_duration
from cpuctl.golang.text import GoError, quoted
from cpuctl.quantity import Quantity
from cpuctl.records import Record, replace

if TYPE_CHECKING:
    from cpuctl.documents.document import Value

Structs: TypeAlias = Mapping[str, Mapping[str, str]]
"""The JSON names of every struct's fields with their types; a struct without fields takes any object."""

DURATION, QUANTITY, TIME = "v1.Duration", "resource.Quantity", "v1.Time"
FLUSH_PERIOD = "v1.TimeOrMetaDuration"
"""A duration as text, or as a whole number of nanoseconds."""
_ALIASES = {
    "v1.ResourceList": "map[v1.ResourceName]resource.Quantity",
    "v1.VModuleConfiguration": "[]v1.VModuleItem",
}
_QUANTITIES = (QUANTITY, "resource.QuantityValue")
_INTEGERS = {
    "int32": (-(1 << 31), (1 << 31) - 1),
    "int64": (-(1 << 63), (1 << 63) - 1),
    "time.Duration": (-(1 << 63), (1 << 63) - 1),
    "v1.VerbosityLevel": (0, (1 << 32) - 1),
}
_TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2})"
_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "bool"), (str, "string"), (int, "number"), (float, "number"), (list, "array"), (dict, "object"),
)  # fmt: skip


class Mistake(Record):
    """A value that cannot be decoded: its path, the Go type it should have, and Go's words."""

    path: Path
    go_type: str
    text: str
    final: bool = False


class _Place(Record):
    path: Path
    struct: str
    fields: tuple[str, ...] = ()

    def member(self, key: str | int) -> _Place:
        return _Place((*self.path, key), self.struct, self.fields)

    def field_of(self, struct: str, key: str, name: str) -> _Place:
        return _Place((*self.path, key), struct.rpartition(".")[2], (*self.fields, name))


def first_mistake(value: Value, go_type: str, walk: JSONDecoder) -> Mistake | None:
    """Find the mistake that Go would report."""
    return next(iter(all_mistakes(value, go_type, walk)), None)


def all_mistakes(value: Value, go_type: str, walk: JSONDecoder) -> tuple[Mistake, ...]:
    """Find all mistakes: first the one that Go would report, then the others."""
    noted = list(walk.mistakes(value, go_type, _Place((), "")))
    final = next((mistake for mistake in noted if mistake.final), noted[0] if noted else None)
    return () if final is None else (final, *(mistake for mistake in noted if mistake is not final))


class JSONDecoder(Record):
    """The settings of a decoder.

    ``ordered``: keys are read in the order of the text, not by name, as after a conversion from YAML.
    ``any_case``: names match fields regardless of case. ``written`` returns the text of a number in JSON,
    where 110.0 is not an integer; without it numbers were converted from YAML, and are written again.
    """

    structs: Structs
    ordered: bool = False
    any_case: bool = False
    written: Callable[[Path], str] | None = None

    def mistakes(self, value: Value, go_type: str, place: _Place) -> Iterator[Mistake]:
        """Yield the mistakes in a value of a type, in the order in which Go finds them."""
        base = go_type.lstrip("*")
        if base == DURATION:
            # Only a pointer takes null: the reader of durations itself reads it as an empty text.
            if value is not None or base == go_type:
                yield from _duration_mistake(value, place)
        elif base in _QUANTITIES:
            yield from _quantity_mistake(value, place)
        elif base == FLUSH_PERIOD:
            yield from self._flush_mistake(value, place)
        elif base == TIME:
            yield from _time_mistake(value, place)
        elif value is not None:
            yield from self._typed(value, base, place)

    def _typed(self, value: Value, base: str, place: _Place) -> Iterator[Mistake]:
        shape = _ALIASES.get(base, base)
        if shape.startswith("[]") and isinstance(value, list):
            for index, item in enumerate(value):
                yield from self.mistakes(item, shape[2:], place.member(index))
        elif shape.startswith("map[") and isinstance(value, dict):
            inner = shape.partition("]")[2]
            for key, member in self._members(value):
                yield from self.mistakes(member, inner, place.member(key))
        elif base in self.structs and isinstance(value, dict):
            fields = self.structs[base]
            for name, member in self._members(value):
                if field_ := match_field(name, fields, any_case=self.any_case):
                    yield from self.mistakes(member, fields[field_], place.field_of(base, name, field_))
        elif base in self.structs:
            yield _mismatch(_kind(value), base, place)
        elif problem := self._scalar_problem(value, base, place.path):
            yield _mismatch(problem, base, place)

    def _scalar_problem(self, value: Value, base: str, path: Path) -> str:
        """Name the kind of a value that does not fit; return an empty text if it fits."""
        if base in _INTEGERS and isinstance(value, int | float) and not isinstance(value, bool):
            whole = isinstance(value, int) or (self.written is None and value.is_integer())
            low, high = _INTEGERS[base]
            if whole and low <= value <= high:
                return ""
            return f"number {self.written(path) if self.written else json_number(value)}"
        kind = _kind(value)
        return "" if kind == _expected_kind(base) else kind

    def _flush_mistake(self, value: Value, place: _Place) -> Iterator[Mistake]:
        if isinstance(value, str):
            yield from _duration_mistake(value, place)
        elif value is not None and (problem := self._scalar_problem(value, "time.Duration", place.path)):
            problem_text = f"json: cannot unmarshal {problem} into Go value of type time.Duration"
            text = f"invalid duration {quoted(_json_text(value))}: {problem_text}"
            yield Mistake(place.path, FLUSH_PERIOD, text, final=True)

    def _members(self, value: dict[str, Value]) -> list[tuple[str, Value]]:
        return list(value.items()) if self.ordered else sorted(value.items())


def match_field(name: str, fields: Collection[str], *, any_case: bool) -> str | None:
    """Find the field for a name: an exact match, else the first that differs only in case."""
    if name in fields or not any_case:
        return name if name in fields else None
    return next((field for field in fields if field.casefold() == name.casefold()), None)


def _expected_kind(base: str) -> str:
    """Return the kind of value of a scalar type; named types other than structs are strings in this API."""
    return {"bool": "bool", "float64": "number"}.get(
        base, "" if base in _INTEGERS or base[:1] in "[m" else "string"
    )


def _duration_mistake(value: Value, place: _Place) -> Iterator[Mistake]:
    if value is not None and not isinstance(value, str):
        yield replace(_mismatch(_kind(value), "string", place), go_type=DURATION, final=True)
        return
    try:
        parse_duration(value or "")
    except GoError as error:
        yield Mistake(place.path, DURATION, str(error), final=True)


def _time_mistake(value: Value, place: _Place) -> Iterator[Mistake]:
    if value is None:
        return
    if not isinstance(value, str):
        text = f"json: cannot unmarshal {_kind(value)} into Go value of type string"
        yield Mistake(place.path, TIME, text, final=True)
    elif re.fullmatch(_TIME, value, re.ASCII) is None:
        layout = "2006-01-02T15:04:05Z07:00"
        text = f'parsing time {quoted(value)} as "{layout}": cannot parse {quoted(value)} as "2006"'
        yield Mistake(place.path, TIME, text, final=True)


def _quantity_mistake(value: Value, place: _Place) -> Iterator[Mistake]:
    if value is None:
        return
    text = value.strip() if isinstance(value, str) else _json_text(value)
    try:
        Quantity.parse(text)
    except GoError as error:
        yield Mistake(place.path, QUANTITY, str(error), final=True)


def _mismatch(found: str, go_type: str, place: _Place) -> Mistake:
    where = f"Go struct field {place.struct}.{'.'.join(place.fields)}" if place.fields else "Go value"
    text = f"json: cannot unmarshal {found} into {where} of type {go_type}"
    return Mistake(place.path, go_type, text)


def _kind(value: Value) -> str:
    return next(kind for type_, kind in _KINDS if isinstance(value, type_))


def _json_text(value: Value) -> str:
    """Write a value other than text so that a quantity's reader sees what Go's would."""
    if isinstance(value, bool):
        return str(value).lower()
    return json_number(value) if isinstance(value, int | float) else _kind(value)
