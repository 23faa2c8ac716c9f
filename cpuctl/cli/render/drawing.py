"""Tables, boxes and charts as lines of styled text, in the requested width.

Drawn here instead of with rich's tables: those take seconds for thousands of rows, wrap headings, and pad
every line with spaces.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, zip_longest

from cpuctl.cli.output import takes_every_character
from cpuctl.cli.render.blocks import Box, Cell, Chart, ChartLine, Column, Flow, Picture, Table
from cpuctl.exports.timeline_picture import tick_step, tick_text
from cpuctl.phrases import MORE, elided
from cpuctl.visible_text import printable

_WIDE_GAP, _NARROW_GAP = 2, 1
_HEADING = "bold"
_EMPTY = Cell("")
_READABLE, _LEGIBLE = 24, 12
"""Columns for a name that has to be cut: the first value if they fit, the second at least."""
_UID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_NODES = r"\{[0-9,-]+\}"
_WHOLE = re.compile(rf"(?:{_NODES}|[^ ,;])+[ ,;]?|[ ,;]")
_WORD = re.compile(rf"(?:{_NODES}|[^ ,;/])+[ ,;/]?|[ ,;/]")
_PIECE = re.compile(rf"(?:{_NODES}|{_UID}|[^ ,;/-]|-(?=[0-9-])|(?<![A-Za-z0-9])-)+[ ,;/-]?|[ ,;/-]")
"""Where text wraps: names at their slashes, between words, then at hyphens.

Ranges of CPUs (0-15), hints ({0,2}), options (--cpus) and UIDs stay whole.
"""
_LIST = re.compile(r"[0-9]+(?:[,-][0-9]+)*")
_PROSE = 40
"""From this width on, a text with spaces is more readable below than next to others."""


def table_lines(table: Table, width: int, *, whole: bool = False) -> Iterator[list[Cell]]:
    """Yield every line as consecutive cells; a text too long for its column wraps.

    *whole* names wrap neither at hyphens nor at slashes. No word is ever broken: if not even the words
    fit next to each other, rows stay long, as in kubectl, or, if they contain sentences, become a block each.
    """
    # A message above its details stays whole; the details wrap.
    headings = tuple(
        Cell(column.name, _HEADING, command=_text_length(column.name) > _PROSE) for column in table.columns
    )
    rows = [headings, *(tuple(_cleaned(cell) for cell in row) for row in table.rows)]
    fitted = _fitted(_wrapping(rows), [column.cut for column in table.columns], width, whole=whole)
    if table.split and (fitted is None or _breaks_lists(rows, table.columns, fitted[1])):
        first, second = _halves(table)
        yield from table_lines(first, width, whole=whole)
        yield []
        yield from table_lines(second, width, whole=whole)
        return
    if fitted is None and any(_is_prose(cell) for row in rows for cell in row):
        yield from _row_blocks(rows)
        return
    gap, widths = fitted or (_WIDE_GAP, [max(map(_length, column)) for column in _columns(rows)])
    for row in rows:
        folded = [
            [_shortened(cell, limit, column.cut)] if column.cut else _folded(cell, limit)
            for cell, limit, column in zip(row, widths, table.columns, strict=True)
        ]
        for cells in zip_longest(*folded, fillvalue=_EMPTY):
            yield _aligned(cells, table.columns, widths, gap)


def _breaks_lists(rows: Iterable[Sequence[Cell]], columns: Sequence[Column], widths: Sequence[int]) -> bool:
    """Return whether a list of CPUs does not fit on one line: parts of it are hard to compare with others."""
    return any(
        _text_length(word) > limit and _LIST.fullmatch(word)
        for row in rows
        for cell, column, limit in zip(row, columns, widths, strict=True)
        if not column.cut
        for word in cell.text.split(" ")
    )


def _halves(table: Table) -> tuple[Table, Table]:
    """Split a table's columns; the columns that name a row are in both parts, which may be split again."""
    keys, split = table.keys, table.split
    first = table.columns[:split], tuple(row[:split] for row in table.rows)
    rows = tuple((*row[:keys], *row[split:]) for row in table.rows)
    second = (*table.columns[:keys], *table.columns[split:]), rows
    return _splittable(*first, keys), _splittable(*second, keys)


