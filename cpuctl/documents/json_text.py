"""JSON text to plain data: the standard library reads, a small tokenizer finds places when asked."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cpuctl.documents.numbers import exact_int, finite_float
from cpuctl.documents.tree import MAX_DEPTH, Place, TextError, TreeBuilder

_LOOKS_LIKE_JSON = re.compile(r'\s*(?:\{\s*["}]|\[\s*["{\[\]])')
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]|[^\s{}\[\],:"]+')
_LONE_SURROGATE = re.compile("[\ud800-\udfff]|\\\\u[dD][89a-fA-F]")


class NotPlainJsonError(Exception):
    """The text is JSON, but the fast reader cannot take it; the careful one knows why."""


def looks_like_json(text: str) -> bool:
    """Tell JSON from YAML's own ``{a: b}`` by how it begins."""
    return _LOOKS_LIKE_JSON.match(text) is not None


def fast_values(text: str) -> list[Any]:
    """Read one JSON value or several in a row, the way nearly every input goes.

    Raise NotPlainJsonError for whatever deserves a second look: repeated keys, deep nesting, odd
    numbers, half characters; json.JSONDecodeError for what is not JSON.
    """
    hooks = _Hooks()
    try:
        values = list(_values(hooks.decoder(), text))
    except RecursionError:
        raise NotPlainJsonError from None
    if hooks.odd or not _shallow(values) or (_LONE_SURROGATE.search(text) and not _encodable(values)):
        raise NotPlainJsonError
    return values


@dataclass(slots=True)
class _Hooks:
    """What ``json`` calls back; oddities are noted and not raised, so that all syntax is checked first."""

    odd: bool = False

    def decoder(self) -> json.JSONDecoder:
        return json.JSONDecoder(
            object_pairs_hook=self.members,
            parse_int=self.integer,
            parse_float=self.fraction,
            parse_constant=self.not_finite,
        )

    def members(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) != len(pairs):
            self.odd = True
        return members

    def integer(self, text: str) -> int:
        if len(text) > 18:
            self.odd = True
            return 0
        return int(text)

    def fraction(self, text: str) -> float:
        number = float(text)
        if not math.isfinite(number):
            self.odd = True
        return number

    def not_finite(self, _: str) -> None:
        self.odd = True


def careful_documents(text: str, *, places: bool = False, last_wins: bool = False) -> Iterator[TreeBuilder]:
    """Read JSON that ``json`` has accepted token by token, so that every part has its place."""
    builder, depth = TreeBuilder(places=places, last_wins=last_wins), 0
    for token, place in _tokens(text):
        match token[0]:
            case "{":
                builder.open({}, place)
                depth += 1
            case "[":
                builder.open([], place)
                depth += 1
            case "}" | "]":
                builder.close()
                depth -= 1
            case _:
                builder.scalar(_leaf(token, place), place)
        if depth == 0:
            yield builder
            builder = TreeBuilder(places=places, last_wins=last_wins)


def _values(decoder: json.JSONDecoder, text: str) -> Iterator[Any]:
    position = _skip_blanks(text, 0)
    while position < len(text):
        if text[position] not in "{[":
            raise json.JSONDecodeError("Extra data", text, position)
        value, position = decoder.raw_decode(text, position)
        yield value
        position = _skip_blanks(text, position)


def _skip_blanks(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\n\r":
        position += 1
    return position


def _shallow(values: list[Any]) -> bool:
    """Tell whether nothing is nested deeper than accepted, level by level instead of recursively."""
    level: list[Any] = values
    for _ in range(MAX_DEPTH + 1):
        lists = [item for node in level if type(node) is list for item in node]
        level = lists + [member for node in level if type(node) is dict for member in node.values()]
        if not level:
            return True
    return False


def _encodable(values: list[Any]) -> bool:
    try:
        json.dumps(values, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _tokens(text: str) -> Iterator[tuple[str, Place]]:
    line, line_start, seen = 1, 0, 0
    for found in _TOKEN.finditer(text):
        breaks = text.count("\n", seen, found.start())
        if breaks:
            line, line_start = line + breaks, text.rindex("\n", seen, found.start()) + 1
        seen = found.start()
        yield found[0], Place(line, seen - line_start + 1)


def _leaf(token: str, place: Place) -> object:
    if token[0] == '"':
        value = json.loads(token)
        if not _encodable([value]):
            raise TextError("a text holds half a character (a lone surrogate)", place)
        return value
    if token in ("true", "false", "null"):
        return json.loads(token)
    if token in ("NaN", "Infinity", "-Infinity"):
        raise TextError(f"{token} is no JSON", place)
    return finite_float(token, place) if set(token) & set(".eE") else exact_int(token, place)


def syntax_error(error: json.JSONDecodeError) -> TextError:
    """Say in one line what is wrong with a text that is not JSON."""
    return TextError(f"not JSON: {error.msg[:1].lower()}{error.msg[1:]}", Place(error.lineno, error.colno))
