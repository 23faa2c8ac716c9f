"""Findings of every kind as people read them: a line or two each, or columns where more is wanted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.cli.output import Document
from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table
from cpuctl.exports.wording import counted

if TYPE_CHECKING:
    from cpuctl.answers.findings import FindingCounts

Finding = Mapping[str, object]
"""A finding of an answer, and what else a form names."""

STYLES = {"error": "red", "warning": "yellow", "note": ""}
"""How severities are shown, the worst first."""


class Form(NamedTuple):
    """Which members of its findings an answer shows: before the message of a line, and as columns.

    ``compares`` where messages do not tell what was expected and detected. ``advice`` is the member that
    says what to do.
    """

    line: tuple[str, ...]
    columns: tuple[str, ...]
    compares: bool = False
    advice: str = "fix"


CONFIGURATION = Form(
    line=("severity", "where", "setting"),
    columns=("severity", "code", "where", "setting", "expected", "detected", "message", "fix"),
)
FILES = Form(
    line=("severity", "file"),
    columns=("severity", "code", "file", "expected", "detected", "message", "fix"),
)
NODE = Form(
    line=("severity", "code", "subject"),
    columns=("severity", "code", "subject", "expected", "detected", "message", "fix"),
    compares=True,
)
MANIFESTS = Form(
    line=("where", "severity", "code"),
    columns=("severity", "code", "rejected by", "where", "object", "message", "hint"),
    advice="hint",
)
"""As compilers write them, which editors know."""


def findings_block(findings: Sequence[Finding], form: Form, *, wide: bool) -> Block:
    """Lay findings out, one line below the other or as a table."""
    return _table(findings, form) if wide else Lines(tuple(finding_lines(findings, form)))


def finding_lines(findings: Iterable[Finding], form: Form) -> Iterator[Cell]:
    """Write a line for every finding, and one for what to do where that is known."""
    for each in findings:
        text = ": ".join(str(each[name]) for name in (*form.line, "message") if each[name])
        if form.compares:
            text += f" (expected {each['expected'] or '-'}, detected {each['detected'] or '-'})"
        yield Cell(text, STYLES[str(each["severity"])])
        if each[form.advice]:
            yield Cell(f"  {form.advice}: {each[form.advice]}")


def _table(findings: Iterable[Finding], form: Form) -> Table:
    rows = tuple(
        tuple(
            Cell(str(each[name] or "-"), STYLES[str(each["severity"])] if name == "severity" else "")
            for name in form.columns
        )
        for each in findings
    )
    return Table(tuple(Column(name.upper()) for name in form.columns), rows)


def count_words(summary: FindingCounts) -> str:
    """Count findings by severity, those that there are."""
    counts = {"error": summary["error"], "warning": summary["warning"], "note": summary["note"]}
    return ", ".join(counted(count, word) for word, count in counts.items() if count)


def count_start_words(document: Document) -> str:
    """Count errors and warnings about a start; one that cannot be said is neither."""
    counts = [counted(document["summary"][severity], severity) for severity in ("error", "warning")]
    return ", ".join([*counts, *(["start undetermined"] * (document["start"]["outcome"] == "Undetermined"))])


def warning_line(text: str) -> Cell:
    """Write a warning about an answer as a whole."""
    return Cell(f"warning: {text}", STYLES["warning"])