def _splittable(columns: tuple[Column, ...], rows: tuple[tuple[Cell, ...], ...], keys: int) -> Table:
    others = len(columns) - keys
    return Table(columns, rows, split=keys + (others + 1) // 2 if others > 1 else 0, keys=keys)


def _wrapping(rows: Iterable[tuple[Cell, ...]]) -> list[tuple[Cell, ...]]:
    """Blank the commands: they take no part in the choice of widths."""
    return [tuple(_EMPTY if cell.command else cell for cell in row) for row in rows]


def _is_prose(cell: Cell) -> bool:
    text = cell.text.strip()  # continuation lines are indented
    return " " in text and _text_length(text) > _PROSE


def _row_blocks(rows: Sequence[tuple[Cell, ...]]) -> Iterator[list[Cell]]:
    """Yield a block of lines for every row, each text next to its heading and in full length."""
    headings, *others = rows
    indent = max(map(_length, headings)) + _WIDE_GAP
    for number, row in enumerate(others):
        if number:
            yield []
        for heading, cell in zip(headings, row, strict=True):
            if cell.text:
                yield [heading, Cell(" " * (indent - _length(heading))), cell]


def _cleaned(cell: Cell) -> Cell:
    return cell if cell.text.isprintable() else cell._replace(text=printable(cell.text))


def _fitted(
    rows: Sequence[tuple[Cell, ...]], cut: Sequence[str], width: int, *, whole: bool
) -> tuple[int, list[int]] | None:
    """Choose gap and widths: no wrapping, else between words, else also at hyphens; None if nothing fits.

    Texts that may be *cut* stay readable before anything wraps at hyphens, and always recognizable.
    """
    natural = [max(map(_length, column)) for column in _columns(rows)]
    gaps = len(natural) - 1
    if sum(natural) + _WIDE_GAP * gaps <= width:
        return _WIDE_GAP, natural
    space = width - _NARROW_GAP * gaps
    widths = natural
    narrow = ((_WORD, _READABLE), (_PIECE, _READABLE), (_PIECE, _LEGIBLE))
    for pattern, name in ((_WHOLE, _READABLE),) if whole else narrow:
        least = [
            max(_length(column[0]), _least(column, where, pattern, name))
            for column, where in zip(_columns(rows), cut, strict=True)
        ]
        widths = _shrunk(widths, [*map(min, widths, least)], space)
        if sum(widths) <= space:
            return _NARROW_GAP, widths
    # A blank heading is a message: its details stay in their column, even if long words do not fit.
    return (_NARROW_GAP, widths) if _EMPTY in rows[0] else None


def _least(column: Iterable[Cell], cut: str, pattern: re.Pattern[str], name: int) -> int:
    """Return the width that a column needs: its longest piece or, for texts cut in the middle, *name*."""
    if cut:
        return name if cut == "middle" else 0
    return max(_longest(pattern, cell) for cell in column)


def _columns(rows: Sequence[tuple[Cell, ...]]) -> Iterable[tuple[Cell, ...]]:
    return zip(*rows, strict=True)


def _shrunk(widths: Sequence[int], least: Sequence[int], space: int) -> list[int]:
    """Shrink the column with the most spare width, repeatedly, until all fit or none can shrink further."""
    spare = [width - low for width, low in zip(widths, least, strict=True)]
    for _ in range(sum(widths) - space):
        most = max(spare)
        if most == 0:
            break
        spare[len(spare) - 1 - spare[::-1].index(most)] -= 1  # the last of equals: it holds prose if any does
    return [low + more for low, more in zip(least, spare, strict=True)]


def _shortened(cell: Cell, width: int, where: str) -> Cell:
    if _length(cell) <= width:
        return cell
    # Not UIDs: they differ at their beginning.
    if where == "middle" and cell.text.isascii() and not re.search(_UID, cell.text):
        return Cell(elided(cell.text, width), cell.style)
    from rich.cells import set_cell_size

    return Cell(set_cell_size(cell.text, width - len(MORE)).rstrip() + MORE, cell.style)


def _folded(cell: Cell, width: int) -> list[Cell]:
    """Wrap between the largest parts that fit."""
    if cell.command or _length(cell) <= width:
        return [cell]
    lines = [""]
    pattern = next((each for each in (_WHOLE, _WORD) if _longest(each, cell) <= width), _PIECE)
    for piece in pattern.findall(cell.text):
        if _text_length(lines[-1] + piece.rstrip()) <= width:
            lines[-1] += piece
        else:
            lines.append(piece)
    return [Cell(line.rstrip(), cell.style) for line in lines if line]


def _longest(pattern: re.Pattern[str], cell: Cell) -> int:
    return max((_text_length(piece.rstrip()) for piece in pattern.findall(cell.text)), default=0)


def _length(cell: Cell) -> int:
    return _text_length(cell.text)


def _text_length(text: str) -> int:
    """Count terminal columns: two for each Chinese character, none for a combining accent."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _aligned(cells: Sequence[Cell], columns: Sequence[Column], widths: Sequence[int], gap: int) -> list[Cell]:
    """Put spaces between the cells of one line, and none after the last text."""
    line: list[Cell] = []
    blanks = 0
    for cell, column, width in zip(cells, columns, widths, strict=True):
        padding = width - _length(cell)
        before = padding if column.justify == "right" else 0
        if cell.text:
            line.append(Cell(" " * (blanks + before)))
            line.append(cell)
            blanks = 0
        else:
            blanks += before
        blanks += padding - before + gap
    return line


Line = list[Cell]
Drawing = list[Line]

_GAP = 2
_FRAME, _ASCII_FRAME = tuple("╭─╮│╰╯"), tuple("+-+|++")
_FRAME_WIDTH = 4
"""Columns that a frame takes on both sides, including a space inside each."""


def picture_lines(picture: Picture, width: int) -> Drawing:
    """Draw a picture at most as wide as requested, as long as every run of cells fits."""
    match picture:
        case Flow(items=items):
            return _rows_of([[_spaced(item)] for item in items], width, gap=_GAP, aligned=True)
        case Box(title=title, content=content):
            inside = width - _FRAME_WIDTH
            return _framed(title, _rows_of([picture_lines(each, inside) for each in content], inside))


def _spaced(item: Sequence[Cell]) -> Line:
    return [cell for each in item for cell in (each, Cell(" "))][:-1]


def _rows_of(drawings: Sequence[Drawing], width: int, *, gap: int = 1, aligned: bool = False) -> Drawing:
    """Put drawings next to each other, as many as fit in *width*, and the rest below in the same way."""
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
    return [line for row in rows for line in _side_by_side(row, gap, least)]


def _side_by_side(drawings: Sequence[Drawing], gap: int, least: int) -> Iterator[Line]:
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
"""The minimum and maximum width of a time axis."""
_LEAST_APART = 8
"""Columns between two ticks."""


def chart_lines(chart: Chart, width: int) -> Iterator[list[Cell]]:
    """Yield the axis and one line per history."""
    indent = max(len(chart.heading), *(len(line.name) for line in chart.lines)) + 1
    columns = min(max(width - indent, _NARROWEST), _WIDEST)
    ticks = tick_step(chart.end, columns, _LEAST_APART)
    yield [Cell(f"{chart.heading:<{indent}}", "bold"), Cell(_axis(chart.end, columns, ticks), "bold")]
    for line in chart.lines:
        yield [Cell(f"{line.name:<{indent}}"), *_marks(line, chart.end, columns)]


def _marks(line: ChartLine, end: int, columns: int) -> Iterator[Cell]:
    """Show for each column the mark at the end of its time, and always show a change within it."""
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
