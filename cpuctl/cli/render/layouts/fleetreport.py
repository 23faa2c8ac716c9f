"""Layout of a report on a fleet: one row per node, those that need attention first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table, next_cell
from cpuctl.cli.render.findings import STYLES
from cpuctl.cli.render.layouts.fleetlist import hint_lines, record_again, running_pods, unreadable_hints
from cpuctl.exports.report_words import refusing_nodes
from cpuctl.phrases import counted, few

if TYPE_CHECKING:
    from cpuctl.answers.fleet import FleetFinding, FleetGroup, UnreadableNode
    from cpuctl.answers.report import FleetReport, ReportedNode

NAMES = ("NODE", "ERRORS", "WARNINGS", "UNKNOWN", "GROUP", "RESULT")
_NUMBERS = frozenset(NAMES[1:5])


def blocks(document: FleetReport, *, wide: bool) -> Iterator[Block]:
    """Lay out a report on a fleet; wide names all nodes of a finding."""
    yield Lines((opening(document),))
    if document["nodes"]:
        yield nodes_table(document)
    if lines := tuple(oddities(document["groups"])):
        yield Lines(lines)
    if document["findings"]:
        yield Lines(tuple(_finding(each, wide=wide) for each in document["findings"]))
    if command := document.get("next"):
        refusing = (node["node"] for node in refusing_nodes(document))
        yield Lines(tuple(_following(command, next(refusing, "the node"))))
    hints = unreadable_hints(document["nodes"])
    if stated := tuple(hint_lines(hints)):
        yield Lines.of(*stated)
    if document["summary"]["unknown"] or "" in hints:
        yield Lines((record_again("on each node that is partly unknown or unreadable"),))


def _following(command: str, node: str) -> Iterator[Cell]:
    yield next_cell(f"to see why {node} does not admit all pods", command)
    yield from running_pods(command, node)


def opening(document: FleetReport) -> Cell:
    """Count nodes by what needs attention."""
    summary = document["summary"]
    counts = {
        "unreadable": summary["unreadable"],
        "with problems": summary["withProblems"],
        "different": summary["outliers"],
        "partly unknown": summary["unknown"],
    }
    parts = [f"{count} {words}" for words, count in counts.items() if count]
    missing = "" if document["complete"] else "; interrupted: some nodes are missing"
    text = f"{counted(summary['nodes'], 'node')}: {', '.join(parts) or 'no problems found'}{missing}"
    bad = summary["withProblems"] or summary["unreadable"]
    return Cell(text, "red" if bad else "yellow" if parts or missing else "green")


def nodes_table(document: FleetReport) -> Table:
    """Show one row per node."""
    places = {node: place for place, group in enumerate(document["groups"], 1) for node in group["nodes"]}
    rows = tuple(_row(node, places.get(node["node"], 0)) for node in document["nodes"])
    return Table(tuple(Column(name, "right" if name in _NUMBERS else "left") for name in NAMES), rows)


def _row(node: ReportedNode | UnreadableNode, place: int) -> tuple[Cell, ...]:
    if node["outcome"] == "Unreadable":
        return (Cell(node["node"]), *(Cell("-"),) * 4, Cell(f"unreadable: {node['error']}", "red"))
    summary = node["summary"]
    bad = summary["error"] or summary["notAdmitted"] or summary["start"] in ("Rejected", "KubeletFault")
    style = "red" if bad else "yellow" if summary["warning"] or summary["unknown"] else "green"
    return (
        Cell(node["node"]),
        Cell(str(summary["error"]), "red" if summary["error"] else ""),
        Cell(str(summary["warning"]), "yellow" if summary["warning"] else ""),
        Cell(str(summary["unknown"])),
        Cell(str(place), "yellow" if place > 1 else ""),
        Cell(node["verdict"], style),
    )


def oddities(groups: list[FleetGroup]) -> Iterator[Cell]:
    """Show for every group but the largest how it differs."""
    for place, group in enumerate(groups, 1):
        if group["comparedWith"] is not None:
            facts = few([each["fact"] for each in group["differences"]])
            who = f"group {place} ({few(group['nodes'])})"
            yield Cell(f"{who} differs from {group['comparedWith']} in {facts}", "yellow")


def _finding(finding: FleetFinding, *, wide: bool) -> Cell:
    nodes = ", ".join(finding["nodes"]) if wide else few(finding["nodes"])
    text = ": ".join(filter(None, (finding["severity"], finding["subject"], finding["message"])))
    return Cell(f"{text} ({nodes})", STYLES[finding["severity"]])
