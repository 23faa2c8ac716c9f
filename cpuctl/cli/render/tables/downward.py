"""Tables of what containers read through the downward API."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Cell, Column, Table

if TYPE_CHECKING:
    from cpuctl.answers.downward import DownwardItem, ReadValue, Rereading


def downward_table(items: Iterable[DownwardItem]) -> Table:
    """Show one row per variable or file."""
    rows = tuple((*_reference(each), _value(each), Cell(each["rule"] or "")) for each in items)
    return Table(tuple(map(Column, ("READ IN", "FIELD", "VALUE", "RULE"))), rows)


def pods_downward_table(pods: Sequence[tuple[str, Sequence[DownwardItem]]]) -> Table:
    """Show what several pods read."""
    rows = tuple(
        (Cell("" if number else name), *_reference(each), _value(each), Cell(each["rule"] or ""))
        for name, items in pods
        for number, each in enumerate(items)
    )
    return Table(tuple(map(Column, ("POD", "READ IN", "FIELD", "VALUE", "RULE"))), rows)


def changed_table(items: Iterable[Rereading]) -> Table:
    """Show what containers read before and after a change."""
    rows = tuple(
        (*_reference(each), _value(each["before"]), _value(each["after"]), Cell(each["note"] or ""))
        for each in items
    )
    return Table(tuple(map(Column, ("READ IN", "FIELD", "BEFORE", "AFTER", ""))), rows)


def _reference(item: DownwardItem | Rereading) -> tuple[Cell, Cell]:
    if item["file"] is None:
        where = f"{item['variable']['container']} ${item['variable']['name']}"
    else:
        where = f"{item['file']['volume']}/{item['file']['path']}"
    divisor = f" / {item['divisor']}" if item["divisor"] else ""
    return Cell(where), Cell(f"{item['resource']} of {item['container']}{divisor}")


def _value(value: DownwardItem | ReadValue) -> Cell:
    if value["error"]:
        return Cell(f"error: {value['error']}", "red")
    if value["text"] is None:
        return Cell("unknown", "yellow")
    return Cell(value["text"] or '""')
