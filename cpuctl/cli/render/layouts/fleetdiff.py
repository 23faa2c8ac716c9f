"""How a fleet before and after looks to people: nodes gone and new, then each change once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Block, Cell, Lines
from cpuctl.cli.render.layouts.fleetlist import fact_value
from cpuctl.exports.wording import counted, few

if TYPE_CHECKING:
    from cpuctl.answers.fleet import DiffedNode, FleetChange, FleetDiff


def blocks(document: FleetDiff, *, wide: bool) -> Iterator[Block]:
    """Lay out changes; *wide* names all nodes."""
    nodes = document["nodes"]
    yield Lines(tuple(_opening(document)))
    if others := [*_named(nodes, "Gone", wide=wide), *_named(nodes, "New", wide=wide), *_unreadable(nodes)]:
        yield Lines(tuple(others))
    if changes := tuple(_change(each, wide=wide) for each in document["changes"]):
        yield Lines(changes)


def _opening(document: FleetDiff) -> Iterator[Cell]:
    summary = document["summary"]
    parts = {
        "gone": summary["gone"],
        "new": summary["new"],
        "changed": summary["changed"],
        "the same": summary["same"],
        "unreadable": summary["unreadable"],
    }
    counts = ", ".join(f"{count} {word}" for word, count in parts.items() if count)
    yield Cell(f"{counted(summary['before'], 'node')} before, {summary['after']} after: {counts}")


def _named(nodes: Sequence[DiffedNode], outcome: str, *, wide: bool) -> Iterator[Cell]:
    names = [node["node"] for node in nodes if node["outcome"] == outcome]
    if names:
        yield Cell(f"{outcome.lower()}: {_names(names, wide=wide)}", "yellow")


def _names(names: Sequence[str], *, wide: bool) -> str:
    return ", ".join(names) if wide else few(names)


def _unreadable(nodes: Sequence[DiffedNode]) -> Iterator[Cell]:
    for node in nodes:
        if node["error"]:
            yield Cell(f"unreadable: {node['node']}: {node['error']}", "red")


def _change(change: FleetChange, *, wide: bool) -> Cell:
    names = change["nodes"]
    who = f"{counted(len(names), 'node')} ({_names(names, wide=wide)})" if len(names) > 1 else names[0]
    if change["aspect"] == "finding":
        gone = bool(change["before"])
        text = change["before"] if gone else change["after"]
        return Cell(f"{who}: {'no more' if gone else 'new'}: {text}", "" if gone else "yellow")
    before, after = (_value(change, change[side]) for side in ("before", "after"))
    style = "" if change["aspect"] != "start" else "green" if change["after"] == "would start" else "red"
    return Cell(f"{who}: {change['what']}: {before} -> {after}", style)


def _value(change: FleetChange, text: str) -> str:
    return fact_value(change["what"], text) if change["aspect"] == "fact" else text or "none"
