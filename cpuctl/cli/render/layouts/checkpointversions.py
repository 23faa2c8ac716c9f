"""Layout of the formats of state files: a row for every format, a column for every reader."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from string import ascii_uppercase
from typing import TYPE_CHECKING, Final

from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table

if TYPE_CHECKING:
    from cpuctl.answers.checkpoint import CheckpointVersions, Format

_WARNING = (
    "These files are internals of the kubelet: formats differ between releases,",
    "and no release promises to read the files of another.",
)
_WORDS = {
    "reads": ("yes", "green"),
    "readsPartly": ("partly", "yellow"),
    "rejects": ("no", "red"),
}

_UNCONVERTED: Final = ("file", "format", "writtenBy", "readBy")


def blocks(document: CheckpointVersions, *, wide: bool) -> Iterator[Block]:
    """Lay out the formats; wide adds what is lost, and the kubelet's errors."""
    yield Lines.of(*_WARNING)
    formats = document["formats"]
    readers = list(dict.fromkeys(reader["kubelet"] for each in formats for reader in each["readers"]))
    columns = ("FILE", "FORMAT", *ascii_uppercase[: len(readers)])
    rows = tuple(
        (
            Cell(format_["file"]),
            Cell(format_["format"]),
            *_verdicts(format_, readers),
        )
        for format_ in formats
    )
    yield Table(tuple(Column(name) for name in columns), rows)
    letters = zip(ascii_uppercase, readers, strict=False)
    partly = "partly: the kubelet starts, but loses a part of the file (-o wide lists what)"
    yield Lines.of("Read by kubelet", *(f"  {letter}: {reader}" for letter, reader in letters), partly)
    written = (f"  {each['file']} {each['format']}: {each['writtenBy']}" for each in formats)
    yield Lines.of("Written by kubelet", *written)
    yield _unconverted(document)
    damaged = {each["file"]: each["onLoadError"] for each in document["unconverted"]}
    yield Lines.of("If damaged", *(f"  {file}: {what}" for file, what in damaged.items()))
    if wide:
        yield Table(
            tuple(Column(name) for name in ("FILE", "FORMAT", "KUBELET", "LOST", "ERROR")),
            tuple(_details(document)),
        )


def _unconverted(document: CheckpointVersions) -> Table:
    """Show the formats that a kubelet reads without conversion, or not at all."""
    names = ("OTHER FILE", "FORMAT", "WRITTEN BY", "READ BY")
    rows = (tuple(Cell(each[key] or "-") for key in _UNCONVERTED) for each in document["unconverted"])
    return Table(tuple(map(Column, names)), tuple(rows))


def _verdicts(format_: Format, readers: Iterable[str]) -> Iterator[Cell]:
    outcomes = {reader["kubelet"]: reader["outcome"] for reader in format_["readers"]}
    for reader in readers:
        yield Cell(*_WORDS[outcomes[reader]]) if reader in outcomes else Cell("-")


def _details(document: CheckpointVersions) -> Iterator[tuple[Cell, ...]]:
    for format_ in document["formats"]:
        for reader in format_["readers"]:
            if reader["outcome"] != "reads":
                yield (
                    Cell(format_["file"]),
                    Cell(format_["format"]),
                    Cell(reader["kubelet"]),
                    Cell(", ".join(reader["lost"]) or "-"),
                    Cell(reader["error"] or "-"),
                )
