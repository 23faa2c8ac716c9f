"""What changed on the nodes of a fleet between two collections of their recordings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from os.path import commonpath
from typing import TYPE_CHECKING, TypeAlias

from cpuctl.answering import API_VERSION
from cpuctl.exports.outcomes import start_sentence
from cpuctl.fleet.facts import differences
from cpuctl.fleet.varying_text import skeleton, unnamed

if TYPE_CHECKING:
    from cpuctl.answers.fleet import (
        CheckedNode,
        DiffedNode,
        DiffOutcome,
        FleetChange,
        FleetDiff,
        FleetDiffSummary,
        FleetNode,
        ListedNode,
        NodeChange,
        UnreadableNode,
    )
    from cpuctl.answers.start import Start

Checked: TypeAlias = "Sequence[CheckedNode | UnreadableNode]"

_ASPECTS = ("start", "fact", "free", "finding")
_FREE = "CPUs free for exclusive use"
_LARGEST = "largest exclusive request on one NUMA node"


def fleet_diff_document(
    before: Sequence[FleetNode],
    after: Sequence[FleetNode],
    checked: tuple[Checked, Checked] = ((), ()),
) -> FleetDiff:
    """Compare nodes by their names; *checked* has the findings on them, before and after."""
    nodes = list(_nodes(before, after, checked))
    return {
        "apiVersion": API_VERSION,
        "kind": "FleetDiff",
        "summary": _summary(before, after, nodes),
        "changes": _together(nodes),
        "nodes": nodes,
    }


def _summary(
    before: Sequence[FleetNode], after: Sequence[FleetNode], nodes: Sequence[DiffedNode]
) -> FleetDiffSummary:
    outcomes = Counter(node["outcome"] for node in nodes)
    return {
        "before": len(before),
        "after": len(after),
        "gone": outcomes["Gone"],
        "new": outcomes["New"],
        "changed": outcomes["Changed"],
        "same": outcomes["Same"],
        "unreadable": outcomes["Unreadable"],
    }


def _nodes(
    before: Sequence[FleetNode], after: Sequence[FleetNode], checked: tuple[Checked, Checked]
) -> Iterator[DiffedNode]:
    earlier, later = _by_name(before), _by_name(after)
    found = tuple({row["source"]: _findings(row) for row in rows} for rows in checked)
    for name in dict.fromkeys((*earlier, *later)):
        one, other = earlier.get(name), later.get(name)
        error = next((each["error"] for each in (one, other) if each and each["outcome"] == "Unreadable"), "")
        changes: list[NodeChange] = []
        if one is None or other is None:
            outcome: DiffOutcome = "New" if one is None else "Gone"
        elif one["outcome"] == "Unreadable" or other["outcome"] == "Unreadable":
            outcome = "Unreadable"
        else:
            changes = list(_changes(one, other))
            changes += _found_changes(found[0].get(one["source"], {}), found[1].get(other["source"], {}))
            outcome = "Changed" if changes else "Same"
        yield {
            "node": name,
            "outcome": outcome,
            "before": one and one["source"],
            "after": other and other["source"],
            "error": error,
            "changes": changes,
        }


def _by_name(rows: Sequence[FleetNode]) -> dict[str, FleetNode]:
    """Return nodes by name; those with a shared name by their path below the collection."""
    shared = {name for name, count in Counter(row["node"] for row in rows).items() if count > 1}
    paths = {row["source"] for row in rows if row["node"] in shared or row["node"] == row["source"]}
    below = ""
    with suppress(ValueError):  # a mix of absolute and relative paths, or no paths
        below = f"{commonpath(paths)}/" if len(paths) > 1 else ""
    return {row["source"].removeprefix(below) if row["source"] in paths else row["node"]: row for row in rows}


def _changes(before: ListedNode, after: ListedNode) -> Iterator[NodeChange]:
    start = tuple(_start_text(node["start"]) for node in (before, after))
    if start[0] != start[1]:
        yield {"aspect": "start", "what": "kubelet's start", "before": start[0], "after": start[1]}
    for fact, one, other in differences(before["facts"], after["facts"]):
        yield {"aspect": "fact", "what": fact, "before": one, "after": other}
    frees = tuple(_free(node) for node in (before, after))
    for what in (_FREE, _LARGEST):
        one, other = (free.get(what, "") for free in frees)
        if one != other:
            yield {"aspect": "free", "what": what, "before": one, "after": other}


def _start_text(start: Start) -> str:
    match start["outcome"]:
        case "Started":
            return "would start"
        case "Undetermined":
            return f"undetermined: {start['why']}"
        case _:
            return start_sentence(start, "").strip()


def _free(node: ListedNode) -> dict[str, str]:
    free = node["free"]
    if free is None:
        return {}
    return {_FREE: str(free["exclusiveCPUs"]), _LARGEST: str(free["largestOnOneNode"])}


def _findings(row: CheckedNode | UnreadableNode) -> dict[str, str]:
    """Return the findings on a node, each once, without names and numbers of this node, by what they say."""
    if row["outcome"] == "Unreadable":
        return {}
    found: dict[str, str] = {}
    for each in row["findings"]:
        texts = each["subject"], each["message"]
        key, shown = (
            ": ".join(filter(None, (each["severity"], each["code"], *map(reduced, texts))))
            for reduced in (skeleton, unnamed)
        )
        found.setdefault(key, shown)
    return found


def _found_changes(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[NodeChange]:
    for key, text in before.items():
        if key not in after:
            yield {"aspect": "finding", "what": "finding", "before": text, "after": ""}
    for key, text in after.items():
        if key not in before:
            yield {"aspect": "finding", "what": "finding", "before": "", "after": text}


def _together(nodes: Sequence[DiffedNode]) -> list[FleetChange]:
    """Merge equal changes: those of the start first, then those of most nodes."""
    found: dict[tuple[str, str, str, str], FleetChange] = {}
    for node in nodes:
        for each in node["changes"]:
            key = (each["aspect"], each["what"], each["before"], each["after"])
            found.setdefault(key, {**each, "nodes": []})["nodes"].append(node["node"])
    return sorted(found.values(), key=lambda each: (_ASPECTS.index(each["aspect"]), -len(each["nodes"])))
