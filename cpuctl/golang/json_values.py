"""JSON as Go's ``encoding/json`` reads and writes it; ``state_types`` decodes what is read."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn, TypeAlias

from cpuctl.errors import InputError
from cpuctl.golang.json_syntax import syntax_complaint
from cpuctl.golang.text import GoError
from cpuctl.records import Record

MAX_CHARACTERS = 16 << 20
"""A hundred times the file of a node full of pods with exclusive CPUs."""
MAX_VALUES = 250_000
"""Values in one text: a node full of pods has some thousands."""


def within_bounds(content: bytes, where: str) -> bytes:
    """Return a state file's content; raise InputError for one that is too large to be one."""
    if len(content) > MAX_CHARACTERS:
        raise InputError(f"is larger than {MAX_CHARACTERS >> 20} MiB", where=where)
    return content


_HALF_CHARACTER = "[\ud800-\udfff]"
_TEXTS = json.JSONEncoder(ensure_ascii=False)
_HTML_ESCAPES = str.maketrans(
    {"<": r"\u003c", ">": r"\u003e", "&": r"\u0026", "\u2028": r"\u2028", "\u2029": r"\u2029"}
)

Json: TypeAlias = Any
"""A JSON value: None, bool, str, Number, list or Members."""


class GoJsonError(GoError):
    """The text is no JSON; the message is Go's."""


class Number(Record):
    """A JSON number as it is written: how large it may be depends on who reads it."""

    text: str


class Members(Record):
    """A JSON object: its members in the order of the text, repeated ones too."""

    pairs: list[tuple[str, Json]]


def parsed_json(text: str) -> Json:
    """Read JSON; raise GoJsonError with Go's complaint about what is none.

    Raise InputError for a text with more values or levels than any state file has.
    """
    if len(text) > MAX_CHARACTERS:
        raise InputError(f"is larger than {MAX_CHARACTERS >> 20} MiB")
    if sum(map(text.count, "[{,")) > MAX_VALUES:
        raise InputError(f"holds more than {MAX_VALUES:,} values")
    try:
        return json.loads(
            text,
            object_pairs_hook=_members,
            parse_int=Number,
            parse_float=Number,
            parse_constant=_no_json,
        )
    except (ValueError, RecursionError):
        complaint = syntax_complaint(text)
    if complaint:
        raise GoJsonError(complaint)
    raise InputError("is nested too deeply")


def kind_of(value: Json) -> str:
    """Name what a value is in Go's complaint about it."""
    match value:
        case bool():
            return "bool"
        case str():
            return "string"
        case Number():
            return "number"
        case list():
            return "array"
        case _:
            return "object"


def go_string(text: str) -> str:
    """Write a string as Go does: UTF-8 as it is, ``<``, ``>`` and ``&`` escaped."""
    return _TEXTS.encode(text).translate(_HTML_ESCAPES)


def _members(pairs: list[tuple[str, Json]]) -> Members:
    return Members([(_whole(name), _whole(value)) for name, value in pairs])


def _whole(value: Json) -> Json:
    """Replace the half characters that escapes can spell (lone surrogates), as Go does."""
    if not isinstance(value, str) or value.isascii():
        return value
    return re.sub(_HALF_CHARACTER, "\ufffd", value)


def _no_json(_word: str) -> NoReturn:
    raise ValueError
