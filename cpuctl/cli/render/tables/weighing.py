"""How a policy in the kubelet's place came to its CPUs: what it filtered, how it scored, which set won."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Cell

if TYPE_CHECKING:
    from cpuctl.answers.decisions import Container, Weighing

_SETS_SHOWN = 8


def weighing_rows(containers: Iterable[Container]) -> Iterator[tuple[Cell, ...]]:
    """Yield rows of container, what it is about, score and CPUs."""
    for container in containers:
        for weighing in container.get("weighings", ()) if container["exclusive"] else ():
            name = Cell(f"{container['name']}{' (the rest)' if weighing['aside'] else ''}")
            for row in _rows(weighing):
                yield name, *row
                name = Cell("")


def _rows(weighing: Weighing) -> Iterator[tuple[Cell, ...]]:
    if weighing["removed"]:
        yield Cell("filtered out"), Cell("-"), Cell(weighing["removed"])
    if len(weighing["scores"]) > 1:
        for each in weighing["scores"]:
            yield Cell("CPUs"), Cell(f"{each['score']:g}"), Cell(each["cpus"])
    for place, each in enumerate(weighing["sets"][:_SETS_SHOWN]):
        style = "" if place else "green"
        yield Cell("set" if place else "set, taken", style), Cell(f"{each['score']:g}"), Cell(each["cpus"])
    if (more := weighing["setsInAll"] - _SETS_SHOWN) > 0:
        yield Cell(f"and {more} more sets"), Cell(""), Cell("")
