"""JSON text to plain data: the standard library reads, a small tokenizer finds positions on request."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from itertools import count, islice
from typing import TYPE_CHECKING, Any

from cpuctl.documents.numbers import exact_int, finite_float
from cpuctl.documents.positions import Position
from cpuctl.documents.text_errors import (
    MAX_DEPTH,
    MAX_DOCUMENTS,
    MAX_NODES,
    TextError,
    too_many_documents,
    too_many_values,
)

if TYPE_CHECKING:
    from cpuctl.documents.tree import TreeBuilder

# Possessive repeats: without them the expression remembers a backtracking point for every character.
_LEXEME = r'"(?:[^"\\]++|\\.)*+"|[{}\[\]]|[^\s{}\[\],:"]+'
_TEXT_OR_MARK = r'"(?:[^"\\]++|\\.)*+"|[\[{](?!\s*[\]}])|,'
"""A string, or the character before every value but the first: a bracket or a comma."""
_LONE_SURROGATE = "[\ud800-\udfff]|\\\\u[dD][89a-fA-F]"


class NotPlainJsonError(Exception):
    """The text is JSON, but the fast reader cannot read it; the slow reader finds out why."""


def fast_values(text: str) -> list[tuple[int, Any]]:
    """Read one or several consecutive JSON values, each with its line: the fast path for nearly every input.

    Raise TextError for too many values, before they fill the memory; NotPlainJsonError for what needs
    the slow reader (repeated keys, deep nesting, odd numbers, lone surrogates); json.JSONDecodeError for what
    is not JSON.
    """
    _refuse_too_many(text)
    hooks = _Hooks()
    try:
        found = list(_values(hooks.decoder(), text))
    except RecursionError:
        raise NotPlainJsonError from None
    values = [value for _, value in found]
    if hooks.odd or not _shallow(values) or (_has_surrogates(text) and not _encodable(values)):
        raise NotPlainJsonError
    return found


def _has_surrogates(text: str) -> bool:
    might = "\\u" in text or not text.isascii()
    return might and re.search(_LONE_SURROGATE, text) is not None


def _refuse_too_many(text: str) -> None:
    if sum(map(text.count, "[{,")) < MAX_NODES:
        return  # a quick estimate, too high if strings contain such characters
    marks = (found for found in re.finditer(_TEXT_OR_MARK, text) if found[0][0] != '"')
    beyond = next(islice(marks, MAX_NODES - 1, None), None)
    if beyond is not None:
        raise too_many_values(Position.at(text, beyond.start()))


class _Hooks:
    """The callbacks of ``json``; irregularities are recorded, not raised: all syntax is checked first."""

    def __init__(self) -> None:
        self.odd = False

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


def token_documents(text: str, *, positions: bool = False, last_wins: bool = False) -> Iterator[TreeBuilder]:
    """Read JSON that ``json`` has accepted token by token, so that every part has its position."""
    from cpuctl.documents.tree import TreeBuilder

    builder, depth = TreeBuilder(positions=positions, last_wins=last_wins), 0
    for token, position in _tokens(text):
        match token[0]:
            case "{":
                builder.open({}, position)
                depth += 1
            case "[":
                builder.open([], position)
                depth += 1
            case "}" | "]":
                builder.close()
                depth -= 1
            case _:
                builder.scalar(_leaf(token, position), position)
        if depth == 0:
            yield builder
            builder = TreeBuilder(positions=positions, last_wins=last_wins)


def _values(decoder: json.JSONDecoder, text: str) -> Iterator[tuple[int, Any]]:
    line, end = 1, 0
    for number in count(1):
        begin = _skip_blanks(text, end)
        line += text.count("\n", end, begin)
        if begin == len(text):
            return
        if text[begin] not in "{[":
            raise json.JSONDecodeError("Extra data", text, begin)
        if number > MAX_DOCUMENTS:
            raise too_many_documents(Position(line, 1))
        value, end = decoder.raw_decode(text, begin)
        yield line, value
        line += text.count("\n", begin, end)


def _skip_blanks(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\n\r":
        position += 1
    return position


def _shallow(values: list[Any]) -> bool:
    """Return whether the nesting is within the limit, level by level instead of recursively."""
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


def _tokens(text: str) -> Iterator[tuple[str, Position]]:
    line, line_start, seen = 1, 0, 0
    for found in re.finditer(_LEXEME, text):
        breaks = text.count("\n", seen, found.start())
        if breaks:
            line, line_start = line + breaks, text.rindex("\n", seen, found.start()) + 1
        seen = found.start()
        yield found[0], Position(line, seen - line_start + 1)


def token_at(text: str, position: Position, *, after_key: bool) -> str:
    """Return the token at a position, or the one after it if that is a key."""
    start = 0
    for _ in range(position.line - 1):
        start = text.index("\n", start) + 1
    tokens = re.compile(_LEXEME).finditer(text, start + position.column - 1)
    return next(islice(tokens, int(after_key), None))[0]


def _leaf(token: str, position: Position) -> object:
    if token[0] == '"':
        value = json.loads(token)
        if not _encodable([value]):
            raise TextError("a string contains a lone surrogate", position)
        return value
    if token in ("true", "false", "null"):
        return json.loads(token)
    if token in ("NaN", "Infinity", "-Infinity"):
        raise TextError(f"{token} is not valid JSON", position)
    return finite_float(token, position) if set(token) & set(".eE") else exact_int(token, position)


def syntax_error(error: json.JSONDecodeError) -> TextError:
    """Describe why a text is not JSON, in words that do not depend on Python's release."""
    rest = error.doc[error.pos :].lstrip()
    if not rest:
        problem = "unexpected end of JSON"
    elif error.msg.startswith("Unterminated string"):
        problem = "unterminated string"
    else:
        problem = f"unexpected {rest[0]!r}"
    return TextError(f"not JSON: {problem}", Position(error.lineno, error.colno))
