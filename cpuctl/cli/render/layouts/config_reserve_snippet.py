"""Proposed reservations as a KubeletConfiguration, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Block, Lines

if TYPE_CHECKING:
    from cpuctl.answers.config import Proposed


def blocks(document: Proposed, *, wide: bool) -> Iterator[Block]:  # noqa: ARG001  # every layout has this shape
    """Lay out the snippet."""
    yield Lines.of(*document["proposal"]["snippet"].splitlines())
