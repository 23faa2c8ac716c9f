"""What a layout is made of: paragraphs, tables and boxes of styled text, no drawing."""

from typing import Literal, NamedTuple


class Cell(NamedTuple):
    """Some text and the style it is shown in, where colour is possible."""

    text: str
    style: str = ""


class Column(NamedTuple):
    """A column's heading and alignment; a text too long is *cut* at its end or middle, or goes on below.

    Names are cut in their middle, where those that differ hardly do: whole ones are in the wide form.
    """

    name: str
    justify: Literal["left", "right"] = "left"
    cut: Literal["", "end", "middle"] = ""


class Lines(NamedTuple):
    """Lines of text, one below the other."""

    lines: tuple[Cell, ...]

    @classmethod
    def of(cls, *texts: str) -> "Lines":
        """Make unstyled lines."""
        return cls(tuple(Cell(text) for text in texts))


def next_cell(what: str, command: str) -> Cell:
    """Say what to type next, and what for: an answer's last line."""
    return Cell(f"Next, {what}: {command}")


def next_line(what: str, command: str) -> Lines:
    """Say that in a block of its own."""
    return Lines((next_cell(what, command),))


class Table(NamedTuple):
    """Rows under headings."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]


class Flow(NamedTuple):
    """Items side by side, as many as fit; an item is a run of cells that stays together."""

    items: tuple[tuple[Cell, ...], ...]


class Box(NamedTuple):
    """Blocks inside a titled frame."""

    title: str
    content: "tuple[Picture, ...]"


class Stretch(NamedTuple):
    """A stretch of time in nanoseconds, and the mark that every moment of it has."""

    start: int
    end: int
    mark: Cell


class ChartLine(NamedTuple):
    """One history: stretches that follow each other."""

    name: str
    stretches: tuple[Stretch, ...]


class Chart(NamedTuple):
    """Histories over the same time, from 0 nanoseconds to ``end``."""

    heading: str
    lines: tuple[ChartLine, ...]
    end: int


Picture = Flow | Box
Block = Lines | Table | Picture | Chart
