"""Layout of a replay: one row per event, and the result."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Block, Cell, Chart, ChartLine, Column, Lines, Stretch, Table
from cpuctl.exports.outcomes import what_if_sentence
from cpuctl.exports.timeline_picture import BAD, drawn_until, owner_names, short
from cpuctl.phrases import counted

if TYPE_CHECKING:
    from cpuctl.answers.replay import ChartRow, Entry, Expectations, Failure, Replay, Slis, Span

_NOTABLE = frozenset({"ResizeDeferred", "ScaleDown", "DelayCancelled", "Ignored", "Undetermined"})


def blocks(document: Replay, *, wide: bool) -> Iterator[Block]:
    """Lay out a replay."""
    if document["description"]:
        yield Lines.of(*document["description"].splitlines())
    if document["entries"]:
        yield _entries(document["entries"], wide=wide)
    yield from end_blocks(document, wide=wide)


def _entries(entries: Sequence[Entry], *, wide: bool) -> Table:
    """Show one row per event; wide adds its kind."""
    columns = (Column("TIME", "right"), Column("POD"), Column("CONTAINER"), Column("EVENT"))
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


_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_COLORS = ("green", "cyan", "magenta", "blue")
_LEGEND = "A exclusive, a to be released, ! exclusive to another but still in its cgroup, . shared"


def end_blocks(document: Replay, *, wide: bool) -> Iterator[Block]:  # noqa: ARG001  # every layout has this shape
    """Lay out the end of a replay."""
    owners = _owners(document["chart"])
    if "policy" in document:
        yield Lines.of(what_if_sentence(document["policy"]))
    if owners:
        yield _chart(document, owners)
        yield Lines.of(_LEGEND, *(f"{letter} {name}" for name, (letter, _) in owners.items()))
    if document["scaleDowns"]:
        yield _slis(document["slis"])
    if document.get("log"):
        yield from _first_difference(document)
    yield from _expectations(document["expectations"])


def _owners(rows: Sequence[ChartRow]) -> dict[str, tuple[str, str]]:
    """Assign a letter and a colour to every container of the chart; after Z, letters repeat."""
    marks = zip(cycle(_LETTERS), cycle(_COLORS), strict=False)
    return {short(name): mark for name, mark in zip(owner_names(rows), marks, strict=False)}


def _chart(document: Replay, owners: Mapping[str, tuple[str, str]]) -> Chart:
    rows = document["chart"]
    lines = [ChartLine(row["cpus"], tuple(_stretch(span, owners) for span in row["spans"])) for row in rows]
    return Chart("CPUS", tuple(lines), drawn_until(document))


def _stretch(span: Span, owners: Mapping[str, tuple[str, str]]) -> Stretch:
    start, end = span["nanoseconds"]
    letter, color = owners.get(short(span["container"]), (".", "dim"))
    match span["use"]:
        case "owned":
            cell = Cell(letter, color)
        case "leaving":
            cell = Cell(letter.lower(), "yellow")
        case "contested":
            cell = Cell("!", "bold red")
        case "shared":
            cell = Cell(".", "dim")
        case _:
            cell = Cell(" ")
    return Stretch(start, end, cell)


def _slis(slis: Slis) -> Table:
    """Show the three indicators from KEP-6122."""
    rows = [
        ("from the decision until the downward API volume shows it", slis["notification"]),
        ("from the end of the delay until the CPU set is applied", slis["application"]),
    ]
    cells = [
        (
            Cell(text),
            Cell(str(sli["count"])),
            Cell(sli["shortest"] or "-"),
            Cell(sli["longest"] or "-"),
        )
        for text, sli in rows
    ]
    late = slis["lateNotifications"]
    late_cells = (Cell("shown only after the CPU set was applied"), Cell(str(late), "red" if late else ""))
    columns = (Column("SCALE-DOWNS"), Column("COUNT", "right"), Column("SHORTEST"), Column("LONGEST"))
    return Table(columns, (*cells, (*late_cells, Cell("-"), Cell("-"))))


def _expectations(expectations: Expectations) -> Iterator[Block]:
    checked, failures = expectations["checked"], expectations["failures"]
    if not checked:
        return
    if failures:
        yield Lines(tuple(cell for failure in failures for cell in _difference(failure)))
    came = f"{counted(len(failures), 'value')} not as expected" if failures else "all as expected"
    yield Lines((Cell(f"{counted(checked, 'check')}: {came}", "red" if failures else "green"),))


def _first_difference(document: Replay) -> Iterator[Block]:
    """Show the first difference from the kubelet: later ones may follow from it."""
    failures = document["expectations"]["failures"]
    if failures:
        first = failures[0]
        stated, engine = _value(first["expected"]), _value(first["found"])
        text = (
            f"first difference at {first['at']}: {first['what']}: {stated} according to the log, "
            f"{engine} as computed"
        )
        yield Lines((Cell(text, "bold"),))


def _difference(failure: Failure) -> Iterator[Cell]:
    yield Cell(f"at {failure['at']}, {failure['where']}: {failure['what']}")
    yield Cell(f"- {_value(failure['expected'])}", "red")
    yield Cell(f"+ {_value(failure['found'])}", "green")


def _value(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return value or '""'
        case _:
            return json.dumps(value)
