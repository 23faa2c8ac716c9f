"""What is wrong with state files: why a kubelet refuses them, and what it does not notice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cpuctl.engine.config_lints.lint import Severity

REPAIR = "cpuctl checkpoint repair"
REPAIR_WITH_PODS = f"{REPAIR} --pods FILE"

MOST_ALIKE = 50
"""Of findings with the same code, as many are told: a file may have one for every entry."""


class StateFinding(NamedTuple):
    """A finding about one file.

    An error is what a kubelet refuses, a warning what it does not notice although it is wrong or does harm
    later; any other is worth knowing. ``expected``, ``detected`` and ``fix`` may be empty, like the owner
    that it is about.
    """

    severity: Severity
    code: str
    file_name: str
    message: str
    expected: str = ""
    detected: str = ""
    fix: str = ""
    pod_uid: str = ""
    container: str = ""


def limited(findings: Iterable[StateFinding]) -> Iterator[StateFinding]:
    """Pass findings on, of every code as many as people read, and say how many there are more."""
    counts: Counter[tuple[str, str, Severity]] = Counter()
    for finding in findings:
        kind = finding.file_name, finding.code, finding.severity
        counts[kind] += 1
        if counts[kind] <= MOST_ALIKE:
            yield finding
    for (file_name, code, severity), count in counts.items():
        if count > MOST_ALIKE:
            message = f"{count - MOST_ALIKE} more of the same kind"
            yield StateFinding(severity=severity, code=code, file_name=file_name, message=message)
