"""How memory looks to people that a kubelet counts on a machine without pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Literal

from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table
from cpuctl.exports.outcomes import start_look
from cpuctl.exports.wording import byte_text

if TYPE_CHECKING:
    from cpuctl.answers.topology import Amounts, Memory

_Amount = Literal["total", "reserved", "hugePages", "allocatable"]
_COLUMNS: Mapping[_Amount, str] = {
    "total": "TOTAL",
    "reserved": "RESERVED",
    "hugePages": "HUGE PAGES",
    "allocatable": "FOR PODS",
}


def memory_blocks(memory: Memory) -> Iterator[Block]:
    """Show what a kubelet would keep and offer on every NUMA node, and what the kernel says is free."""
    yield Lines(tuple(_remarks(memory)))
    rows = tuple(
        (
            Cell(str(line["numaNode"])),
            Cell(line["resource"]),
            *(_amount(line, name) for name in _COLUMNS),
            Cell("-" if line["free"] is None else byte_text(line["free"])),
        )
        for line in memory["amounts"]
    )
    names = (*_COLUMNS.values(), "FREE NOW")
    columns = (Column("NODE", "right"), Column("RESOURCE"), *(Column(name, "right") for name in names))
    yield Table(columns, rows)


def _amount(line: Amounts, name: _Amount) -> Cell:
    if name == "allocatable" and line["overdrawn"]:
        return Cell(f"{byte_text(line['overdrawn'])} short", "red")
    if name == "hugePages" and line["resource"] != "memory":
        return Cell("-")
    amount = line[name]
    return Cell("-" if amount is None else byte_text(amount))


def _remarks(memory: Memory) -> Iterator[Cell]:
    if memory["policy"] == "None":
        yield Cell("Memory as the Memory Manager's Static policy would count it; the policy is None.")
    else:
        yield Cell("Memory as the Memory Manager counts it:")
    if memory["start"]["outcome"] != "Started":
        yield Cell(*start_look(memory["start"], "The kubelet"))
