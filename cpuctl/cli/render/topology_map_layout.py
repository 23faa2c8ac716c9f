"""A machine as boxes: sockets around NUMA nodes around L3 caches around cores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from cpuctl.cli.output import Document
from cpuctl.cli.render.blocks import Block, Box, Cell, Flow, Lines, Picture

Row = Mapping[str, Any]

_LEVELS = (("socket", "Socket"), ("node", "NUMA node"), ("l3", "L3"))
_MARKS = {"offline": ("x", "dim"), "isolated": ("i", "yellow"), "efficiency": ("e", "cyan")}
_LEGEND = {
    "x": "offline",
    "i": "isolated from the scheduler (isolcpus)",
    "e": "efficiency core",
}


def blocks(document: Document, *, wide: bool) -> Iterator[Block]:  # noqa: ARG001  # every layout has this shape
    """Lay out a machine as nested boxes; the CPUs of one core stand in brackets."""
    cells = {cpu["cpu"]: _cpu(cpu) for cpu in document["cpus"]}
    longest = max((len(cell.text) for cell in cells.values()), default=0)
    cells = {cpu: Cell(cell.text.rjust(longest), cell.style) for cpu, cell in cells.items()}
    yield from _boxes([cpu for cpu in document["cpus"] if cpu["online"]], 0, cells)
    offline = [cpu for cpu in document["cpus"] if not cpu["online"]]
    if offline:
        yield Box("Offline", (Flow(tuple((cells[cpu["cpu"]],) for cpu in offline)),))
    marks = {mark for cpu in document["cpus"] if (mark := _state(cpu))}
    if marks:
        used = {_MARKS[state][0] for state in marks}
        yield Lines.of(*(f"{mark}: {meaning}" for mark, meaning in _LEGEND.items() if mark in used))


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


def _cpu(row: Row) -> Cell:
    state = _state(row)
    mark, style = _MARKS.get(state, ("", "green"))
    return Cell(f"{row['cpu']}{mark}", style)


def _state(row: Row) -> str:
    if not row["online"]:
        return "offline"
    if row["isolated"]:
        return "isolated"
    return "efficiency" if row["type"] == "efficiency" else ""
