"""How findings look to people: a line for each, as compilers write them, and what they come to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Block, Lines
from cpuctl.cli.render.findings import MANIFESTS, count_words, findings_block
from cpuctl.exports.wording import counted

if TYPE_CHECKING:
    from cpuctl.answers.pods import Finding, LintedObject, LintSummary, PodsLint


def blocks(document: PodsLint, *, wide: bool) -> Iterator[Block]:
    """Lay out the findings; wide says who rejects, which object it is about, and hints, as columns."""
    if findings := [_placed(each) for each in document["findings"]]:
        yield findings_block(findings, MANIFESTS, wide=wide)
    yield Lines.of(_summary(document["summary"]))


def _placed(finding: Finding) -> Mapping[str, object]:
    """Say where a finding stands, and what it is about, in one text each."""
    where = f"{finding['file']}:{finding['line']}:{finding['column']}"
    return {
        **finding,
        "where": where,
        "object": _object(finding["object"]),
        "rejected by": finding["refusedBy"],
    }


def _object(named: LintedObject | None) -> str:
    if named is None:
        return "-"
    namespace = f"{named['namespace']}/" if named["namespace"] else ""
    return f"{named['kind']} {namespace}{named['name']}".strip()


def _summary(summary: LintSummary) -> str:
    others = f" ({counted(summary['others'], 'other object')} passed over)" if summary["others"] else ""
    return f"{counted(summary['objects'], 'object')}{others}: {count_words(summary) or 'nothing to remark'}"
