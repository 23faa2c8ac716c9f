"""Proposed reservations as a KubeletConfiguration, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.cli.output import Document
from cpuctl.cli.render.blocks import Block, Lines


def blocks(document: Document, *, wide: bool) -> Iterator[Block]:  # noqa: ARG001  # every layout has this shape
    """Lay out the snippet."""
    yield Lines.of(*document["proposal"]["snippet"].splitlines())
