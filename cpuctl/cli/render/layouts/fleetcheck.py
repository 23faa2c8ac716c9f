"""Layout of the check of a fleet: each finding once with its nodes, then what was not checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from textwrap import shorten
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.cli.render.blocks import Block, Cell, Lines, next_cell
from cpuctl.cli.render.findings import STYLES, counts_text, fix_cells, fix_label, placeholder_cells
from cpuctl.cli.render.layouts.fleetlist import error_text, hint_lines, record_again, unreadable_hints
from cpuctl.exports.answer_text import advice
from cpuctl.fleet.varying_text import VARIES, kind_of
from cpuctl.phrases import counted, few

if TYPE_CHECKING:
    from cpuctl.answers.fleet import CheckedNode, FleetCheck, FleetFinding, NodeFinding, UnreadableNode

_CLEAN, _PARTLY, _UNDETERMINED = "clean", "partly checked", "with undetermined start"
_COUNTED = (
    _CLEAN,
    "would not start",
    _UNDETERMINED,
    "with errors",
    "with warnings",
    _PARTLY,
    "unreadable",
)
"""What a node is counted as, each only once."""
_NEEDS_PODS = "(--pods FILE)"
_NODES_TRIED = 10
"""The nodes of a finding that are searched for a fix: it takes long for all of a large fleet."""
_LONGEST_FIX = 240
"""Characters of a command that are shown unless *wide*: it may contain something for every CPU."""


def blocks(document: FleetCheck, *, wide: bool) -> Iterator[Block]:
    """Lay out findings; *wide* names all nodes, and what was expected and detected."""
    read = {node["node"]: node for node in document["nodes"] if node["outcome"] == "Read"}
    fixes = [_fix(each, read) for each in document["findings"]]
    if findings := [
        line
        for each, fix in zip(document["findings"], fixes, strict=True)
        for line in _finding(each, fix, document["nodes"], wide=wide)
    ]:
        yield Lines((*findings, *placeholder_cells([fix.text for fix in fixes])))
    if others := [*_unchecked(document, wide=wide), *_unreadable(document["nodes"], wide=wide)]:
        yield Lines(tuple(others))
    yield Lines(tuple(_closing(document)))


class _Fix(NamedTuple):
    """A fix, and the only node to which it applies; empty for all."""

    text: str
    node: str = ""


def _finding(
    finding: FleetFinding, fix: _Fix, nodes: Sequence[CheckedNode | UnreadableNode], *, wide: bool
) -> Iterator[Cell]:
    parts = (finding["severity"], finding["code"], _text(finding))
    yield Cell(": ".join(parts), STYLES[finding["severity"]])
    if example := next(_examples(finding, nodes), ""):
        yield Cell(f"  for example, {example}")
    if wide:
        yield from (Cell(f"  {line}") for line in _details(finding, nodes))
    if text := fix.text:
        on_all = "" if finding["check"] == "config" else "on each node"
        whole = wide or len(text) <= _LONGEST_FIX
        shown = text if whole else f"{shorten(text, _LONGEST_FIX, placeholder=' ...')} (-o wide)"
        yield from fix_cells(shown, fix_label(text, f"on {fix.node}" if fix.node else on_all))
    often = f", {finding['count']} times" if finding["count"] > len(finding["nodes"]) else ""
    yield Cell(f"  {_nodes(finding['nodes'], wide=wide, often=often)}")


def _details(finding: FleetFinding, nodes: Sequence[CheckedNode | UnreadableNode]) -> Iterator[str]:
    """Say where a finding is, and its values; if they differ between the nodes, those of the first one."""
    shown: NodeFinding | FleetFinding = finding
    on = ""
    if any(VARIES in finding[part] for part in ("where", "expected", "detected")):
        name, shown = next(_merged(finding, nodes), ("", finding))
        on = f" (on {name})" if name and VARIES not in _text(finding) else ""
    if shown["subject"] and shown["where"]:
        yield f"where: {shown['where']}{on}"
    values = (("expected", shown["expected"]), ("detected", shown["detected"]))
    if known := ", ".join(f"{word} {value}" for word, value in values if value):
        yield f"{known}{on}"


def _text(finding: NodeFinding) -> str:
    return ": ".join(filter(None, (finding["subject"] or finding["where"], finding["message"])))


def _examples(finding: FleetFinding, nodes: Sequence[CheckedNode | UnreadableNode]) -> Iterator[str]:
    """Yield the complete texts of a finding that has gaps, with the names of the nodes."""
    if VARIES in _text(finding):
        for name, each in _merged(finding, nodes):
            yield f"{name}: {_text(each)}"


def _fix(finding: FleetFinding, nodes: Mapping[str, CheckedNode]) -> _Fix:
    """Return the fix of a finding; if the nodes need different ones, that of one of the first nodes.

    On one node alone, it may name processes and groups that others do not have.
    """
    if text := advice(finding):
        of_one = len(finding["nodes"]) == 1 and finding["check"] != "config"
        return _Fix(text, finding["nodes"][0] if of_one else "")
    kind = kind_of(finding)
    for name in filter(nodes.__contains__, finding["nodes"][:_NODES_TRIED]):
        for each in nodes[name]["findings"]:
            if advice(each) and each["code"] == finding["code"] and kind_of(each) == kind:
                return _Fix(advice(each), name)
    return _Fix("")


def _merged(
    finding: FleetFinding, nodes: Sequence[CheckedNode | UnreadableNode]
) -> Iterator[tuple[str, NodeFinding]]:
    """Yield the findings that one of the fleet stands for, with the names of the nodes."""
    kind, names = kind_of(finding), {*finding["nodes"]}
    for node in nodes:
        if node["outcome"] == "Read" and node["node"] in names:
            for each in node["findings"]:
                if kind_of(each) == kind:
                    yield node["node"], each


def _nodes(names: Sequence[str], *, wide: bool, often: str = "") -> str:
    return f"{counted(len(names), 'node')}{often}: {', '.join(names) if wide else few(names)}"


def _unchecked(document: FleetCheck, *, wide: bool) -> Iterator[Cell]:
    for each in document["unchecked"]:
        yield Cell(f"not checked ({each['check']}): {each['missing']}", "yellow")
        yield Cell(f"  {_nodes(each['nodes'], wide=wide)}")


def _unreadable(nodes: Sequence[CheckedNode | UnreadableNode], *, wide: bool) -> Iterator[Cell]:
    """Report why recordings cannot be read, each reason once."""
    found: dict[str, list[str]] = {}
    for node in nodes:
        if node["outcome"] == "Unreadable":
            found.setdefault(error_text(node), []).append(node["node"])
    for text, names in found.items():
        yield Cell(f"unreadable: {text}", "red")
        yield Cell(f"  {_nodes(names, wide=wide)}")
    yield from map(Cell, hint_lines(unreadable_hints(nodes)))


def _closing(document: FleetCheck) -> Iterator[Cell]:
    summary = document["summary"]
    counts = Counter(map(_counted_as, document["nodes"]))
    parts = [f"{counts[word]} {word}" for word in _COUNTED if counts[word] or word == _CLEAN]
    yield Cell(
        f"{counted(summary['nodes'], 'node')}: {', '.join(parts)}; {counts_text(summary) or 'no findings'}"
    )
    if not document["complete"]:
        yield Cell("Interrupted: some nodes are missing.", "yellow")
    if command := document.get("next"):
        yield next_cell("to see what an exporter would publish", command)
    if which := [
        *(["not fully checked"] if any(map(_lacks_parts, document["nodes"])) else []),
        *(["unreadable"] if "" in unreadable_hints(document["nodes"]) else []),
    ]:
        yield record_again(f"on each node that is {' or '.join(which)}")


def _counted_as(node: CheckedNode | UnreadableNode) -> str:
    """Return the worst that is known about a node."""
    if node["outcome"] == "Unreadable":
        return "unreadable"
    if node["start"] is not None and node["start"]["outcome"] != "Started":
        return _UNDETERMINED if node["start"]["outcome"] == "Undetermined" else "would not start"
    for severity in ("error", "warning"):
        if node["summary"][severity]:
            return f"with {severity}s"
    return _PARTLY if node["unchecked"] else _CLEAN


def _lacks_parts(node: CheckedNode | UnreadableNode) -> bool:
    """Return whether a new recording may contain what was not checked: not if the kubelet would not start."""
    if node["outcome"] == "Unreadable" or _counted_as(node) == "would not start":
        return False
    return any(not each["missing"].endswith(_NEEDS_PODS) for each in node["unchecked"])
