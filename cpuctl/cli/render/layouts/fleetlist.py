"""Layout of a fleet: groups of equal nodes, how the others differ, one row per node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from textwrap import shorten
from typing import TYPE_CHECKING, Literal

from cpuctl import option_names
from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table, next_cell, next_line
from cpuctl.exports.outcomes import start_sentence
from cpuctl.golang.durations import duration_text
from cpuctl.phrases import byte_text, counted, elided, few

if TYPE_CHECKING:
    from cpuctl.answers.fleet import (
        CheckedNode,
        FactDifference,
        FleetGroup,
        FleetKubelet,
        FleetList,
        FleetMachine,
        FleetNode,
        ListedNode,
        UnreadableNode,
    )
    from cpuctl.answers.fleet_plan import PlannedNode
    from cpuctl.answers.report import ReportedNode
    from cpuctl.answers.start import Start

_DIFFERENCES_SHOWN = 6
_LONGEST_VALUE = 60
_OF_MACHINE = ("CPUs", "sockets", "memory", "cores", "L3")
"""Facts in one word that are no settings of the kubelet."""
_DURATIONS = ("Period", "Frequency")
_NAMES_NEEDED, _NAME_SHOWN = 3, 30
"""Members of a group that are named, and the length of each name."""
_COUNTED: Mapping[Literal["wouldNotStart", "undetermined", "unreadable"], str] = {
    "wouldNotStart": "would not start",
    "undetermined": "with undetermined start",
    "unreadable": "unreadable",
}
_UNREADABLE = Cell("unreadable", "red")
_STATUS = {
    "Started": Cell("ok", "green"),
    "Rejected": Cell("would not start", "red"),
    "Undetermined": Cell("undetermined", "yellow"),
}
_FAULTS = {
    "endless loop": Cell("would hang", "bold red"),
    "no answer": Cell("would hang", "bold red"),
    "crash": Cell("would crash", "bold red"),
}


def blocks(document: FleetList, *, wide: bool) -> Iterator[Block]:
    """Lay out a fleet; *wide* names all nodes of a group, and all differences."""
    yield Lines(tuple(opening_lines(document)))
    groups = document["groups"]
    if groups:
        yield _groups(groups, wide=wide)
    if odd := [line for group in groups[1:] for line in _oddity(group, groups, wide=wide)]:
        yield Lines(tuple(odd))
    places = {node: place for place, group in enumerate(groups, 1) for node in group["nodes"]}
    if document["nodes"]:
        yield _nodes(document["nodes"], places, wide=wide)
    if problems := tuple(_problems(document["nodes"])):
        yield Lines(problems)
    hints = unreadable_hints(document["nodes"])
    if lines := tuple(hint_lines(hints)):
        yield Lines.of(*lines)
    if command := document.get("next"):
        yield next_line("to see what to change", command)
    elif "" in hints:
        yield Lines((record_again(),))


def opening_lines(document: FleetList) -> Iterator[Cell]:
    """Count the nodes, those that differ and those with problems."""
    summary = document["summary"]
    largest = document["groups"][0]["count"] if document["groups"] else 0
    parts = [f"{summary[name]} {words}" for name, words in _COUNTED.items() if summary[name]]
    if summary["outliers"] and largest == 1:
        parts.insert(0, "all different")
    elif summary["outliers"]:
        parts = [f"{largest} identical", f"{summary['outliers']} different", *parts]
    elif largest > 1:
        parts.insert(0, "all identical" if largest == summary["nodes"] else f"{largest} identical")
    yield Cell(": ".join((counted(summary["nodes"], "node"), *filter(None, [", ".join(parts)]))))
    if not document["complete"]:
        yield Cell("Interrupted: some nodes are missing.", "yellow")


def _groups(groups: Sequence[FleetGroup], *, wide: bool) -> Table:
    names = ("GROUP", "NODES", "CPUS", "NUMA", "MEMORY", "KUBELET", "POLICIES", "MEMBERS")
    right = {"GROUP", "NODES", "CPUS", "NUMA", "MEMORY"}
    rows = tuple(
        (
            Cell(str(place)),
            Cell(str(group["count"])),
            *_machine(group["machine"]),
            *_kubelet(group["kubelet"]),
            Cell(", ".join(group["nodes"]) if wide else few(_short(group["nodes"]), group["count"])),
        )
        for place, group in enumerate(groups, 1)
    )
    return Table(tuple(Column(name, "right" if name in right else "left") for name in names), rows)


def _short(names: Sequence[str]) -> list[str]:
    return [elided(name, _NAME_SHOWN) for name in names[:_NAMES_NEEDED]]


def _machine(machine: FleetMachine) -> Iterator[Cell]:
    yield Cell("-" if machine["cpus"] is None else str(machine["cpus"]))
    yield Cell("-" if machine["numaNodes"] is None else str(machine["numaNodes"]))
    yield Cell("-" if machine["memory"] is None else byte_text(machine["memory"]))


def _kubelet(kubelet: FleetKubelet | None) -> tuple[Cell, Cell]:
    if kubelet is None:
        return Cell("-"), Cell("-")
    policies = (kubelet["cpuManagerPolicy"], kubelet["topologyManagerPolicy"], kubelet["memoryManagerPolicy"])
    return Cell(kubelet["version"]), Cell(", ".join(policies))


def _oddity(group: FleetGroup, groups: Sequence[FleetGroup], *, wide: bool) -> Iterator[Cell]:
    place = groups.index(group) + 1
    other = next((at for at, each in enumerate(groups, 1) if group["comparedWith"] in each["nodes"]), 1)
    shown = group["differences"] if wide else group["differences"][:_DIFFERENCES_SHOWN]
    yield Cell(f"Group {place} ({few(group['nodes'])}) differs from group {other} in:", "bold")
    yield from (Cell(f"  {_difference(each, f'group {other}')}") for each in shown)
    if left := len(group["differences"]) - len(shown):
        yield Cell(f"  and {left} more (-o wide)")
    if placements := group.get("placements"):
        if placements["differ"] is None:
            yield Cell(
                "Placement of the pods unknown: check whether the kubelets start (cpuctl fleet check)",
                "yellow",
            )
        elif placements["differ"]:
            yield Cell(f"Group {place} places pods differently: {few(placements['pods'])}", "yellow")
        else:
            yield Cell(f"Group {place} places the pods as group {other} does.")


def _difference(difference: FactDifference, other: str) -> str:
    fact, here, there = difference["fact"], difference["here"], difference["there"]
    if only := differing(fact, here, there):
        named = zip(only, ("only here", f"only in {other}"), strict=True)
        return f"{fact}: " + ", ".join(f"{items} {where}" for items, where in named if items)
    return f"{fact}: {fact_value(fact, here)} ({other}: {fact_value(fact, there)})"


def differing(fact: str, one: str, other: str) -> tuple[str, str] | None:
    """Return the items that only each of two long values has: cut, they may look equal; None if short."""
    if not (one and other) or max(len(one), len(other)) <= _LONGEST_VALUE:
        return None
    return _without(fact, one, other), _without(fact, other, one)


def _without(fact: str, one: str, other: str) -> str:
    """Omit from a long list the items that are also in the other list."""
    shared = set(other.split())
    only = " ".join(each for each in one.split() if each not in shared)
    return only and fact_value(fact, only)


def fact_value(fact: str, value: str) -> str:
    """Write a fact: memory in rounded units, durations as in a configuration, long lists cut."""
    if not value:
        return "none" if " " in fact or fact in _OF_MACHINE else "not set"
    if fact.endswith("memory"):
        return byte_text(int(value))
    if fact.endswith(_DURATIONS) and value.isdecimal():
        return duration_text(int(value))
    if len(value) <= _LONGEST_VALUE:
        return value
    text = shorten(value, _LONGEST_VALUE, placeholder=" ...")
    return text if text != "..." else f"{value[: _LONGEST_VALUE - 4]} ..."


def _nodes(nodes: Sequence[FleetNode], places: dict[str, int], *, wide: bool) -> Table:
    """Show a line per node; the policies of its group are shown above, and again only if *wide*."""
    names = ("NODE", "GROUP", "MACHINE", "KUBELET", "POLICIES", "FREE", "LARGEST", "STATUS")
    right = {"GROUP", "FREE", "LARGEST"}
    shown = [place for place, name in enumerate(names) if wide or name != "POLICIES"]
    rows = (_row(node, places) for node in nodes)
    columns = (
        Column(
            names[place],
            "right" if names[place] in right else "left",
            "middle" if names[place] == "NODE" and not wide else "",
        )
        for place in shown
    )
    return Table(tuple(columns), tuple(tuple(row[place] for place in shown) for row in rows))


def _row(node: FleetNode, places: dict[str, int]) -> tuple[Cell, ...]:
    if node["outcome"] == "Unreadable":
        return (Cell(node["node"]), *(Cell("-") for _ in range(6)), _UNREADABLE)
    free = node["free"]
    return (
        Cell(node["node"]),
        Cell(str(places.get(node["node"], "-"))),
        Cell(_word(node["machine"])),
        *_kubelet(node["kubelet"]),
        Cell("-" if free is None else str(free["exclusiveCPUs"])),
        Cell("-" if free is None else str(free["largestOnOneNode"])),
        _status(node["start"]),
    )


def _word(machine: FleetMachine) -> str:
    """Name a machine like a ``synthetic:`` description: sockets, NUMA nodes, cores, CPUs per core."""
    cpus, cores, sockets = machine["cpus"], machine["cores"], machine["sockets"]
    if not (cpus and cores and sockets):
        return "-"
    if cores % sockets or cpus % cores:
        return f"{cpus} CPUs"
    return f"{sockets}s{machine['numaNodes']}n{cores // sockets}c{cpus // cores}t"


def _status(start: Start) -> Cell:
    return _FAULTS[start["fault"]] if start["outcome"] == "KubeletFault" else _STATUS[start["outcome"]]


def _problems(nodes: Sequence[FleetNode]) -> Iterator[Cell]:
    """Report why kubelets do not start and recordings cannot be read, each reason once with its nodes."""
    for text, names in problems_of(nodes).items():
        yield Cell(f"{few(names)}: {text}", "red")


def problems_of(nodes: Sequence[ListedNode | PlannedNode | UnreadableNode]) -> dict[str, list[str]]:
    """Find the nodes whose kubelets do not start, or which cannot be read, by reason."""
    found: dict[str, list[str]] = {}
    for node in nodes:
        if node["outcome"] == "Unreadable":
            found.setdefault(error_text(node), []).append(node["node"])
        elif node["start"]["outcome"] != "Started":
            found.setdefault(start_sentence(node["start"], "The kubelet"), []).append(node["node"])
    return found


def error_text(node: UnreadableNode) -> str:
    """Report why a recording cannot be read, in the same words for the same reason."""
    return node["error"].removeprefix(f"{node['source']}: ").replace(node["source"], "the recording")


def unreadable_hints(
    nodes: Iterable[CheckedNode | ListedNode | PlannedNode | ReportedNode | UnreadableNode],
) -> list[str]:
    """Return what to do about unreadable nodes, each hint once; an empty one for those to record again."""
    return list(dict.fromkeys(node["hint"] for node in nodes if node["outcome"] == "Unreadable"))


def hint_lines(hints: Iterable[str]) -> Iterator[str]:
    """Yield the lines with hints below errors."""
    yield from (f"hint: {hint}" for hint in hints if hint)


def running_pods(command: str, node: str) -> Iterator[Cell]:
    """Explain the file of running pods in a command about one node: a list of all pods is not accepted."""
    if f"{option_names.PODS} FILE" in command:
        of_node = option_names.PODS_OF_NODE.replace("NODE", node)
        yield Cell(f"FILE: the pods running on {node} ({of_node} > FILE)")


def record_again(which: str = "on each node whose recording is unreadable") -> Cell:
    """Return the command for nodes whose recording contains nothing or too little."""
    return next_cell(which, "sudo cpuctl capture NODE.tar.gz")
