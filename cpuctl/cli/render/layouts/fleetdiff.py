"""Layout of a fleet before and after: removed and new nodes, then each change once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Block, Cell, Lines
from cpuctl.cli.render.layouts.fleetlist import differing, fact_value, record_again
from cpuctl.phrases import counted, few

if TYPE_CHECKING:
    from cpuctl.answers.fleet import DiffedNode, FleetChange, FleetDiff


_FACTS_SHOWN = 12
"""Facts that changed on the same nodes that are shown unless *wide*."""


def blocks(document: FleetDiff, *, wide: bool) -> Iterator[Block]:
    """Lay out changes; *wide* shows all of them, and names all nodes."""
    nodes = document["nodes"]
    yield Lines(tuple(_opening(document)))
    if others := [
        *_named(nodes, "Gone", wide=wide),
        *_named(nodes, "New", wide=wide),
        *_unreadable(nodes, wide=wide),
    ]:
        yield Lines(tuple(others))
    if lines := tuple(_changes(document["changes"], wide=wide)):
        yield Lines(lines)
    if any(node["error"] for node in nodes):
        yield Lines((record_again(),))


def _changes(changes: Sequence[FleetChange], *, wide: bool) -> Iterator[Cell]:
    """Yield the first facts of the same nodes: a replaced machine has a fact for every cache."""
    facts: Counter[str] = Counter()
    for each in changes:
        who = _who(each["nodes"], wide=wide)
        facts[who] += each["aspect"] == "fact"
        if wide or each["aspect"] != "fact" or facts[who] <= _FACTS_SHOWN:
            yield _change(each, wide=wide)
    for who, count in facts.items():
        if not wide and count > _FACTS_SHOWN:
            yield Cell(f"{who}: and {count - _FACTS_SHOWN} more facts (-o wide)")


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


def _unreadable(nodes: Sequence[DiffedNode], *, wide: bool) -> Iterator[Cell]:
    found: dict[str, list[str]] = {}
    for node in nodes:
        if node["error"]:
            sources = (f"{node[side]}: " for side in ("before", "after"))
            error = next(filter(node["error"].startswith, sources), "")
            found.setdefault(node["error"].removeprefix(error), []).append(node["node"])
    for text, names in found.items():
        yield Cell(f"unreadable: {_names(names, wide=wide)}: {text}", "red")


def _change(change: FleetChange, *, wide: bool) -> Cell:
    who = _who(change["nodes"], wide=wide)
    if change["aspect"] == "finding":
        gone = bool(change["before"])
        text = change["before"] if gone else change["after"]
        return Cell(f"{who}: {'resolved' if gone else 'new'}: {text}", "" if gone else "yellow")
    if change["aspect"] == "fact" and (only := differing(change["what"], change["before"], change["after"])):
        parts = [f"{word} {items}" for word, items in zip(("removed", "added"), only, strict=True) if items]
        return Cell(f"{who}: {change['what']}: {', '.join(parts) or 'in another order'}")
    before, after = (_value(change, change[side]) for side in ("before", "after"))
    style = "" if change["aspect"] != "start" else "green" if change["after"] == "would start" else "red"
    return Cell(f"{who}: {change['what']}: {before} -> {after}", style)


def _who(names: Sequence[str], *, wide: bool) -> str:
    return f"{counted(len(names), 'node')} ({_names(names, wide=wide)})" if len(names) > 1 else names[0]


def _value(change: FleetChange, text: str) -> str:
    return fact_value(change["what"], text) if change["aspect"] == "fact" else text or "none"
