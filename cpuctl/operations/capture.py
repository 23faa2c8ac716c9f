"""Recording a node, to be examined elsewhere and later."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cpuctl import __version__
from cpuctl.capture.collected import Area, Collected
from cpuctl.capture.node.topology import AREA
from cpuctl.errors import CpuctlError, InputError
from cpuctl.machine.sources import MachineSource, read_machine_tree
from cpuctl.machine.tree import MemoryTree

if TYPE_CHECKING:
    from cpuctl.capture.archive import Capture
    from cpuctl.capture.collected import Progress
    from cpuctl.capture.node.node import Node


class CaptureInputs(NamedTuple):
    """Where the node's file tree is, whether names are replaced, and the time; empty: unknown."""

    root: Path = Path("/")
    anonymize: bool = False
    recorded_at: str = ""


def capture_node(
    inputs: CaptureInputs, describe: Callable[[MachineSource], str], progress: Progress
) -> Capture:
    """Record a node, with the text by which *describe* describes its machine.

    Raise InputError for a directory that does not contain a node.
    """
    from cpuctl.capture.anonymous import anonymized
    from cpuctl.capture.archive import make_capture
    from cpuctl.capture.node.node import record

    collected = record(_node(inputs.root), progress)
    if inputs.anonymize:
        collected = anonymized(collected)
    described = with_reading(collected, describe)
    return make_capture(described, cpuctl=__version__, recorded_at=inputs.recorded_at)


def _node(path: Path) -> Node:
    from cpuctl.capture.node.node import live_node, recorded_node

    if path.resolve() == Path("/"):
        return live_node()
    if not path.is_dir():
        raise InputError("is not a directory", where=str(path))
    if not (path / "sys").is_dir():
        hint = "specify the root directory of a node's files"
        raise InputError("no sys/ in this directory", where=str(path), hint=hint)
    return recorded_node(path)


READING = "topology.json"
"""The member with the machine as read, to compare with what a later cpuctl or another program reads."""


def with_reading(collected: Collected, describe: Callable[[MachineSource], str]) -> Collected:
    """Read the machine from what was recorded, and add its description to the topology.

    If it cannot be read, the area's notes say why.
    """
    try:
        source = read_machine_tree(_tree(collected), "capture")
    except CpuctlError as error:
        note = f"cpuctl cannot read this machine: {error.where}: {error.message}"
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
