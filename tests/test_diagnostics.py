"""Findings: in which order, and how many of each kind."""

from __future__ import annotations

from cpuctl.diagnostics import Diagnostic, Severity, counts, worst_first


def said(severity: Severity, code: str) -> Diagnostic[str]:
    return Diagnostic(severity, code, "kubelet.yaml:3", "text")


MIXED = [
    said(Severity.NOTE, "a"),
    said(Severity.ERROR, "b"),
    said(Severity.WARNING, "c"),
    said(Severity.ERROR, "d"),
    said(Severity.NOTE, "e"),
]


def test_the_worst_come_first_and_the_equally_bad_as_they_were() -> None:
    assert [each.code for each in worst_first(MIXED)] == ["b", "d", "c", "a", "e"]
    assert max(each.severity for each in MIXED) is Severity.ERROR


def test_kinds_that_do_not_occur_are_counted_too() -> None:
    assert list(counts(MIXED[:2]).items()) == [("error", 1), ("warning", 0), ("note", 1)]


def test_a_place_without_a_name_is_left_out() -> None:
    finding = said(Severity.NOTE, "a")
    assert [str(finding), str(finding.at(""))] == ["kubelet.yaml:3: text", "text"]
