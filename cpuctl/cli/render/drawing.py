"""Tables, boxes and charts as lines of styled text, as wide as asked for.

Drawn here and not by rich's own tables: those take seconds for thousands of rows, fold headings, and end
every line in blanks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, zip_longest

from cpuctl.cli.output import takes_every_character
from cpuctl.cli.render.blocks import Box, Cell, Chart, ChartLine, Column, Flow, Picture, Table
from cpuctl.exports.timeline_picture import tick_step, tick_text
from cpuctl.visible_text import printable

_WIDE_GAP, _NARROW_GAP = 2, 1
_MORE = "..."
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
        folded = [
            [_shortened(cell, limit)] if column.cut else _folded(cell, limit)
            for cell, limit, column in zip(row, widths, table.columns, strict=True)
        ]
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


def _shortened(cell: Cell, width: int) -> Cell:
    if _length(cell) <= width:
        return cell
    from rich.cells import set_cell_size

    return Cell(set_cell_size(cell.text, width - len(_MORE)).rstrip() + _MORE, cell.style)


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


Line = list[Cell]
Drawing = list[Line]

_GAP = 2
_FRAME, _ASCII_FRAME = tuple("╭─╮│╰╯"), tuple("+-+|++")
_FRAME_WIDTH = 4
"""Columns that a frame takes on both sides, a blank inside of each included."""


def picture_lines(picture: Picture, width: int) -> Drawing:
    """Draw a picture as wide as asked for at most, while every run of cells in it fits."""
    match picture:
        case Flow(items=items):
            return _rows_of([[_spaced(item)] for item in items], width, gap=_GAP, aligned=True)
        case Box(title=title, content=content):
            inside = width - _FRAME_WIDTH
            return _framed(title, _rows_of([picture_lines(each, inside) for each in content], inside))


def _spaced(item: Sequence[Cell]) -> Line:
    return [cell for each in item for cell in (each, Cell(" "))][:-1]


def _rows_of(drawings: Sequence[Drawing], width: int, *, gap: int = 1, aligned: bool = False) -> Drawing:
    """Put drawings beside each other, as many as fit in *width*, and the rest below in the same way."""
    least = max(map(_width, drawings)) if aligned else 0
    rows: list[list[Drawing]] = [[]]
    used = 0
    for drawing in drawings:
        wide = max(_width(drawing), least) + gap
        if rows[-1] and used + wide > width + gap:
            rows.append([])
            used = 0
        rows[-1].append(drawing)
        used += wide
    return [line for row in rows for line in _beside(row, gap, least)]


def _beside(drawings: Sequence[Drawing], gap: int, least: int) -> Iterator[Line]:
    widths = [max(_width(drawing), least) + gap for drawing in drawings]
    for lines in zip_longest(*drawings, fillvalue=[]):
        joined = [cell for line, wide in zip(lines, widths, strict=True) for cell in _padded(line, wide)]
        yield joined[:-1]  # the last cell pads


def _framed(title: str, inside: Drawing) -> Drawing:
    corner, bar, end, side, low_corner, low_end = _FRAME if takes_every_character() else _ASCII_FRAME
    wide = max(_width(inside), len(title) + 1)
    return [
        [Cell(f"{corner}{bar} {title} {bar * (wide - len(title) - 1)}{end}")],
        *([Cell(f"{side} "), *_padded(line, wide), Cell(f" {side}")] for line in inside),
        [Cell(f"{low_corner}{bar * (wide + 2)}{low_end}")],
    ]


def _padded(line: Line, width: int) -> Line:
    return [*line, Cell(" " * (width - _line_width(line)))]


def _width(drawing: Drawing) -> int:
    return max(map(_line_width, drawing), default=0)


def _line_width(line: Line) -> int:
    return sum(len(cell.text) for cell in line)


_NARROWEST, _WIDEST = 20, 120
"""Columns that time takes at least, and at most."""
_LEAST_APART = 8
"""Columns between two ticks."""


def chart_lines(chart: Chart, width: int) -> Iterator[list[Cell]]:
    """Yield the axis and one line for every history."""
    indent = max(len(chart.heading), *(len(line.name) for line in chart.lines)) + 1
    columns = min(max(width - indent, _NARROWEST), _WIDEST)
    ticks = tick_step(chart.end, columns, _LEAST_APART)
    yield [Cell(f"{chart.heading:<{indent}}", "bold"), Cell(_axis(chart.end, columns, ticks), "bold")]
    for line in chart.lines:
        yield [Cell(f"{line.name:<{indent}}"), *_marks(line, chart.end, columns)]


def _marks(line: ChartLine, end: int, columns: int) -> Iterator[Cell]:
    """Show for each column how its time ends: what has changed in it is seen at once."""
    cells = (_at(line, max(end * (column + 1) // columns - 1, 0)) for column in range(columns))
    for cell, same in groupby(cells):
        yield Cell(cell.text * len(list(same)), cell.style)


def _at(line: ChartLine, time: int) -> Cell:
    blank = Cell(" ")
    return next((each.mark for each in line.stretches if each.start <= time < each.end), blank)


def _axis(end: int, columns: int, step: int) -> str:
    text = ""
    for number in range(end // step + 1):
        column = number * step * columns // max(end, 1)
        if column < columns:
            text = f"{text:<{column}}{tick_text(number * step)} "
    return text.rstrip()
