"""A machine in one line, for a shell to put behind ``-m``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Block, Lines

if TYPE_CHECKING:
    from cpuctl.answers.topology import Topology


def blocks(document: Topology, *, wide: bool) -> Iterator[Block]:  # noqa: ARG001  # every layout has this shape
    """Lay out the line; a machine without one has a reason instead, for whoever renders without looking."""
    summary = document["summary"]
    yield Lines.of(summary["synthetic"] or f"none: {summary['whyNotSynthetic']}")
