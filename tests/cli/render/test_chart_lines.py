"""Charts as lines: time in columns, a mark for each moment, ticks at round times."""

from __future__ import annotations

import pytest

from cpuctl.cli.render.blocks import Cell, Chart, ChartLine, Stretch
from cpuctl.cli.render.chart_lines import chart_lines

SECOND = 1_000_000_000


def drawn(chart: Chart, width: int) -> list[str]:
    return ["".join(cell.text for cell in line) for line in chart_lines(chart, width)]


def history(*stretches: tuple[int, int, str], name: str = "0-3") -> ChartLine:
    return ChartLine(name, tuple(Stretch(start, end, Cell(mark)) for start, end, mark in stretches))


def test_a_column_shows_how_its_time_ends() -> None:
    line = history((0, 5, "A"), (5, 15, "a"), (15, 20, "."))
    assert drawn(Chart("CPUS", (line,), 20), 25)[1] == "0-3  AAAAAaaaaaaaaaa....."


def test_what_has_changed_within_a_column_is_seen() -> None:
    line = history((0, 39, "A"), (39, 40, "B"))
    assert drawn(Chart("CPUS", (line,), 40), 25)[1] == "0-3  " + "A" * 19 + "B"


def test_a_time_without_a_stretch_is_blank() -> None:
    assert drawn(Chart("CPUS", (history((10, 20, "A")),), 20), 25)[1] == "0-3  " + " " * 10 + "A" * 10


@pytest.mark.parametrize(
    ("end", "axis"),
    [
        (20 * SECOND, "CPUS 0         10s"),
        (3 * SECOND, "CPUS 0            2s"),
        (2 * SECOND, "CPUS 0         1s"),
        (250_000_000, "CPUS 0       0.1s    0.2s"),
        (3 * 3600 * SECOND, "CPUS 0            2h"),
        (20 * 60 * SECOND, "CPUS 0         10m"),
        (1, "CPUS 0"),
    ],
)
def test_ticks_are_at_round_times(end: int, axis: str) -> None:
    assert drawn(Chart("CPUS", (history((0, end, "A")),), end), 25)[0] == axis


@pytest.mark.parametrize("width", [1, 25, 10_000])
def test_time_takes_between_20_and_120_columns(width: int) -> None:
    _, line = drawn(Chart("CPUS", (history((0, SECOND, "A")),), SECOND), width)
    assert len(line) == 5 + (20 if width < 120 else 120)
