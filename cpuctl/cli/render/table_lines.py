"""Tables as lines of styled text, as wide as asked for at most while their headings fit.

Drawn here and not by rich's own tables: those take seconds for thousands of rows, fold headings, and end
every line in blanks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from cpuctl.cli.render.blocks import Cell, Column, Table
from cpuctl.visible_text import printable

_WIDE_GAP, _NARROW_GAP = 2, 1
_HEADING = "bold"
_EMPTY = Cell("")
_PIECE = re.compile(r"(?:[^ ,;/-]|-(?=[0-9]))+[ ,;/-]?|[ ,;/-]")
"""What a text is folded between: it ends in a blank or separator, and ranges of CPUs (0-15) stay whole."""


def table_lines(table: Table, width: int) -> Iterator[list[Cell]]:
    """Yield every line as cells that follow each other; a text too long for its column goes on below."""
    headings = tuple(Cell(column.name, _HEADING) for column in table.columns)
    rows = [headings, *(tuple(_cleaned(cell) for cell in row) for row in table.rows)]
    gap, widths = _fitted(rows, width)
    for row in rows:
        folded = [_folded(cell, limit) for cell, limit in zip(row, widths, strict=True)]
        for cells in zip_longest(*folded, fillvalue=_EMPTY):
            yield _aligned(cells, table.columns, widths, gap)


def _cleaned(cell: Cell) -> Cell:
    return cell if cell.text.isprintable() else Cell(printable(cell.text), cell.style)


def _fitted(rows: Sequence[tuple[Cell, ...]], width: int) -> tuple[int, list[int]]:
    """Choose gap and column widths: no fold at all, else between pieces, else down to the headings."""
    natural = [max(map(_length, column)) for column in _columns(rows)]
    gaps = len(natural) - 1
    if sum(natural) + _WIDE_GAP * gaps <= width:
        return _WIDE_GAP, natural
    room = width - _NARROW_GAP * gaps
    headings = [_length(cell) for cell in rows[0]]
    pieces = [max(map(_longest_piece, column)) for column in _columns(rows)]
    folded = _shrunk(natural, [*map(max, headings, pieces)], room)
    return _NARROW_GAP, _shrunk(folded, headings, room)


def _columns(rows: Sequence[tuple[Cell, ...]]) -> Iterable[tuple[Cell, ...]]:
    return zip(*rows, strict=True)


def _shrunk(widths: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Take from the column that has most to spare, again and again, until all fit or none can give more."""
    spare = [width - low for width, low in zip(widths, least, strict=True)]
    for _ in range(sum(widths) - room):
        most = max(spare)
        if most == 0:
            break
        spare[len(spare) - 1 - spare[::-1].index(most)] -= 1  # of equals the last: it holds prose if any does
    return [low + more for low, more in zip(least, spare, strict=True)]


def _folded(cell: Cell, width: int) -> list[Cell]:
    if _length(cell) <= width:
        return [cell]
    lines = [""]
    for piece in _PIECE.findall(cell.text):
        if _text_length(lines[-1] + piece.rstrip()) <= width:
            lines[-1] += piece
        else:
            lines.extend(_cut(piece, width))
    return [Cell(line.rstrip(), cell.style) for line in lines if line]


def _cut(piece: str, width: int) -> list[str]:
    from rich.cells import chop_cells

    return [piece] if _text_length(piece.rstrip()) <= width else chop_cells(piece, width)


def _longest_piece(cell: Cell) -> int:
    return max((_text_length(piece.rstrip()) for piece in _PIECE.findall(cell.text)), default=0)


def _length(cell: Cell) -> int:
    return _text_length(cell.text)


def _text_length(text: str) -> int:
    """Count the terminal's columns: two for each Chinese character, none for an accent of its own."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _aligned(cells: Sequence[Cell], columns: Sequence[Column], widths: Sequence[int], gap: int) -> list[Cell]:
    """Put blanks between the cells of one line, and none behind the last text."""
    line: list[Cell] = []
    blanks = 0
    for cell, column, width in zip(cells, columns, widths, strict=True):
        beside = width - _length(cell)
        before = beside if column.justify == "right" else 0
        if cell.text:
            line.append(Cell(" " * (blanks + before)))
            line.append(cell)
            blanks = 0
        else:
            blanks += before
        blanks += beside - before + gap
    return line
