"""A fleet as a picture: a strip for every node, in groups; nodes that would not start are marked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from cpuctl.exports.outcomes import start_sentence
from cpuctl.exports.page import Markup, element, joined, text
from cpuctl.exports.sheet import SMALL, Drawing, LegendItem, Rectangle, Sheet, box, hatched, text_at
from cpuctl.exports.text_width import fitted
from cpuctl.phrases import byte_text, counted, few

if TYPE_CHECKING:
    from cpuctl.answers.fleet import FleetGroup, FleetNode

_WIDTH = 880.0
_GAP = 4.0
_HEAD, _LINE = 20.0, 16.0
_FREE = "o4"
_MOST_NAMED = 400
"""The maximum number of nodes with visible names; with more, strips are small and show names on hover."""


class _Size(NamedTuple):
    """The size of a strip, and of its name below it."""

    width: float
    height: float
    name: float


_NAMED, _SMALL = _Size(104.0, 10.0, 15.0), _Size(18.0, 10.0, 0.0)


class _Look(NamedTuple):
    """The appearance of nodes in one state, and its meaning."""

    classes: str
    hatch: str
    meaning: str


_STYLES: Mapping[str, _Look] = {
    "free": _Look(_FREE, "", "CPUs free for exclusive use, as a share of the node"),
    "used": _Look("rs", "", "CPUs that are reserved, or in exclusive use"),
    "shared": _Look("sh", "", "no static CPU Manager policy"),
    "undetermined": _Look("off", "", "unknown whether the kubelet starts"),
    "failing": _Look("no", "h-cross", "the kubelet would not start"),
    "unreadable": _Look("no", "", "the recording cannot be used"),
}


class PicturedFleet(TypedDict):
    """The parts of a fleet's answer that are drawn."""

    complete: bool
    groups: list[FleetGroup]
    nodes: list[FleetNode]


def fleet_svg(document: PicturedFleet, title: str) -> Markup:
    """Draw a fleet; the same answer gives the same text."""
    nodes = document["nodes"]
    blocks = list(_blocks(document))
    size = _NAMED if len(nodes) <= _MOST_NAMED else _SMALL
    states = {state for node in nodes for state in _states(node)}
    notes = [] if size.name else ["Hover over a strip to see which node it is."]
    if not document["complete"]:
        notes.append("Some nodes are missing: the run was interrupted.")
    blocks_text = (f"{block.title}: {few([node['node'] for node in block.nodes])}." for block in blocks)
    sheet = Sheet(
        title=title,
        lines=[],
        legend=[
            LegendItem(look.classes, look.hatch, "", "", look.meaning)
            for state, look in _STYLES.items()
            if state in states
        ],
        notes=notes,
        description=" ".join([f"{title}.", *blocks_text]),
    )
    return sheet.around(_drawing(blocks, size))


class _Block(NamedTuple):
    """Nodes under a heading, with a line on how they differ."""

    title: str
    line: str
    alarms: bool
    nodes: Sequence[FleetNode]


def _blocks(document: PicturedFleet) -> Iterator[_Block]:
    by_name: dict[str, list[FleetNode]] = {}
    for node in document["nodes"]:
        by_name.setdefault(node["node"], []).append(node)
    for place, group in enumerate(document["groups"], 1):
        odd, alarms = _oddity(group)
        nodes = [each for name in group["nodes"] for each in by_name[name] if each["outcome"] == "Read"]
        yield _Block(f"Group {place}: {_group_text(group)}", odd, alarms, nodes)
    if unreadable := [node for node in document["nodes"] if node["outcome"] == "Unreadable"]:
        yield _Block(
            f"Unreadable: {counted(len(unreadable), 'recording')}", "", alarms=False, nodes=unreadable
        )


