"""A machine's CPUs in their places: sockets around NUMA nodes around L3 caches around cores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from cpuctl.answers.topology import PlacedCPU

Level = Literal["socket", "node", "l3"]
LEVELS: Final[tuple[tuple[Level, str], ...]] = (("socket", "Socket"), ("node", "NUMA node"), ("l3", "L3"))
"""The member of a row that tells the place, and what people call such a place."""


class Core(NamedTuple):
    """The CPUs of one core, or of which no core is known."""

    rows: tuple[PlacedCPU, ...]


class TopologyDomain(NamedTuple):
    """A socket, NUMA node or L3 cache; ``level`` is its key in rows."""

    level: Level
    number: int
    name: str
    inside: tuple[Nested, ...]


Nested = Core | TopologyDomain


def nested(rows: Iterable[PlacedCPU], level: int = 0) -> Iterator[Nested]:
    """Sort CPUs into places; where a CPU's place is not known, its cores stand for themselves."""
    if level == len(LEVELS):
        yield from (Core(tuple(core)) for _, core in _grouped(rows, "core"))
        return
    key, name = LEVELS[level]
    for number, members in _grouped(rows, key):
        inside = nested(members, level + 1)
        if number is None:
            yield from inside
        else:
            yield TopologyDomain(key, number, f"{name} {number}", tuple(inside))


def _grouped(
    rows: Iterable[PlacedCPU], key: Literal[Level, "core"]
) -> Iterator[tuple[int | None, Iterator[PlacedCPU]]]:
    # Rows without a number come first; equal numbers keep their order.
    ordered = sorted(rows, key=lambda row: (row[key] is not None, row[key] or 0))
    return groupby(ordered, key=lambda row: row[key])
