"""Boxes in boxes as lines of styled text: each as narrow as its content, side by side while they fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from cpuctl.cli.output import takes_every_character
from cpuctl.cli.render.blocks import Box, Cell, Flow, Picture

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
