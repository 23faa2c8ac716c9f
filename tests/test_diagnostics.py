"""The order of findings, and their number by severity."""

from __future__ import annotations

import pytest

from cpuctl.diagnostics import Diagnostic, Severity, counts, only_shows, worst_first


def stated(severity: Severity, code: str) -> Diagnostic[str]:
    return Diagnostic(severity, code, "kubelet.yaml:3", "text")


MIXED = [
    stated(Severity.NOTE, "a"),
    stated(Severity.ERROR, "b"),
    stated(Severity.WARNING, "c"),
    stated(Severity.ERROR, "d"),
    stated(Severity.NOTE, "e"),
]


def test_the_worst_findings_come_first_in_stable_order() -> None:
    assert [each.code for each in worst_first(MIXED)] == ["b", "d", "c", "a", "e"]
    assert max(each.severity for each in MIXED) is Severity.ERROR


def test_severities_that_do_not_occur_are_counted_as_zero() -> None:
    assert list(counts(MIXED[:2]).items()) == [("error", 1), ("warning", 0), ("note", 1)]


def test_an_empty_place_is_omitted() -> None:
    finding = stated(Severity.NOTE, "a")
    assert [str(finding), str(finding.at(""))] == ["kubelet.yaml:3: text", "text"]


@pytest.mark.parametrize(
    ("fix", "shows"),
    [
        ("cpuctl explain shop/db --pods FILE", True),
        ("sudo cpuctl explain shop/db --kubelet-args '--root-dir=/srv --fail-cgroupv1=false'", True),
        ("sudo cpuctl checkpoint repair", False),
        ("cpuctl explain shop/db --kubelet-version VERSION", False),
    ],
)
def test_a_command_that_only_shows_more_is_told_from_a_fix(fix: str, shows: bool) -> None:
    assert only_shows(fix) == shows
