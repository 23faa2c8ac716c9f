"""How two states side by side look to people: file by file, one row for everybody whose share has changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Block, Lines
from cpuctl.cli.render.tables.checkpoint_difference import difference_blocks

if TYPE_CHECKING:
    from cpuctl.answers import checkpoint as answers


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