def _group_text(group: FleetGroup) -> str:
    machine, kubelet = group["machine"], group["kubelet"]
    parts = [counted(group["count"], "node")]
    if machine["cpus"] is not None:
        parts.append(counted(machine["cpus"], "CPU"))
    if machine["numaNodes"] is not None:
        parts.append(counted(machine["numaNodes"], "NUMA node"))
    if machine["memory"] is not None:
        parts.append(byte_text(machine["memory"]))
    if kubelet is not None:
        parts.append(f"kubelet {kubelet['version']}")
        parts.append(f"{kubelet['cpuManagerPolicy']}, {kubelet['topologyManagerPolicy']}")
    return ", ".join(parts)


def _oddity(group: FleetGroup) -> tuple[str, bool]:
    """Describe how a group differs, and whether the given pods are placed differently there."""
    if group["comparedWith"] is None:
        return "", False
    line = f"differs from {group['comparedWith']} in {few([each['fact'] for each in group['differences']])}"
    placements = group.get("placements")
    if placements is None:
        return line, False
    if placements["differ"] is None:
        return (
            f"{line}; placement of the pods unknown: check whether the kubelets start (cpuctl fleet check)",
            True,
        )
    if not placements["differ"]:
        return f"{line}; places the pods the same way", False
    return f"{line}; places pods differently: {few(placements['pods'])}", True


def _drawing(blocks: Sequence[_Block], size: _Size) -> Drawing:
    parts: list[Markup] = []
    y = 0.0
    columns = int((_WIDTH + _GAP) // (size.width + _GAP))
    step = size.height + size.name + _GAP
    for block in blocks:
        parts.append(text_at(fitted(block.title, _WIDTH, 12, bold=True), 0, y + 12, "b", full=block.title))
        y += _HEAD
        if block.line:
            classes = "s al" if block.alarms else "s m"
            parts.append(text_at(fitted(block.line, _WIDTH, SMALL), 0, y + 9, classes, full=block.line))
            y += _LINE
        for index, node in enumerate(block.nodes):
            row, column = divmod(index, columns)
            parts.append(_strip(node, column * (size.width + _GAP), y + row * step, size))
        y += -(-len(block.nodes) // columns) * step + 12
    return Drawing(joined(parts, "\n"), _WIDTH, y)


def _states(node: FleetNode) -> tuple[str, ...]:
    if node["outcome"] == "Unreadable":
        return ("unreadable",)
    if node["start"]["outcome"] == "Undetermined":
        return ("undetermined",)
    if node["start"]["outcome"] != "Started":
        return ("failing",)
    return ("shared",) if node["free"] is None else ("used", "free")


def _strip(node: FleetNode, x: float, y: float, size: _Size) -> Markup:
    states = _states(node)
    look = _STYLES[states[0]]
    parts = [
        element("title", {}, text(_tip(node))),
        box(x, y, size.width, size.height, class_=f"k {look.classes}", rx=2),
        hatched(Rectangle(x, y, size.width, size.height), look.hatch),
    ]
    if node["outcome"] == "Read" and node["free"] is not None and node["machine"]["cpus"]:
        share = size.width * node["free"]["exclusiveCPUs"] / node["machine"]["cpus"]
        if share:
            parts.append(box(x, y, share, size.height, class_=f"k {_FREE}", rx=2))
    strip = element("g", {"data-node": node["node"], "data-state": states[0]}, *parts)
    if not size.name:
        return strip
    name = fitted(node["node"], size.width, SMALL)
    return joined((strip, text_at(name, x, y + size.height + 11, "s", full=node["node"])))


def _tip(node: FleetNode) -> str:
    if node["outcome"] == "Unreadable":
        return f"{node['node']}: {node['error']}"
    if node["start"]["outcome"] != "Started":
        return f"{node['node']}: {start_sentence(node['start'], 'the kubelet')}"
    if node["free"] is None:
        return f"{node['node']}: no static CPU Manager policy"
    free, cpus = node["free"], node["machine"]["cpus"]
    return (
        f"{node['node']}: {free['exclusiveCPUs']} of {cpus} CPUs free for exclusive use, at most "
        f"{free['largestOnOneNode']} on one NUMA node"
    )
