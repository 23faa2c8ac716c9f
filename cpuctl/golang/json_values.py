"""JSON as Go's ``encoding/json`` reads and writes it; ``state_types`` decodes what is read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NoReturn, TypeAlias

from cpuctl.errors import InputError
from cpuctl.golang.text import GoError, escaped
from cpuctl.records import Record

MAX_CHARACTERS = 16 << 20
"""A hundred times the size for a node full of pods with exclusive CPUs."""
MAX_VALUES = 250_000
"""Values in one text: a node full of pods has a few thousand."""


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
    """The text is not JSON; the message is Go's."""


class Number(Record):
    """A JSON number as it is written: its largest value depends on the reader."""

    text: str


class Members(Record):
    """A JSON object: its members in the order of the text, repeated ones too."""

    pairs: list[tuple[str, Json]]


def parsed_json(text: str) -> Json:
    """Read JSON; raise GoJsonError with Go's error for invalid JSON.

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
        complaint = syntax_error_text(text)
    if complaint:
        raise GoJsonError(complaint)
    raise InputError("is nested too deeply")


def kind_of(value: Json) -> str:
    """Return a value's kind as Go's complaints name it."""
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
    """Replace lone surrogates, which escapes can produce, as Go does."""
    if not isinstance(value, str) or value.isascii():
        return value
    return re.sub(_HALF_CHARACTER, "\ufffd", value)


def _no_json(_word: str) -> NoReturn:
    raise ValueError


# The error of Go's ``encoding/json`` for text that is not JSON: its scanner's first complaint.
#
# Texts are normally read by Python's own reader; this one only scans invalid text, to find Go's words.

MAX_DEPTH = 10_000
"""Levels of nesting that Go accepts."""

_END = "unexpected end of JSON input"
_VALUE = "looking for beginning of value"
_LITERALS = {"t": "true", "f": "false", "n": "null"}
_BLANK = re.compile(r"[ \t\r\n]*+")
_PLAIN = re.compile(r'[^"\\\x00-\x1f]*+')
_DIGITS = re.compile(r"[0-9]*+", re.ASCII)
_HEX = "0123456789abcdefABCDEF"


class _BrokenError(Exception):
    """The complaint."""


def syntax_error_text(text: str) -> str:
    """Return Go's complaint; an empty text if the text is JSON."""
    try:
        _Scanner(text).run()
    except _BrokenError as broken:
        return str(broken)
    return ""


class _Scanner:
    """A position in the text and the open brackets; no method recurses."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.open: list[str] = []

    def run(self) -> None:
        next_: Callable[[], bool] = self._value
        more = True
        while more:
            self._skip(_BLANK)
            done = next_()
            self._skip(_BLANK)
            next_ = self._value if not done else self._after_value
            more = not done or bool(self.open)
        if self.at < len(self.text):
            raise self._invalid("after top-level value")

    def _value(self) -> bool:
        """Read a scalar or the opening of a container; return whether a value is complete."""
        first = self._peek()
        if first in "{[":
            return self._opened(first)
        if first == '"':
            self._string()
        elif first in _LITERALS:
            self._literal(_LITERALS[first])
        elif first in "-0123456789":
            self._number()
        else:
            raise self._invalid(_VALUE)
        return True

    def _opened(self, bracket: str) -> bool:
        if len(self.open) == MAX_DEPTH:
            raise self._invalid("exceeded max depth")
        self.at += 1
        self.open.append(bracket)
        self._skip(_BLANK)
        if self._peek() == "]}"["[{".index(bracket)]:
            self.at += 1
            self.open.pop()
            return True
        if bracket == "{":
            self._key()
        return False

    def _after_value(self) -> bool:
        """Read what follows a value inside a container; return whether that completes a value."""
        inside = self.open[-1]
        found = self._peek()
        if found == ",":
            self.at += 1
            if inside == "{":
                self._key()
            return False
        if found != ("}" if inside == "{" else "]"):
            raise self._invalid("after object key:value pair" if inside == "{" else "after array element")
        self.at += 1
        self.open.pop()
        return True

    def _key(self) -> None:
        self._skip(_BLANK)
        if self._peek() != '"':
            raise self._invalid("looking for beginning of object key string")
        self._string()
        self._skip(_BLANK)
        if self._peek() != ":":
            raise self._invalid("after object key")
        self.at += 1

    def _string(self) -> None:
        self.at += 1
        while True:
            self._skip(_PLAIN)
            found = self._peek()
            if found == '"':
                self.at += 1
                return
            if found != "\\":
                raise self._invalid("in string literal")
            self.at += 1
            self._escape()

    def _escape(self) -> None:
        found = self._inside()
        if found not in '"\\/bfnrtu':
            raise self._invalid("in string escape code")
        self.at += 1
        for _ in range(4 if found == "u" else 0):
            if self._inside() not in _HEX:
                raise self._invalid(r"in \u hexadecimal character escape")
            self.at += 1

    def _literal(self, word: str) -> None:
        for index, letter in enumerate(word):
            if self._inside() != letter:
                raise self._invalid(f"in literal {word} (expecting '{letter}')")
            self.at += 1 if index < len(word) else 0

    def _number(self) -> None:
        if self._peek() == "-":
            self.at += 1
            self._digit("in numeric literal")
        zero = self._peek() == "0"
        self.at += 1
        if not zero:
            self._skip(_DIGITS)
        if self._follows("."):
            self._digit("after decimal point in numeric literal")
            self._skip(_DIGITS)
        if self._follows("eE"):
            self._follows("+-")
            self._digit("in exponent of numeric literal")
            self._skip(_DIGITS)

    def _digit(self, where: str) -> None:
        if self._inside() not in "0123456789":
            raise self._invalid(where)

    def _follows(self, marks: str) -> bool:
        found = self.at < len(self.text) and self.text[self.at] in marks
        self.at += found
        return found

    def _skip(self, pattern: re.Pattern[str]) -> None:
        found = pattern.match(self.text, self.at)
        assert found is not None
        self.at = found.end()

    def _peek(self) -> str:
        if self.at >= len(self.text):
            raise _BrokenError(_END)
        return self.text[self.at]

    def _inside(self) -> str:
        """Return the next character of a token: at the end of the text, Go reports a blank."""
        return self.text[self.at] if self.at < len(self.text) else " "

    def _invalid(self, where: str) -> _BrokenError:
        return _BrokenError(f"invalid character {_quoted(self._inside())} {where}")


def _quoted(char: str) -> str:
    """Write a character as Go does in such a complaint: it sees only the first of several bytes."""
    char = char.encode(errors="replace")[:1].decode("latin-1")
    return r"'\''" if char == "'" else "'\"'" if char == '"' else f"'{escaped(char)}'"
