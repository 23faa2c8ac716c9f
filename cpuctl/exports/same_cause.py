"""Findings of two checks of one node that have the same cause.

An audit also examines the state files, but reports less than their own check, which proposes repairs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpuctl.diagnostics import SEVERITIES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpuctl.answers.audit import Audit, Finding
    from cpuctl.answers.checkpoint import CheckpointVerify
    from cpuctl.answers.values import FindingCounts, Graded

_IN_STATE_FILES = {
    "state-unusable": {"unreadable"},
    "state-policy": {"policy-differs"},
    "held-twice": {"held-twice", "held-and-shared"},
    "reserved-in-use": {"reserved-held", "reserved-in-pool"},
    "cpus-offline": {"no-such-cpus"},
    "cpus-unknown": {"unaccounted-cpus"},
    "stale-entry": {"owner-gone", "container-gone"},
}
"""Codes of an audit, and the corresponding codes of the check of the state files."""
_OF_ONE_FILE = {"state-unusable", "state-policy"}


def findings_of_audit(audit: Audit, state: CheckpointVerify | None) -> list[Finding]:
    """Return the findings of an audit without those that the check of the state files also has.

    One that is more severe in the audit stays.
    """
    if state is None:
        return audit["findings"]
    found: dict[tuple[str, str | None], int] = {}
    for each in state["findings"]:
        for about in (each["file"], each["podUID"], None):
            key, rank = (each["code"], about), SEVERITIES.index(each["severity"])
            found[key] = min(rank, found.get(key, rank))
    return [each for each in audit["findings"] if not _is_among(each, found)]


def _is_among(finding: Finding, found: Mapping[tuple[str, str | None], int]) -> bool:
    """Return whether findings have the cause of this one, and none of them is less severe."""
    about = finding["subject"] if finding["code"] in _OF_ONE_FILE else finding["uid"]
    codes = _IN_STATE_FILES.get(finding["code"], ())
    ranks = [found[code, about] for code in codes if (code, about) in found]
    return bool(ranks) and max(ranks) <= SEVERITIES.index(finding["severity"])


def count_findings(findings: Sequence[Graded]) -> FindingCounts:
    """Count findings by severity."""
    error, warning, note = (sum(each["severity"] == name for each in findings) for name in SEVERITIES)
    return {"error": error, "warning": warning, "note": note}
