"""How findings look to people: a line for each, as compilers write them, and what they come to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Block, Lines
from cpuctl.cli.render.findings import MANIFESTS, counts_text, findings_block
from cpuctl.phrases import counted

if TYPE_CHECKING:
    from cpuctl.answers.pods import LintSummary, PodsLint


def blocks(document: PodsLint, *, wide: bool) -> Iterator[Block]:
    """Lay out the findings; wide says who rejects, which object it is about, and what to do, as columns."""
    if document["findings"]:
        yield findings_block(document["findings"], MANIFESTS, wide=wide)
    yield Lines.of(_summary(document["summary"]))


def _summary(summary: LintSummary) -> str:
    others = f" ({counted(summary['others'], 'other object')} skipped)" if summary["others"] else ""
    return f"{counted(summary['objects'], 'object')}{others}: {counts_text(summary) or 'no findings'}"
