"""The tables of what containers read of resources by the downward API."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Cell, Column, Table

if TYPE_CHECKING:
    from cpuctl.answers.downward import Reading, ReadValue, Rereading


def told_table(told: Iterable[Reading]) -> Table:
    """Show one row a variable or file."""
    rows = tuple((*_reference(each), _value(each), Cell(each["rule"] or "")) for each in told)
    return Table(tuple(map(Column, ("READ IN", "TELLS", "VALUE", "RULE"))), rows)


def pods_told_table(pods: Sequence[tuple[str, Sequence[Reading]]]) -> Table:
    """Show what is read in several pods."""
    rows = tuple(
        (Cell("" if number else name), *_reference(each), _value(each), Cell(each["rule"] or ""))
        for name, told in pods
        for number, each in enumerate(told)
    )
    return Table(tuple(map(Column, ("POD", "READ IN", "TELLS", "VALUE", "RULE"))), rows)


def changed_table(told: Iterable[Rereading]) -> Table:
    """Show what is read before and after a change."""
    rows = tuple(
        (*_reference(each), _value(each["before"]), _value(each["after"]), Cell(each["note"] or ""))
        for each in told
    )
    return Table(tuple(map(Column, ("READ IN", "TELLS", "BEFORE", "AFTER", ""))), rows)


def _reference(told: Reading | Rereading) -> tuple[Cell, Cell]:
    if told["file"] is None:
        where = f"{told['variable']['container']} ${told['variable']['name']}"
    else:
        where = f"{told['file']['volume']}/{told['file']['path']}"
    divisor = f" / {told['divisor']}" if told["divisor"] else ""
    return Cell(where), Cell(f"{told['resource']} of {told['container']}{divisor}")


def _value(value: Reading | ReadValue) -> Cell:
    if value["error"]:
        return Cell(f"error: {value['error']}", "red")
    if value["text"] is None:
        return Cell("not known", "yellow")
    return Cell(value["text"] or '""')
