"""The map of CPUs: by socket, NUMA node, L3 and core, coloured by owner, brighter with load.

Without colour, letters show the owner of a CPU. Digits are its load in tenths.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Cell
from cpuctl.cli.render.tables.running import UNKNOWN, full_name, rate, share

if TYPE_CHECKING:
    from cpuctl.answers.top import CPU, Top

Line = list[Cell]
Colour = tuple[int, int, int]

_LETTERS = "abcdefghijklmnopqstuvwxyzABCDEFGHIJKLMNOPQSTUVWXYZ"
"""Marks of containers, repeated after the last; r is for reserved CPUs."""
_COLOURS = ((46, 204, 113), (230, 126, 34), (26, 188, 212), (241, 196, 15), (236, 100, 165), (155, 190, 60))
SHARED, RESERVED = (75, 135, 255), (175, 110, 235)
_OTHERS = {"shared": SHARED, "reserved": RESERVED}
_NO_OWNER = (140, 140, 140)
_MARKS = {"shared": ".", "reserved": "r"}
_LABEL = 10


def letter(number: int) -> str:
    """Return the mark of a container."""
    return _LETTERS[number % len(_LETTERS)]


def colour(number: int) -> Colour:
    """Return the colour of a container."""
    return _COLOURS[number % len(_COLOURS)]


def foreground(of: Colour) -> str:
    """Return a style for text."""
    red, green, blue = of
    return f"#{red:02x}{green:02x}{blue:02x}"


def map_order(document: Top) -> list[int]:
    """Return the CPUs in the order of the map, by their index in the answer."""
    cpus = document["cpus"]

    def key(number: int) -> tuple[int, ...]:
        each = cpus[number]
        parts = (each["socket"], each["numaNode"], each["l3"], each["core"], each["cpu"])
        return tuple(-1 if part is None else part for part in parts)

    return sorted(range(len(cpus)), key=key)


def map_lines(document: Top, width: int, chosen: int | None, *, color: bool) -> Iterator[Line]:
    """Yield the map: a paragraph per NUMA node, bars between L3 caches, spaces between cores."""
    before: CPU | None = None
    line: Line = []
    length = 0
    for number in map_order(document):
        each = document["cpus"][number]
        home = (each["socket"], each["numaNode"])
        gap = "" if before is None or before["core"] == each["core"] else " "
        if before is None or home != (before["socket"], before["numaNode"]):
            if line:
                yield line
            line, length, gap = [Cell(f"{_label(*home):<{_LABEL}}", "dim")], _LABEL, ""
        elif each["l3"] != before["l3"]:
            gap = " | "
        cell = map_cell(each, chosen=number == chosen, color=color)
        if length + len(gap) + len(cell.text) > width:
            yield line
            line, length, gap = [Cell(" " * _LABEL)], _LABEL, ""
        line += [Cell(gap, "dim"), cell] if gap else [cell]
        length += len(gap) + len(cell.text)
        before = each
    if line:
        yield line


def _label(socket: int | None, node: int | None) -> str:
    return f"S{UNKNOWN if socket is None else socket} N{UNKNOWN if node is None else node}"


def map_cell(cpu: CPU, *, chosen: bool, color: bool) -> Cell:
    """Draw one CPU; the chosen one is underlined."""
    busy, holders = cpu["busy"], cpu["containers"]
    tenths = 0 if busy is None else min(int(10 * busy), 9)
    digit = UNKNOWN if busy is None else str(tenths)
    if not color:
        mark = letter(holders[0]) if holders else _MARKS.get(cpu["owner"], "_")
        return Cell(mark + digit, "reverse underline" if chosen else "")
    if chosen:
        return Cell(digit, "bold black on white underline")
    strength = 0.22 + 0.78 * tenths / 9
    of = colour(holders[0]) if holders else _OTHERS.get(cpu["owner"], _NO_OWNER)
    red, green, blue = (round(part * strength) for part in of)
    return Cell(digit, f"{'black' if tenths > 5 else 'white'} on {foreground((red, green, blue))}")


def legend(*, color: bool) -> str:
    """Explain the map's characters."""
    digits = "a digit is the load in tenths, - unknown"
    return digits if color else f"a letter is a container, . shared, r reserved, _ unassigned; {digits}"


def cpu_line(document: Top, number: int) -> str:
    """Describe one CPU in a line."""
    if not document["cpus"]:
        return ""
    cpu = document["cpus"][min(number, len(document["cpus"]) - 1)]
    often = f"{rate(cpu['interrupts'])} interrupts/s"
    return f"CPU {cpu['cpu']}: {owner(document, cpu)}, busy {share(cpu['busy'])}, {often}"


def owner(document: Top, cpu: CPU) -> str:
    """Return the owner of a CPU."""
    rows = document["containers"]
    holders = [rows[number] for number in cpu["containers"] if number < len(rows)]
    if holders:
        return ", ".join(full_name(each) for each in holders)
    return {"shared": "shared pool", "reserved": "reserved"}.get(cpu["owner"], "unassigned")
