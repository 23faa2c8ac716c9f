"""What a layout is made of: paragraphs, tables and boxes of styled text, no drawing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Cell:
    """Some text and the style it is shown in, where colour is possible."""

    text: str
    style: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """A column's heading and alignment."""

    name: str
    justify: Literal["left", "right"] = "left"


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of text, one below the other."""

    lines: tuple[Cell, ...]

    @classmethod
    def of(cls, *texts: str) -> Lines:
        """Make unstyled lines."""
        return cls(tuple(Cell(text) for text in texts))


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under headings."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class Flow:
    """Items side by side, as many as fit; an item is a run of cells that stays together."""

    items: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class Box:
    """Blocks inside a titled frame."""

    title: str
    content: tuple[Picture, ...]


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of time in nanoseconds, and the mark that every moment of it has."""

    start: int
    end: int
    mark: Cell


@dataclass(frozen=True, slots=True)
class ChartLine:
    """One history: stretches that follow each other."""

    name: str
    stretches: tuple[Stretch, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """Histories over the same time, from 0 nanoseconds to ``end``."""

    heading: str
    lines: tuple[ChartLine, ...]
    end: int


Picture = Flow | Box
Block = Lines | Table | Picture | Chart
