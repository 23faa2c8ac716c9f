"""How memory looks in tables: what a container gets, and what is left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cpuctl.cli.render.blocks import Cell, Column, Table
from cpuctl.exports.wording import byte_text

COLUMN = "MEMORY"
"""What a container gets, and on which NUMA nodes."""


def memory_columns(pods: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Name the column that pods with memory of their own need."""
    used = any("memory" in container for pod in pods for container in pod["containers"])
    return (COLUMN,) if used else ()


def memory_cells(container: Mapping[str, Any]) -> dict[str, Cell]:
    """Fill the column for one container: ``4Gi, 512Mi of hugepages-2Mi (node 0)``."""
    memory = container.get("memory", {"blocks": ()})
    if not memory["blocks"]:
        return {}
    # Memory itself first.
    blocks = sorted(memory["blocks"], key=lambda block: (block["resource"] != "memory", block["resource"]))
    return {COLUMN: Cell(f"{', '.join(map(_words, blocks))} (node {memory['cpusetMems']})")}


def _words(block: Mapping[str, Any]) -> str:
    amount = byte_text(block["bytes"])
    return amount if block["resource"] == "memory" else f"{amount} of {block['resource']}"


def memory_table(left: Iterable[Mapping[str, Any]]) -> Table:
    """Show memory and huge pages of every NUMA node, and which nodes are shared as a group."""
    columns = (
        Column("NODE", "right"),
        Column("RESOURCE"),
        Column("TOTAL", "right"),
        Column("KEPT", "right"),
        Column("FOR PODS", "right"),
        Column("FREE", "right"),
        Column("GROUP"),
    )
    return Table(columns, tuple(row for node in left for row in _rows(node)))


def _rows(node: Mapping[str, Any]) -> Iterator[tuple[Cell, ...]]:
    number = str(node["numaNode"])
    group = "-" if node["group"] == number else node["group"]
    for table in node["resources"]:
        amounts = (table[key] for key in ("total", "systemReserved", "allocatable", "free"))
        yield (
            Cell(number),
            Cell(table["resource"]),
            *(Cell(byte_text(amount)) for amount in amounts),
            Cell(group),
        )
