"""Boxes in boxes: how large each is and where it stands, in rows about as wide as they are wanted.

Lengths are in the picture's unit, a pixel at its own size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, inf, log
from typing import Generic, TypeVar

T = TypeVar("T")

_EMPTY_COSTS = 2.5
"""How much worse an arrangement is where all of its last row would be empty."""


@dataclass(frozen=True, slots=True)
class Area(Generic[T]):
    """Something with a size, and what is inside of it: areas with their places from its corner."""

    content: T
    width: float
    height: float
    inside: tuple[tuple[float, float, Area[T]], ...] = ()


@dataclass(frozen=True, slots=True)
class Rows(Generic[T]):
    """Areas in rows and columns, and the size of all."""

    placed: tuple[tuple[float, float, Area[T]], ...]
    width: float
    height: float
    columns: int


def in_rows(areas: Sequence[Area[T]], gap: float, aspect: float) -> Rows[T]:
    """Put areas into even rows, so that all of them together are *aspect* times as wide as high."""
    if not areas:
        return Rows((), 0, 0, 1)
    return min((_grid(areas, columns, gap) for columns in _columns(len(areas))), key=_Cost(areas, aspect))


def in_columns(areas: Sequence[Area[T]], columns: int, gap: float) -> Rows[T]:
    """Put areas into rows of so many columns."""
    return _grid(areas, max(columns, 1), gap) if areas else Rows((), 0, 0, 1)


@dataclass(frozen=True, slots=True)
class _Cost(Generic[T]):
    areas: Sequence[Area[T]]
    aspect: float

    def __call__(self, rows: Rows[T]) -> float:
        if not rows.width or not rows.height:
            return inf
        lines = ceil(len(self.areas) / rows.columns)
        empty = (lines * rows.columns - len(self.areas)) / rows.columns
        return abs(log(rows.width / rows.height / self.aspect)) + _EMPTY_COSTS * empty


def _columns(count: int) -> Iterator[int]:
    """Yield the numbers of columns that fill as many rows as they need."""
    yield from sorted({ceil(count / lines) for lines in range(1, count + 1)})


def _grid(areas: Sequence[Area[T]], columns: int, gap: float) -> Rows[T]:
    lines = [areas[start : start + columns] for start in range(0, len(areas), columns)]
    widths = [
        max(line[column].width for line in lines if column < len(line)) for column in range(len(lines[0]))
    ]
    placed: list[tuple[float, float, Area[T]]] = []
    y = 0.0
    for line in lines:
        x = 0.0
        for area, width in zip(line, widths, strict=False):
            placed.append((x, y, area))
            x += width + gap
        y += max(area.height for area in line) + gap
    return Rows(tuple(placed), sum(widths) + gap * (len(widths) - 1), y - gap, columns)
