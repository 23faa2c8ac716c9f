"""The parts of a layout: paragraphs, tables and boxes of styled text, without drawing."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from cpuctl.phrases import all_of


class Cell(NamedTuple):
    """Some text and its style, for terminals with colour; a *command* never wraps: it is for pasting."""

    text: str
    style: str = ""
    command: bool = False


class Column(NamedTuple):
    """A column's heading and alignment; a text too long is *cut* at its end or middle, or wraps.

    Names are cut in the middle, where similar names differ least; the wide form shows whole names.
    """

    name: str
    justify: Literal["left", "right"] = "left"
    cut: Literal["", "end", "middle"] = ""


class Lines(NamedTuple):
    """Lines of text, one below the other."""

    lines: tuple[Cell, ...]

    @classmethod
    def of(cls, *texts: str) -> "Lines":
        """Make lines without style."""
        return cls(tuple(Cell(text) for text in texts))


def next_cell(what: str, command: str) -> Cell:
    """Return the last line of an answer: the next command, and its purpose."""
    return Cell(f"Next, {what}: {command}")


def next_line(what: str, command: str) -> Lines:
    """Return the same line in its own block, with the meaning of FILE, which a command cannot read again."""
    piped = without_sudo(command).startswith("cpuctl ") and "FILE" in command.split()
    legend = (Cell("FILE: what was read from standard input, saved to a file"),) if piped else ()
    return Lines((next_cell(what, command), *legend))


def copies_cells(command: str) -> Iterator[Cell]:
    """Explain the files of a command that is for another host."""
    words = command.replace("@", "").split()
    if names := [name for name in ("FILE", "DIR") if name in words]:
        files = "the files" if words.count("FILE") > 1 else "the file"
        used = all_of({"FILE": files, "DIR": "the directory"}[name] for name in names)
        copies = "copies" if " and " in used or used == "the files" else "a copy"
        yield Cell(f"{', '.join(names)}: {copies}, on the node, of {used} used here")


def without_sudo(command: str) -> str:
    """Return a command as it is without root."""
    return command.removeprefix("sudo ")


class Table(NamedTuple):
    """Rows below headings; if these or CPU lists do not fit, the columns from *split* on are a second table.

    Both begin with the first *keys* columns, and are split again if necessary.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    split: int = 0
    keys: int = 0

    def without(self, *names: str) -> "Table":
        """Return the table without some of its columns."""
        kept = [number for number, column in enumerate(self.columns) if column.name not in names]
        rows = tuple(tuple(row[number] for number in kept) for row in self.rows)
        return self._replace(columns=tuple(self.columns[number] for number in kept), rows=rows)


class Flow(NamedTuple):
    """Items side by side, as many as fit; an item is a run of cells that stays together."""

    items: tuple[tuple[Cell, ...], ...]


class Box(NamedTuple):
    """Blocks inside a titled frame."""

    title: str
    content: "tuple[Picture, ...]"


class Stretch(NamedTuple):
    """A stretch of time in nanoseconds, and its mark."""

    start: int
    end: int
    mark: Cell


class ChartLine(NamedTuple):
    """One history: consecutive stretches."""

    name: str
    stretches: tuple[Stretch, ...]


class Chart(NamedTuple):
    """Histories over the same period, from 0 nanoseconds to ``end``."""

    heading: str
    lines: tuple[ChartLine, ...]
    end: int


Picture = Flow | Box
Block = Lines | Table | Picture | Chart
