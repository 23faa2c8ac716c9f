"""Conversion of terminal layouts into parts of a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from cpuctl.cli.render.blocks import Block, Cell, Lines, Table
from cpuctl.exports.page import Grid, Heading, Part, Sentences, StyledText, Tone

_TONES: Mapping[str, Tone] = {"red": "bad", "bold red": "bad", "yellow": "warn"}


def page_parts(blocks: Iterable[Block]) -> Iterator[Part]:
    """Convert tables and sentences."""
    for block in blocks:
        match block:
            case Lines(lines=lines):
                yield Sentences(tuple(map(styled_text, lines)))
            case Table(columns=columns, rows=rows):
                headings = tuple(Heading(column.name, column.justify == "right") for column in columns)
                yield Grid(headings, tuple(tuple(map(styled_text, row)) for row in rows))
            case _:
                raise AssertionError(type(block))  # no page has boxes or charts


def styled_text(cell: Cell) -> StyledText:
    """Convert a text, and mark whether it is bad news."""
    return StyledText(cell.text, _TONES.get(cell.style, ""))
