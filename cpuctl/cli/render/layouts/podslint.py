"""Layout of findings about manifests: one line each, in the format of compiler messages, and the total."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Block, Lines
from cpuctl.cli.render.findings import MANIFESTS, counts_text, findings_block
from cpuctl.phrases import counted

if TYPE_CHECKING:
    from cpuctl.answers.pods import LintSummary, PodsLint


def blocks(document: PodsLint, *, wide: bool) -> Iterator[Block]:
    """Lay out the findings; wide adds columns for the rejecting component, the object, and the fix."""
    if document["findings"]:
        yield findings_block(document["findings"], MANIFESTS, wide=wide)
    yield Lines.of(_summary(document["summary"]))


def _summary(summary: LintSummary) -> str:
    others = f" ({counted(summary['others'], 'other object')} skipped)" if summary["others"] else ""
    return f"{counted(summary['objects'], 'object')}{others}: {counts_text(summary) or 'no findings'}"
