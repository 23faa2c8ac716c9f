"""The answer of ``cpuctl fleet report``: nodes in the order of urgency."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from cpuctl.answering import API_VERSION
from cpuctl.exports.report_words import findings_of, is_clean
from cpuctl.fleet.checking import same_findings
from cpuctl.fleet.grouping import group_answers, groups_of

if TYPE_CHECKING:
    from cpuctl.answers.fleet import FleetPartName, NodeFinding, UnreadableNode
    from cpuctl.answers.report import FleetReport, FleetReportSummary, Report, ReportedNode

    Node = ReportedNode | UnreadableNode

_CHECKS: Mapping[str, FleetPartName] = {
    "machine": "machine",
    "configuration": "config",
    "state": "state",
    "audit": "audit",
}
"""The parts of a report, by the names of the checks with the same findings."""


def node_findings(report: Report) -> Iterator[NodeFinding]:
    """Yield the findings on a node, as fleet checks report them."""
    for place in findings_of(report):
        each = place.finding
        finding: NodeFinding = {
            "check": _CHECKS[place.part],
            "severity": each["severity"],
            "code": each["code"],
            "subject": place.about,
            "where": "",
            "expected": each["expected"],
            "detected": each["detected"],
            "message": each["message"],
            "fix": each["fix"],
        }
        if "see" in each:
            finding["see"] = each["see"]
        yield finding


def fleet_report_document(
    nodes: Sequence[Node],
    findings: Sequence[tuple[str, NodeFinding]],
    *,
    passed_over: Sequence[str] = (),
    complete: bool = True,
) -> FleetReport:
    """Put nodes into one document; *findings* are given with the names of their nodes."""
    read = [node for node in nodes if node["outcome"] == "Read"]
    groups = groups_of([node["listed"] for node in read])
    odd = {node["node"] for group in groups[1:] for node in group.nodes}
    return {
        "apiVersion": API_VERSION,
        "kind": "FleetReport",
        "complete": complete,
        "skipped": list(passed_over),
        "summary": _summary(nodes, read, len(odd)),
        "groups": list(group_answers(groups)),
        "findings": same_findings(findings),
        "nodes": sorted(nodes, key=lambda node: _rank(node, odd=node["node"] in odd)),
    }


def is_wrong(node: ReportedNode) -> bool:
    """Return whether something is wrong with a node, ignoring what is unknown."""
    return not is_clean({**node["summary"], "unknown": 0})


def _summary(nodes: Sequence[Node], read: Sequence[ReportedNode], odd: int) -> FleetReportSummary:
    return {
        "nodes": len(nodes),
        "withProblems": sum(map(is_wrong, read)),
        "outliers": odd,
        "unknown": sum(node["summary"]["unknown"] > 0 for node in read),
        "unreadable": len(nodes) - len(read),
    }


def _rank(node: Node, *, odd: bool) -> tuple[int, ...]:
    """Return a sort key by urgency: unreadable, not starting, with errors, odd, and other nodes."""
    if node["outcome"] == "Unreadable":
        return (0,)
    summary = node["summary"]
    return (
        {"Rejected": 1, "KubeletFault": 1, "Undetermined": 2}.get(summary["start"], 3),
        -summary["error"],
        -(summary["notAdmitted"] or 0),
        not odd,
        -summary["warning"],
        -summary["unknown"],
    )
