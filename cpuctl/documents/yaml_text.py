"""YAML text to plain data, read the way Kubernetes reads it.

Plain scalars mean what they mean to ``sigs.k8s.io/yaml`` (YAML 1.1 as Go reads it): ``yes`` is true,
``1e3`` a number, ``2024-01-01`` and ``10:30`` texts. Parser events are used directly, because the
libyaml binding's own composer recurses and ends the process on deep nesting.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from cpuctl.documents.numbers import exact_int, finite_float
from cpuctl.documents.positions import Position
from cpuctl.documents.text_errors import MAX_DEPTH, MAX_YAML_NODES, TextError
from cpuctl.documents.tree import MERGE, TreeBuilder

if TYPE_CHECKING:
    import yaml

_UNPRINTABLE_ASCII = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f]")
_UNPRINTABLE = "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
"""Compiled only when needed: that takes as long as reading a thousand lines, and few texts need it."""
_HALF_CHARACTER = "[\ud800-\udfff]"
_INTEGER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)", re.ASCII)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_WORDS: dict[str, object] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
}
_NOT_FINITE = frozenset(
    sign + word for sign in ("", "+", "-") for word in (".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN")
)
_TAG = "tag:yaml.org,2002:"
_DIRECTIVE = "%TAG"
_MOST_DIRECTIVES = 1000
_TOO_DEEP = "exceeded maximum nesting depth"
"""libyaml's message since 0.2.6: it looks ahead, and stops before a level that is too deep is read."""
_KINDS: dict[str, tuple[type, ...]] = {
    f"{_TAG}str": (str,),
    f"{_TAG}int": (int,),
    f"{_TAG}float": (float, int),
    f"{_TAG}bool": (bool,),
    f"{_TAG}null": (type(None),),
}


class YamlReader:
    """The documents of one text; ``positions`` and ``last_wins`` as in ``TreeBuilder``."""

    def __init__(self, text: str, *, positions: bool = False, last_wins: bool = False) -> None:
        self.text = text
        self.positions = positions
        self.last_wins = last_wins

    def __iter__(self) -> Iterator[TreeBuilder]:
        """Yield every document as a finished builder; raise TextError if the text is not usable."""
        from yaml import (
            AliasEvent,
            CollectionEndEvent,
            DocumentEndEvent,
            DocumentStartEvent,
            MappingStartEvent,
            ScalarEvent,
            SequenceStartEvent,
        )

        builder = TreeBuilder()
        for event in self._events():
            # In order of frequency; a match statement would test each event against all of its classes.
            if isinstance(event, ScalarEvent):
                position = _position(event.start_mark)
                value = _scalar(event, position, as_key=builder.wants_key)
                builder.scalar(value, position, event.anchor)
            elif isinstance(event, CollectionEndEvent):
                builder.close()
            elif isinstance(event, MappingStartEvent):
                builder.open({}, _container_position(event, "map"), event.anchor)
            elif isinstance(event, SequenceStartEvent):
                builder.open([], _container_position(event, "seq"), event.anchor)
            elif isinstance(event, AliasEvent):
                builder.alias(event.anchor or "", _position(event.start_mark))
            elif isinstance(event, DocumentStartEvent):
                builder = TreeBuilder(positions=self.positions, last_wins=self.last_wins, most=MAX_YAML_NODES)
            elif isinstance(event, DocumentEndEvent):
                yield builder

    def _events(self) -> Iterator[yaml.Event]:
        import yaml

        # If the interpreter exits before the text is read to its end, the module has no names any more.
        from yaml import MarkedYAMLError, YAMLError

        if odd := _unprintable(self.text):
            position = Position.at(self.text, odd.start())
            message = f"the character U+{ord(odd[0]):04X} is not allowed in YAML"
            raise TextError(message, position, go="yaml: control characters are not allowed")
        if self.text.count(_DIRECTIVE) > _MOST_DIRECTIVES:
            # libyaml compares each with all before it.
            position = Position.at(self.text, self.text.index(_DIRECTIVE))
            raise TextError(f"more than {_MOST_DIRECTIVES} {_DIRECTIVE} directives", position)
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        try:
            yield from yaml.parse(self.text, Loader=loader)
        except MarkedYAMLError as error:
            raise _reworded(error, self.text) from None
        except (YAMLError, ValueError, OverflowError) as error:  # escapes that are not characters
            raise TextError(f"not YAML: {error}", Position(1, 1)) from None


