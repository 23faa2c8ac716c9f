"""A machine's CPUs as nested boxes: sockets around NUMA nodes around L3 caches around cores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Box, Cell, Flow, Picture
from cpuctl.exports.machine_picture import Core, Nested, TopologyDomain, nested

if TYPE_CHECKING:
    from cpuctl.answers.topology import PlacedCPU


def machine_boxes(rows: Sequence[PlacedCPU], cells: Mapping[int, Cell]) -> Iterator[Picture]:
    """Draw the CPUs of *rows* as *cells* show them, those of one core in brackets, offline ones apart."""
    longest = max((len(cell.text) for cell in cells.values()), default=0)
    even = {cpu: Cell(cell.text.rjust(longest), cell.style) for cpu, cell in cells.items()}
    yield from _boxes(nested(row for row in rows if row["online"]), even)
    offline = [row for row in rows if not row["online"]]
    if offline:
        yield Box("Offline", (Flow(tuple((even[row["cpu"]],) for row in offline)),))


def _boxes(content: Iterable[Nested], cells: Mapping[int, Cell]) -> Iterator[Picture]:
    for kind, group in groupby(content, key=type):
        if kind is Core:
            yield Flow(tuple(_core(core.rows, cells) for core in group if isinstance(core, Core)))
        else:
            yield from (
                Box(place.name, tuple(_boxes(place.inside, cells)))
                for place in group
                if isinstance(place, TopologyDomain)
            )


def _core(rows: Sequence[PlacedCPU], cells: Mapping[int, Cell]) -> tuple[Cell, ...]:
    return (Cell("["), *(cells[row["cpu"]] for row in rows), Cell("]"))
