"""Layout of two states side by side: file by file, one row for every container whose share has changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table
from cpuctl.exports.answer_text import WHOLE_POD, pod_name
from cpuctl.phrases import byte_text

if TYPE_CHECKING:
    from cpuctl.answers import checkpoint as answers
    from cpuctl.answers import decisions


def blocks(document: answers.CheckpointDiff, *, wide: bool) -> Iterator[Block]:
    """Lay out a comparison; wide adds UIDs."""
    for file in document["files"]:
        yield Lines.of(_headline(file))
        yield from difference_blocks(file, wide=wide)


def _headline(file: answers.ComparedFile) -> str:
    a, b = file["a"], file["b"]
    if a is None or b is None:
        only = a or b
        return f"{file['file']}: only in {only['source']}" if only else f"{file['file']}: in neither"
    formats = "" if a["format"] == b["format"] else f" (format {a['format']} -> {b['format']})"
    same = ": no difference" if file["equal"] else ""
    return f"{a['source']} -> {b['source']}{formats}{same}"


_POOL = "(shared pool)"
_FIELDS = {"cells": "group", "systemReserved": "system reserved"}


def difference_blocks(difference: answers.Difference, *, wide: bool, is_new: bool = False) -> Iterator[Block]:
    """Lay out the changes in one file; wide adds UIDs and, if the file *is_new*, all numbers."""
    if difference["policies"]:
        before, after = (name or "none" for name in difference["policies"])
        yield Lines.of(f"policy {before} -> {after}")
    if difference["cpus"]:
        yield _cpus(difference["cpus"], wide=wide)
    if difference["memory"]:
        yield _memory(difference["memory"], wide=wide)
    if difference["tables"] and (wide or not is_new):
        yield _tables(difference["tables"])
    if difference["pods"]:
        yield _pods(difference["pods"], wide=wide)
    if difference["devices"]:
        yield _devices(difference["devices"], wide=wide)
    if difference["claims"]:
        yield _claims(difference["claims"])


def _cpus(changes: Sequence[answers.CPUChange], *, wide: bool) -> Table:
    columns = ("POD", "CONTAINER", "BEFORE", "AFTER", "ADDED", "REMOVED", *(("UID",) if wide else ()))
    rows = tuple(
        (
            *_names(change),
            Cell(_list(change["before"])),
            Cell(_list(change["after"])),
            Cell(change["added"] or "-", "green" if change["added"] else ""),
            Cell(change["removed"] or "-", "red" if change["removed"] else ""),
            *((Cell(change["podUID"] or "-"),) if wide else ()),
        )
        for change in changes
    )
    return Table(tuple(Column(name) for name in columns), rows)


def _names(change: answers.ChangedHolder) -> tuple[Cell, Cell]:
    if change["holding"] == "sharedPool":
        return Cell(_POOL), Cell("")
    what = " (baseline)" if change["holding"] == "baseline" else ""
    return Cell(pod_name(change)), Cell(f"{change['container'] or WHOLE_POD}{what}")


def _list(cpus: str | None) -> str:
    return "-" if cpus is None else cpus or "none"


def _memory(changes: Sequence[answers.MemoryChange], *, wide: bool) -> Table:
    columns = ("POD", "CONTAINER", "BEFORE", "AFTER", *(("UID",) if wide else ()))
    rows = tuple(
        (
            *_names(change),
            Cell(_blocks(change["before"])),
            Cell(_blocks(change["after"])),
            *((Cell(change["podUID"]),) if wide else ()),
        )
        for change in changes
    )
    return Table(tuple(Column(name) for name in columns), rows)


def _blocks(blocks: Sequence[decisions.Block] | None) -> str:
    if blocks is None:
        return "-"
    return ", ".join(
        f"{byte_text(block['bytes'])} of {block['resource']} (node {block['numaNodes']})"
        if block["bytes"]
        else f"{block['resource']} of the pod's other containers (node {block['numaNodes']})"
        for block in blocks
    )


def _tables(changes: Sequence[answers.TableChange]) -> Table:
    rows = tuple(
        (
            Cell(str(change["numaNode"])),
            Cell(change["resource"] or "-"),
            Cell(_FIELDS.get(change["field"], change["field"])),
            *map(Cell, _amounts(change)),
        )
        for change in changes
    )
    columns = (Column("NODE", "right"), Column("RESOURCE"), Column("FIELD"))
    return Table((*columns, Column("BEFORE", "right"), Column("AFTER", "right")), rows)


def _amounts(change: answers.TableChange) -> tuple[str, ...]:
    """Write both values; in bytes if rounding would hide the page that decides whether a kubelet starts."""
    sides = change["before"], change["after"]
    rounded = [byte_text(side) if isinstance(side, int) and change["resource"] else side for side in sides]
    return tuple("-" if side is None else str(side) for side in (sides if len({*rounded}) == 1 else rounded))


def _pods(changes: Sequence[answers.AmountChange], *, wide: bool) -> Table:
    columns = ("POD", "CONTAINER", "RESOURCE", "FIELD", "BEFORE", "AFTER", *(("UID",) if wide else ()))
    rows = tuple(
        (
            Cell(pod_name(change)),
            Cell(change["container"] or WHOLE_POD),
            Cell(change["resource"]),
            Cell(change["side"]),
            Cell(change["before"] or "-"),
            Cell(change["after"] or "-"),
            *((Cell(change["podUID"]),) if wide else ()),
        )
        for change in changes
    )
    return Table(tuple(Column(name) for name in columns), rows)


def _devices(changes: Sequence[answers.DevicesChange], *, wide: bool) -> Table:
    columns = ("POD", "CONTAINER", "RESOURCE", "BEFORE", "AFTER", *(("UID",) if wide else ()))
    rows = tuple(
        (
            Cell(pod_name(change)),
            Cell(change["container"] or WHOLE_POD),
            Cell(change["resource"]),
            Cell(_named(change["before"])),
            Cell(_named(change["after"])),
            *((Cell(change["podUID"]),) if wide else ()),
        )
        for change in changes
    )
    return Table(tuple(Column(name) for name in columns), rows)


def _claims(changes: Sequence[answers.ClaimChange]) -> Table:
    rows = tuple(
        (
            Cell(f"{change['namespace']}/{change['claim']}"),
            *(
                Cell("-" if side is None else f"{_named(side['devices'])} for {_named(side['pods'])}")
                for side in (change["before"], change["after"])
            ),
        )
        for change in changes
    )
    return Table(tuple(Column(name) for name in ("CLAIM", "BEFORE", "AFTER")), rows)


def _named(names: Sequence[str] | None) -> str:
    return "-" if names is None else ", ".join(names) or "none"
