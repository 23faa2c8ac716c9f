"""Names that keep their line through all conversions.

A tool's file is read as a configuration that is not in a file itself; errors in it must be fixed in the
tool's own file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from cpuctl.documents.document import Document, PlacedText, Syntax
from cpuctl.documents.positions import Position, Positioned

_TOML_TABLE = re.compile(r"\s*\[([^\[\]]+)\]")
_TOML_KEY = re.compile(r"""\s*([\w-]+|"[^"]*"|'[^']*')\s*=""")


class LinedName(str):
    """A name in a mapping, and its line in the file (from 1)."""

    __slots__ = ("line",)
    line: int

    @classmethod
    def at(cls, name: str, line: int) -> LinedName:
        """Return a name with its line."""
        made = cls(name)
        made.line = line
        return made


def renamed(name: str, old: str) -> str:
    """Return the kubelet's *name* with the line of *old*."""
    return LinedName.at(name, old.line) if isinstance(old, LinedName) else name


def renamed_from(name: str, fields: Mapping[str, Any], old: str) -> str:
    """Return the kubelet's *name* with the line of the member *old* of *fields*."""
    return renamed(name, next((each for each in fields if each == old), old))


def lined(document: Document) -> Any:  # noqa: ANN401  # any content
    """Return a document's value with names, and texts of several lines, that know their lines."""
    return _lined(document.value, document.placed.root(document.number), document.text.splitlines())


def _lined(value: object, placed: Positioned, lines: Sequence[str]) -> Any:  # noqa: ANN401  # any content
    if isinstance(value, dict):
        return {
            LinedName.at(name, child.position.line): _lined(member, child, lines)
            for name, member in value.items()
            if (child := placed.child(name))
        }
    if isinstance(value, list):
        items = ((item, placed.child(index)) for index, item in enumerate(value))
        return [_item(item, child, lines) if child else item for item, child in items]
    return _block(value, placed.position.line, lines) if isinstance(value, str) and "\n" in value else value


def _item(value: object, placed: Positioned, lines: Sequence[str]) -> Any:  # noqa: ANN401  # any content
    """Return an item of a list; an argument (``name=value``) is its own name."""
    line = placed.position.line
    if isinstance(value, str) and 0 < line <= len(lines) and value in lines[line - 1]:
        return LinedName.at(value, line)
    return _lined(value, placed, lines)


def _block(text: str, line: int, lines: Sequence[str]) -> str:
    """Return a text that is written line by line below the one where its scalar begins, else as it is."""
    first = text.partition("\n")[0].strip()
    below = lines[line].strip() if line < len(lines) else ""
    return LinedName.at(text, line) if first and below == first else text


def lines_before(text: str) -> int | None:
    """Return how many lines of the file come before a text inside it; None if that is not known."""
    if not isinstance(text, LinedName):
        return None
    return text.line if "\n" in text else text.line - 1


def moved(value: object, before: int | None) -> Any:  # noqa: ANN401  # any content
    """Return the content of a text inside a file with the file's lines, or without lines if unknown."""
    if isinstance(value, dict):
        return {moved(name, before): moved(member, before) for name, member in value.items()}
    if isinstance(value, LinedName):
        return str(value) if before is None else LinedName.at(value, value.line + before)
    return [moved(item, before) for item in value] if isinstance(value, list) else value


def with_toml_lines(value: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Return the content of a TOML text with names that know their lines, as far as these can be found."""
    lines: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if found := _TOML_TABLE.match(line):
            table = tuple(part.strip().strip("\"'") for part in found[1].split("."))
            lines.update(
                {table[:end]: number for end in range(1, len(table) + 1) if table[:end] not in lines}
            )
        elif found := _TOML_KEY.match(line):
            lines[*table, found[1].strip("\"'")] = number
    return _toml_lines(value, lines, ())


def _toml_lines(
    value: Mapping[str, Any], lines: Mapping[tuple[str, ...], int], path: tuple[str, ...]
) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, member in value.items():
        below = (*path, name)
        kept = LinedName.at(name, lines[below]) if below in lines else name
        result[kept] = _toml_lines(member, lines, below) if isinstance(member, dict) else member
    return result


class SourcePlaces(PlacedText):
    """The text that a kubelet would read, with places in the tool's file; what the tool adds has none."""

    def __init__(self, text: str, fields: Mapping[str, Any]) -> None:
        super().__init__(text, Syntax.JSON)
        self._root = _placed(fields, 1)

    def root(self, index: int) -> Positioned:  # noqa: ARG002  # there is one document
        """Return the places."""
        return self._root


def _placed(value: object, line: int) -> Positioned:
    place = Position(line, 1)
    if isinstance(value, Mapping):
        known = {name: each for name, each in value.items() if isinstance(name, LinedName)}
        if not known and line > 1:
            return Positioned(place, {name: _placed(each, line) for name, each in value.items()})
        return Positioned(place, {str(name): _placed(each, name.line) for name, each in known.items()})
    if isinstance(value, list):
        return Positioned(place, [_placed(item, line) for item in value])
    return Positioned(place, value)
