"""Layout of the check of a fleet: each finding once with its nodes, then what was not checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from textwrap import shorten
from typing import TYPE_CHECKING, Literal

from cpuctl.cli.render.blocks import Block, Cell, Lines
from cpuctl.cli.render.findings import STYLES, counts_text, fix_cells, placeholder_cells
from cpuctl.cli.render.layouts.fleetlist import error_text, record_again
from cpuctl.phrases import counted, few

if TYPE_CHECKING:
    from cpuctl.answers.fleet import CheckedNode, FleetCheck, FleetFinding, UnreadableNode

_COUNTED: Mapping[Literal["wouldNotStart", "undetermined", "unchecked", "unreadable"], str] = {
    "wouldNotStart": "would not start",
    "undetermined": "start undetermined",
    "unchecked": "partly checked",
    "unreadable": "unreadable",
}
_LONGEST_FIX = 240
"""Characters of a command that are shown unless *wide*: it may contain something for every CPU."""

_OF_NODE = ("cpuctl checkpoint ", "sudo cpuctl ")
"""The commands that are run on a node, not on its recording."""


def blocks(document: FleetCheck, *, wide: bool) -> Iterator[Block]:
    """Lay out findings; *wide* names all nodes, and what was expected and detected."""
    if findings := [line for each in document["findings"] for line in _finding(each, wide=wide)]:
        yield Lines((*findings, *placeholder_cells([each["fix"] or "" for each in document["findings"]])))
    if others := [*_unchecked(document, wide=wide), *_unreadable(document["nodes"], wide=wide)]:
        yield Lines(tuple(others))
    yield Lines(tuple(_closing(document)))


def _finding(finding: FleetFinding, *, wide: bool) -> Iterator[Cell]:
    parts = (finding["severity"], finding["code"], finding["about"] or finding["where"], finding["message"])
    yield Cell(": ".join(filter(None, parts)), STYLES[finding["severity"]])
    if wide:
        if finding["about"] and finding["where"]:
            yield Cell(f"  where: {finding['where']}")
        if finding["expected"] or finding["detected"]:
            yield Cell(f"  expected {finding['expected'] or '-'}, detected {finding['detected'] or '-'}")
    if fix := finding["fix"]:
        whole = wide or len(fix) <= _LONGEST_FIX
        shown = fix if whole else f"{shorten(fix, _LONGEST_FIX, placeholder=' ...')} (-o wide)"
        yield from fix_cells(shown, "on each node" if fix.startswith(_OF_NODE) else "fix")
    often = f", {finding['count']} times" if finding["count"] > len(finding["nodes"]) else ""
    yield Cell(f"  {_nodes(finding['nodes'], wide=wide, often=often)}")


def _nodes(names: Sequence[str], *, wide: bool, often: str = "") -> str:
    return f"{counted(len(names), 'node')}{often}: {', '.join(names) if wide else few(names)}"


def _unchecked(document: FleetCheck, *, wide: bool) -> Iterator[Cell]:
    for each in document["unchecked"]:
        yield Cell(f"not checked ({each['check']}): {each['missing']}", "yellow")
        yield Cell(f"  {_nodes(each['nodes'], wide=wide)}")


def _unreadable(nodes: Iterable[CheckedNode | UnreadableNode], *, wide: bool) -> Iterator[Cell]:
    """Report why recordings cannot be read, each reason once."""
    found: dict[str, list[str]] = {}
    for node in nodes:
        if node["outcome"] == "Unreadable":
            found.setdefault(error_text(node), []).append(node["node"])
    for text, names in found.items():
        yield Cell(f"unreadable: {text}", "red")
        yield Cell(f"  {_nodes(names, wide=wide)}")


def _closing(document: FleetCheck) -> Iterator[Cell]:
    summary = document["summary"]
    parts = [f"{summary['clean']} clean"]
    parts += [f"{summary[name]} {words}" for name, words in _COUNTED.items() if summary[name]]
    yield Cell(
        f"{counted(summary['nodes'], 'node')}: {', '.join(parts)}; {counts_text(summary) or 'no findings'}"
    )
    if not document["complete"]:
        yield Cell("Interrupted: some nodes are missing.", "yellow")
    partly = bool(document["unchecked"]) and not document["findings"]
    if which := [
        *(["partly checked"] if partly else []),
        *(["unreadable"] if summary["unreadable"] else []),
    ]:
        yield record_again(f"on each node that is {' or '.join(which)}")
