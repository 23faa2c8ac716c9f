"""How findings look to people: a line for each, as compilers write them, and what they come to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cpuctl.cli.output import Document
from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table
from cpuctl.exports.wording import counted

_STYLES = {"error": "red", "warning": "yellow", "note": ""}
_COLUMNS = ("SEVERITY", "CODE", "REFUSED BY", "WHERE", "OBJECT", "MESSAGE", "HINT")


def blocks(document: Document, *, wide: bool) -> Iterator[Block]:
    """Lay out the findings; wide says who refuses, which object it is about, and hints, as columns."""
    findings = document["findings"]
    if findings:
        yield _table(findings) if wide else Lines(tuple(_lines(findings)))
    yield Lines.of(_summary(document["summary"]))


def _lines(findings: list[Mapping[str, Any]]) -> Iterator[Cell]:
    for finding in findings:
        said = f"{finding['severity']}: {finding['code']}: {finding['message']}"
        yield Cell(f"{_where(finding)}: {said}", _STYLES[finding["severity"]])
        if finding["hint"]:
            yield Cell(f"  hint: {finding['hint']}")


def _table(findings: list[Mapping[str, Any]]) -> Table:
    rows = tuple(
        (
            Cell(finding["severity"], _STYLES[finding["severity"]]),
            Cell(finding["code"]),
            Cell(finding["refusedBy"]),
            Cell(_where(finding)),
            Cell(_object(finding["object"])),
            Cell(finding["message"]),
            Cell(finding["hint"] or "-"),
        )
        for finding in findings
    )
    return Table(tuple(Column(name) for name in _COLUMNS), rows)


def _where(finding: Mapping[str, Any]) -> str:
    return f"{finding['file']}:{finding['line']}:{finding['column']}"


def _object(named: Mapping[str, str] | None) -> str:
    if named is None:
        return "-"
    namespace = f"{named['namespace']}/" if named["namespace"] else ""
    return f"{named['kind']} {namespace}{named['name']}".strip()


def _summary(summary: Mapping[str, int]) -> str:
    found = [counted(summary[word], word) for word in ("error", "warning", "note") if summary[word]]
    others = f" ({counted(summary['others'], 'other object')} passed over)" if summary["others"] else ""
    return f"{counted(summary['objects'], 'object')}{others}: {', '.join(found) or 'nothing to remark'}"
