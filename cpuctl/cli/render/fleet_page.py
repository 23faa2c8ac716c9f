"""The index of a fleet's reports: nodes with links to their pages, groups, findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpuctl.cli.render.layouts.fleetreport import nodes_table, oddities, opening
from cpuctl.cli.render.page_parts import page_parts, styled_text
from cpuctl.exports.fleet import fleet_svg
from cpuctl.exports.page import Figure, Grid, Sentences, StyledText
from cpuctl.exports.report_page import Card, Chapter, Fact, Facts, Head, report_page
from cpuctl.phrases import counted, few

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cpuctl.answers.fleet import FleetNode
    from cpuctl.answers.report import FleetReport
    from cpuctl.exports.fleet import PicturedFleet
    from cpuctl.exports.page import Markup, Tone
    from cpuctl.exports.report_page import Item


def fleet_page(report: FleetReport) -> Markup:
    """Write the index."""
    left_out = [f"skipped: {few(report['skipped'])}"] if report["skipped"] else []
    head = Head("Fleet", styled_text(opening(report)), left_out)
    return report_page(head, list(_cards(report)), list(_chapters(report)), alone="node")


def _cards(report: FleetReport) -> Iterator[Card]:
    summary = report["summary"]
    wrong: Tone = "bad" if summary["withProblems"] or summary["unreadable"] else "good"
    have = "has" if summary["withProblems"] == 1 else "have"
    text = f"{summary['withProblems']} of {counted(summary['nodes'], 'node')} {have} problems"
    if summary["unreadable"]:
        text += f", {summary['unreadable']} unreadable"
    yield Card("Nodes", StyledText(text, wrong), "nodes")
    odd: Tone = "warn" if summary["outliers"] else "good"
    groups = f"{counted(len(report['groups']), 'group')}, {counted(summary['outliers'], 'different node')}"
    yield Card("Groups", StyledText(groups, odd), "groups")
    if report["findings"]:
        yield Card("Findings", StyledText(counted(len(report["findings"]), "finding")), "findings")


def _chapters(report: FleetReport) -> Iterator[Chapter]:
    yield Chapter("nodes", "Nodes", (_nodes(report),))
    yield Chapter("groups", "Groups", tuple(_groups(report)))
    if report["findings"]:
        yield Chapter("findings", "Findings", (Facts(tuple(_findings(report))),))


def _nodes(report: FleetReport) -> Grid:
    (grid,) = page_parts([nodes_table(report)])
    assert isinstance(grid, Grid)
    rows = []
    for node, row in zip(report["nodes"], grid.rows, strict=True):
        page = node["page"] if node["outcome"] == "Read" else None
        rows.append((row[0]._replace(link=page or ""), *row[1:]))
    about = tuple({"data-pod": node["node"]} for node in report["nodes"])
    return grid._replace(rows=tuple(rows), about=about)


def _groups(report: FleetReport) -> Iterator[Item]:
    lines = tuple(styled_text(each) for each in oddities(report["groups"]))
    if lines:
        yield Sentences(lines)
    nodes: list[FleetNode] = [
        node["listed"] if node["outcome"] == "Read" else node for node in report["nodes"]
    ]
    fleet: PicturedFleet = {"complete": report["complete"], "groups": report["groups"], "nodes": nodes}
    yield Figure(fleet_svg(fleet, "CPUs that are free for exclusive use"))


def _findings(report: FleetReport) -> Iterator[Fact]:
    for each in report["findings"]:
        yield Fact(
            severity=each["severity"],
            code=f"{each['check']}: {each['code']}",
            about=each["subject"],
            message=each["message"],
            detail=f"on {counted(len(each['nodes']), 'node')}: {', '.join(each['nodes'])}",
            fix=each["fix"],
            see=each.get("see", ""),
            pod=" ".join(each["nodes"]),
        )
