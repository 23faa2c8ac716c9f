"""Tables and short paragraphs for people, with a layout for each kind of answer."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING

from cpuctl.cli.output import Document, Output, Style
from cpuctl.cli.render.blocks import Block, Box, Cell, Chart, Flow, Lines, Table
from cpuctl.cli.render.drawing import chart_lines, picture_lines, table_lines
from cpuctl.visible_text import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.segment import Segment

PIPE_WIDTH = 10_000
"""The width assumed if there is no terminal: programs that read a pipe need whole lines."""

_HEIGHT = 100

PICTURE_WIDTH = 160
"""The maximum width of boxes: wider rows of boxes are unreadable."""


def write(document: Document, style: Style) -> None:
    """Lay the document out for the width of the terminal, and write it."""
    layout = import_module(f"cpuctl.cli.render.layouts.{style.layout or document['kind'].lower()}")
    wide = style.output == Output.WIDE
    blocks: Iterator[Block] = getattr(layout, style.view)(document, wide=wide)
    console = _console(style)
    for index, block in enumerate(blocks):
        if index:
            console.print()
        match block:
            case Lines(lines=lines):
                _write_lines(console, ([line] for line in lines))
            case Table():
                _write_lines(console, table_lines(block, console.width, whole=wide))
            case Chart():
                _write_lines(console, chart_lines(block, console.width))
            case Flow() | Box():
                _write_lines(console, picture_lines(block, min(console.width, PICTURE_WIDTH)))


def _console(style: Style) -> Console:
    from rich.console import Console

    # Without a colour system there are no escape codes at all; rich's own NO_COLOR leaves bold and dim.
    plain = not style.color or bool(os.environ.get("NO_COLOR"))
    width = _width()
    return Console(
        file=sys.stdout,
        width=width,
        # Nothing here depends on it; without it, rich queries the terminal again for every block.
        height=None if width is None else _HEIGHT,
        color_system=None if plain else "auto",
        no_color=plain,  # rich before 14 treats an empty NO_COLOR as set
        highlight=False,
        markup=False,
        emoji=False,
    )


def _width() -> int | None:
    if sys.stdout.isatty():
        return None
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdecimal() and int(columns) > 0 else PIPE_WIDTH


def _write_lines(console: Console, lines: Iterable[list[Cell]]) -> None:
    """Write lines as they are, however long: the terminal wraps them, and a pipe gets each as one line."""
    from rich.segment import Segments

    console.print(Segments(_segments(console, lines)), soft_wrap=True, end="")


def _segments(console: Console, lines: Iterable[list[Cell]]) -> Iterator[Segment]:
    from rich.segment import Segment

    for line in lines:
        for cell in line:
            yield Segment(printable(cell.text), console.get_style(cell.style) if cell.style else None)
        yield Segment.line()
