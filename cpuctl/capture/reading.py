"""What cpuctl makes of a capture while the node is still at hand: an archive nobody can read helps nobody."""

from __future__ import annotations

from collections.abc import Callable

from cpuctl.capture.collected import Area, Collected
from cpuctl.capture.node.topology import AREA
from cpuctl.errors import CpuctlError
from cpuctl.machine.sources import MachineSource, read_machine_tree
from cpuctl.machine.tree import MemoryTree

READING = "topology.json"
"""The member that holds the reading, to compare with what a later cpuctl or another program reads."""


def with_reading(collected: Collected, describe: Callable[[MachineSource], str]) -> Collected:
    """Read the machine out of what was recorded, and add its description to the topology.

    Where it cannot be read, the area's notes say why.
    """
    try:
        source = read_machine_tree(_tree(collected), "capture")
    except CpuctlError as error:
        note = f"cpuctl itself cannot read this machine: {error.where}: {error.message}"
        return collected._replace(areas=_changed(collected, note=note))
    members = {**collected.members, READING: describe(source)}
    return collected._replace(members=members, areas=_changed(collected, entries=1))


def _tree(collected: Collected) -> MemoryTree:
    texts = {path: text if isinstance(text, str) else None for path, text in collected.members.items()}
    return MemoryTree(texts)


def _changed(collected: Collected, *, entries: int = 0, note: str = "") -> tuple[Area, ...]:
    notes = (note,) if note else ()
    return tuple(
        area._replace(entries=area.entries + entries, notes=(*area.notes, *notes))
        if area.name == AREA
        else area
        for area in collected.areas
    )
