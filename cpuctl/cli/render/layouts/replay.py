"""How a replay looks to people: what happened, one row a thing, and what it comes to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table
from cpuctl.cli.render.layouts.replay_end import blocks as end_blocks
from cpuctl.exports.timeline_picture import BAD, short

if TYPE_CHECKING:
    from cpuctl.answers.replay import Entry, Replay

_NOTABLE = frozenset({"ResizeDeferred", "ScaleDown", "DelayCancelled", "Ignored", "Undetermined"})


def blocks(document: Replay, *, wide: bool) -> Iterator[Block]:
    """Lay out a replay."""
    if document["description"]:
        yield Lines.of(*document["description"].splitlines())
    if document["entries"]:
        yield _entries(document["entries"], wide=wide)
    yield from end_blocks(document, wide=wide)


def _entries(entries: Sequence[Entry], *, wide: bool) -> Table:
    """Show one row a thing that happened; wide tells its kind, too."""
    columns = (Column("TIME", "right"), Column("POD"), Column("CONTAINER"), Column("WHAT HAPPENS"))
    return Table(
        (*columns, Column("KIND")) if wide else columns,
        tuple(_cells(entry) + ((Cell(entry["what"]),) if wide else ()) for entry in entries),
    )


def _cells(entry: Entry) -> tuple[Cell, ...]:
    style = "red" if entry["what"] in BAD else "yellow" if entry["what"] in _NOTABLE else ""
    return (
        Cell(entry["at"]),
        Cell(short(entry["pod"]) or "-"),
        Cell(entry["container"] or "-"),
        Cell(entry["text"], style),
    )
