"""A machine's CPUs as nested boxes: sockets around NUMA nodes around L3 caches around cores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from cpuctl.cli.render.blocks import Box, Cell, Flow, Picture

Row = Mapping[str, Any]

_LEVELS = (("socket", "Socket"), ("node", "NUMA node"), ("l3", "L3"))


def machine_boxes(rows: Sequence[Row], cells: Mapping[int, Cell]) -> Iterator[Picture]:
    """Draw the CPUs of *rows* as *cells* show them, those of one core in brackets, offline ones apart."""
    longest = max((len(cell.text) for cell in cells.values()), default=0)
    even = {cpu: Cell(cell.text.rjust(longest), cell.style) for cpu, cell in cells.items()}
    yield from _boxes([row for row in rows if row["online"]], 0, even)
    offline = [row for row in rows if not row["online"]]
    if offline:
        yield Box("Offline", (Flow(tuple((even[row["cpu"]],) for row in offline)),))


def _boxes(rows: Sequence[Row], level: int, cells: Mapping[int, Cell]) -> Iterator[Picture]:
    if level == len(_LEVELS):
        yield Flow(tuple(_core(list(core), cells) for _, core in _grouped(rows, "core")))
        return
    key, name = _LEVELS[level]
    for number, members in _grouped(rows, key):
        inside = tuple(_boxes(list(members), level + 1, cells))
        if number is None:
            yield from inside
        else:
            yield Box(f"{name} {number}", inside)


def _grouped(rows: Sequence[Row], key: str) -> Iterator[tuple[int | None, Iterator[Row]]]:
    # Rows without a number come first; equal numbers keep their order.
    ordered = sorted(rows, key=lambda row: (row[key] is not None, row[key] or 0))
    return groupby(ordered, key=lambda row: row[key])


def _core(rows: Sequence[Row], cells: Mapping[int, Cell]) -> tuple[Cell, ...]:
    return (Cell("["), *(cells[row["cpu"]] for row in rows), Cell("]"))
