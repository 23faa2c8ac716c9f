"""Findings as plain data: the same members whatever they are about, and the place between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from cpuctl.diagnostics import Diagnostic

if TYPE_CHECKING:
    from cpuctl.answers.values import Found, Graded


def graded(finding: Diagnostic[object]) -> Graded:
    """Return how bad a finding is, and its name."""
    return {"severity": finding.severity.value, "code": finding.code}


def found(finding: Diagnostic[object]) -> Found:
    """Return what is found, and what to do."""
    return {
        "expected": finding.expected,
        "detected": finding.detected,
        "message": finding.message,
        "fix": finding.fix,
    }


def spell_out_fixes(findings: Iterable[Found], spelt_out: Callable[[str], str]) -> None:
    """Let what findings propose ask with the options that were given."""
    for finding in findings:
        finding["fix"] = spelt_out(finding["fix"])
