"""A machine as boxes: sockets around NUMA nodes around L3 caches around cores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Block, Box, Cell, Lines
from cpuctl.cli.render.tables.machine_boxes import machine_boxes
from cpuctl.exports.answer_text import GUESSED
from cpuctl.exports.machine_facts import bare_nodes

if TYPE_CHECKING:
    from cpuctl.answers.topology import CPU, Topology

_MARKS = {"offline": ("x", "dim"), "isolated": ("i", "yellow"), "efficiency": ("e", "cyan")}
_LEGEND = {
    "x": "offline",
    "i": "isolated from the scheduler (isolcpus)",
    "e": "efficiency core",
}


def blocks(document: Topology, *, wide: bool) -> Iterator[Block]:  # noqa: ARG001  # every layout has this shape
    """Lay out a machine as nested boxes; the CPUs of one core stand in brackets."""
    yield from machine_boxes(document["cpus"], {cpu["cpu"]: _cpu(cpu) for cpu in document["cpus"]})
    yield from (Box(words, ()) for words in bare_nodes(document))
    marks = {mark for cpu in document["cpus"] if (mark := _state(cpu))}
    if marks:
        used = {_MARKS[state][0] for state in marks}
        guess = {"e": f", {GUESSED}"} if any(cpu["typeGuessed"] for cpu in document["cpus"]) else {}
        yield Lines.of(
            *(f"{mark}: {meaning}{guess.get(mark, '')}" for mark, meaning in _LEGEND.items() if mark in used)
        )


def _cpu(row: CPU) -> Cell:
    state = _state(row)
    mark, style = _MARKS.get(state, ("", "green"))
    return Cell(f"{row['cpu']}{mark}", style)


def _state(row: CPU) -> str:
    if not row["online"]:
        return "offline"
    if row["isolated"]:
        return "isolated"
    return "efficiency" if row["type"] == "efficiency" else ""
