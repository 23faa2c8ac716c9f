"""A chart of histories as lines of styled text: a mark for each stretch of time, as wide as asked for."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from cpuctl.cli.render.blocks import Cell, Chart, ChartLine
from cpuctl.exports.timeline.facts import tick_step, tick_text

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
