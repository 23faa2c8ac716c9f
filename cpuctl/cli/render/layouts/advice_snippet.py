"""One of the settings that are proposed, as a KubeletConfiguration, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Block, Lines

if TYPE_CHECKING:
    from cpuctl.answers.advice import ProposedSettings


def blocks(document: ProposedSettings, *, wide: bool) -> Iterator[Block]:  # noqa: ARG001  # every layout has this shape
    """Lay out the snippet."""
    yield Lines.of(*document["snippet"].splitlines())
