"""Tables and short paragraphs for people, laid out per kind of answer."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from cpuctl.cli.output import Document, Output, Style
from cpuctl.cli.render.blocks import Block, Box, Cell, Flow, Lines, Table

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

PIPE_WIDTH = 10_000
"""Columns assumed where no terminal says otherwise: what reads a pipe wants whole lines."""

PICTURE_WIDTH = 160
"""Columns that boxes take at most: they fill what they are given."""


def write(document: Document, style: Style) -> None:
    """Lay the document out and write it, as wide as the terminal is."""
    from rich.console import Console

    layout = import_module(f"cpuctl.cli.render.{style.layout or document['kind'].lower()}_layout")
    console = Console(
        file=sys.stdout,
        width=_width(),
        no_color=not style.color or None,
        highlight=False,
        markup=False,
        emoji=False,
    )
    for index, block in enumerate(layout.blocks(document, wide=style.output is Output.WIDE)):
        if index:
            console.print()
        if isinstance(block, Lines):
            for line in block.lines:
                console.print(_text(line), soft_wrap=True)
        else:
            console.print(
                _drawn(block), width=min(console.width, PICTURE_WIDTH) if _is_picture(block) else None
            )


def _is_picture(block: Block) -> bool:
    return isinstance(block, Box | Flow)


def _width() -> int | None:
    if sys.stdout.isatty():
        return None
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdecimal() and int(columns) > 0 else PIPE_WIDTH


def _drawn(block: Block) -> RenderableType:
    from rich.text import Text

    match block:
        case Lines(lines=lines):
            return Text("\n").join(_text(line) for line in lines)
        case Table():
            return _table(block)
        case Flow(items=items):
            from rich.columns import Columns

            return Columns([Text(" ").join(_text(cell) for cell in item) for item in items], padding=(0, 2))
        case Box(title=title, content=content):
            from rich.console import Group
            from rich.panel import Panel

            inside = Group(*(_drawn(each) for each in content))
            return Panel(inside, title=title, title_align="left", padding=(0, 1), expand=False)


def _table(block: Table) -> RenderableType:
    from rich.table import Table as RichTable

    table = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in block.columns:
        table.add_column(column.name, justify=column.justify, overflow="fold", header_style="bold")
    for row in block.rows:
        table.add_row(*[_text(cell) for cell in row])
    return table


def _text(cell: Cell) -> Text:
    from rich.text import Text

    return Text(cell.text, style=cell.style)
