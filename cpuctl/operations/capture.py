"""A node recorded, to be looked at elsewhere and later."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cpuctl import __version__
from cpuctl.errors import InputError

if TYPE_CHECKING:
    from cpuctl.capture.collected import Progress
    from cpuctl.capture.manifest import Capture
    from cpuctl.capture.node.node import Node
    from cpuctl.machine.sources import MachineSource


class CaptureInputs(NamedTuple):
    """Where the node's file tree stands, whether names are replaced, and when this is; empty: nobody says."""

    root: Path = Path("/")
    anonymize: bool = False
    recorded_at: str = ""


def capture_node(
    inputs: CaptureInputs, describe: Callable[[MachineSource], str], progress: Progress
) -> Capture:
    """Record a node, with the text that *describe* makes of its machine.

    Raise InputError for a directory that holds no node.
    """
    from cpuctl.capture.anonymous import anonymized
    from cpuctl.capture.manifest import make_capture
    from cpuctl.capture.node.node import record
    from cpuctl.capture.reading import with_reading

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
        raise InputError("is no directory", where=str(path))
    if not (path / "sys").is_dir():
        hint = "name the root of a node's files"
        raise InputError("found no sys/ in this directory", where=str(path), hint=hint)
    return recorded_node(path)
