"""A chart of histories as lines of styled text: a mark for each stretch of time, as wide as asked for."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from cpuctl.cli.render.blocks import Cell, Chart, ChartLine

_NARROWEST, _WIDEST = 20, 120
"""Columns that time takes at least, and at most."""
_LEAST_APART = 8
"""Columns between two ticks."""
_SECOND = 1_000_000_000
_MINUTE, _HOUR = 60 * _SECOND, 3600 * _SECOND
_STEPS = (
    *(number * unit for unit in (1, 1000, 1_000_000) for number in (1, 2, 5, 10, 20, 50, 100, 200, 500)),
    *(number * unit for unit in (_SECOND, _MINUTE) for number in (1, 2, 5, 10, 15, 30)),
    *(number * _HOUR for number in (1, 2, 4, 6, 12, 24, 48, 96, 168)),
)
"""Round times, in nanoseconds."""


def chart_lines(chart: Chart, width: int) -> Iterator[list[Cell]]:
    """Yield the axis and one line for every history."""
    indent = max(len(chart.heading), *(len(line.name) for line in chart.lines)) + 1
    columns = min(max(width - indent, _NARROWEST), _WIDEST)
    ticks = _ticks(chart.end, columns)
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


def _ticks(end: int, columns: int) -> int:
    """Choose a round time between ticks that are far enough apart."""
    return next((step for step in _STEPS if step * columns >= end * _LEAST_APART), _STEPS[-1])


def _axis(end: int, columns: int, step: int) -> str:
    text = ""
    for number in range(end // step + 1):
        column = number * step * columns // max(end, 1)
        if column < columns:
            text = f"{text:<{column}}{_tick_text(number * step)} "
    return text.rstrip()


def _tick_text(time: int) -> str:
    """Write a round time in the unit that reads best: ``0.5s``, ``90s``, ``2m``."""
    for unit, name in ((_HOUR, "h"), (_MINUTE, "m")):
        if time and time % unit == 0:
            return f"{time // unit}{name}"
    return f"{time / _SECOND:g}s" if time else "0"
