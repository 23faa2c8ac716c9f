"""Findings as plain data: the same members whatever they are about, and the place between them."""

from __future__ import annotations

from typing import Any

from cpuctl.diagnostics import Diagnostic


def finding_answer(finding: Diagnostic[object], **place: object) -> dict[str, Any]:
    """Describe a finding; *place* are the members that say what it is about."""
    return {
        "severity": str(finding.severity),
        "code": finding.code,
        **place,
        "expected": finding.expected,
        "detected": finding.detected,
        "message": finding.message,
        "fix": finding.fix,
    }