def _unprintable(text: str) -> re.Match[str] | None:
    return _UNPRINTABLE_ASCII.search(text) if text.isascii() else re.search(_UNPRINTABLE, text)


def _position(mark: yaml.error.Mark | yaml._yaml.Mark | None) -> Position:
    # The constructor does the same in twice the time: half of the time is spent on positions.
    return Position(1, 1) if mark is None else tuple.__new__(Position, (mark.line + 1, mark.column + 1))


def _container_position(event: yaml.CollectionStartEvent, tag: str) -> Position:
    position = _position(event.start_mark)
    if event.tag not in (None, "!", _TAG + tag):
        raise _unsupported(event.tag, position)
    return position


def _scalar(event: yaml.ScalarEvent, position: Position, *, as_key: bool) -> object:
    if event.tag not in (None, "!"):
        return _tagged(event.tag, event.value, position)
    if event.tag == "!" or not event.implicit[0]:
        return _whole_text(event.value, position)
    return MERGE if as_key and event.value == "<<" else _plain(event.value, position)


def _whole_text(text: str, position: Position) -> str:
    """Reject lone surrogates, which escapes can spell (only PyYAML's own parser accepts them)."""
    if not text.isascii() and re.search(_HALF_CHARACTER, text):
        raise TextError("a string contains a lone surrogate", position)
    return text


def _tagged(tag: str, text: str, position: Position) -> object:
    if tag not in _KINDS:
        raise _unsupported(tag, position)
    if tag == f"{_TAG}str":
        return _whole_text(text, position)
    value = _plain(text, position)
    kinds = _KINDS[tag]
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise TextError(f'"{text}" is not of type {tag.removeprefix(_TAG)}, as its tag requires', position)
    return value


def _plain(text: str, position: Position) -> object:
    """Resolve an unquoted scalar."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    if text in _NOT_FINITE:
        raise TextError(f"{text} is not a number that Kubernetes accepts", position)
    digits = text.replace("_", "") if text[0] != "." else text
    if _INTEGER.fullmatch(digits):
        return exact_int(digits, position)
    if _FLOAT.fullmatch(digits):
        return finite_float(digits, position)
    return text


def _unsupported(tag: str, position: Position) -> TextError:
    shown = f"!!{tag.removeprefix(_TAG)}" if tag.startswith(_TAG) else tag
    return TextError(f"the YAML tag {shown} is not supported", position, hint="remove the tag")


_PROBLEMS = {
    "did not find expected node content while parsing a flow node": "expected a value in {...} or [...]",
}
"""The parser's messages that say nothing to people who do not know its source."""


def _reworded(error: yaml.MarkedYAMLError, text: str) -> TextError:
    position, go = _position(error.problem_mark or error.context_mark), _go_error_text(error)
    if error.problem == _TOO_DEEP:
        return TextError(f"nesting is deeper than {MAX_DEPTH} levels", position)
    lines = text.splitlines()
    line = lines[position.line - 1] if position.line <= len(lines) else ""
    if line[position.column - 1 : position.column] == "\t" and not line[: position.column - 1].strip():
        hint = "indent YAML with spaces"
        return TextError("a tab is used for indentation", position, hint, go=go)
    during = f" {error.context}" if error.context else ""
    problem = f"{error.problem}{during}"
    return TextError(f"not YAML: {_PROBLEMS.get(problem, problem)}", position, go=go)


def _go_error_text(error: yaml.MarkedYAMLError) -> str:
    """Return the error of Go's reader, which is libyaml translated; empty if unknown.

    It counts lines from 0, except in errors of the scanner, and omits line 0.
    """
    import yaml

    # PyYAML's own parser has other messages, and of libyaml's only this one never comes from Go's.
    if not hasattr(yaml, "CSafeLoader") or error.problem == "found unexpected ':'":
        return ""
    problem, context = error.problem_mark, error.context_mark
    if problem is not None and problem.line:
        line = problem.line + isinstance(error, yaml.scanner.ScannerError)
    else:
        line = context.line if context is not None else 0
    where = f"line {line}: " if line else ""
    return f"yaml: {where}{error.problem}"
