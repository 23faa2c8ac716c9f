"""How a plan looks to people: one row a container, then what is left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cpuctl.cli.output import Document
from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table
from cpuctl.cli.render.wording import counted

ALIGNMENTS = {"core": "CORE", "uncoreCache": "L3", "numaNode": "NUMA", "socket": "SOCKET"}

_COUNTED = {
    "cpus": "CPU",
    "cores": "core",
    "sockets": "socket",
    "numaNodes": "NUMA node",
    "uncoreCaches": "uncore cache",
}
_NAMES_SHOWN = 3
_OUTCOME_WORD = {"Rejected": "rejected", "KubeletFault": "kubelet fails", "Undetermined": "unknown"}
_OUTCOME_STYLE = {"Rejected": "red", "KubeletFault": "bold red", "Undetermined": "yellow"}


def blocks(document: Document, *, wide: bool) -> Iterator[Block]:
    """Lay out a plan."""
    start = document["start"]
    if start["outcome"] != "Started":
        yield Lines((Cell(_not_started(start), "red"),))
        return
    yield Lines.of(*_node_lines(document["node"], document["kubelet"]))
    yield _pods(document["pods"], wide=wide)
    if notes := tuple(_notes(document)):
        yield Lines(notes)
    if document["node"]["cpuManagerPolicy"] != "none":
        yield _numa_nodes(document["after"])
    yield Lines.of(*_closing_lines(document))


def _not_started(start: Mapping[str, Any]) -> str:
    if start["outcome"] == "Refused":
        return f"The kubelet would not start ({start['stage']}): {start['error']}"
    if start["outcome"] == "KubeletFault":
        return f"The kubelet would fail ({start['fault']} in {start['where']}): {start['why']}"
    return f"Whether the kubelet would start cannot be said: {start['why']}"


def _node_lines(node: Mapping[str, Any], kubelet: Mapping[str, Any]) -> Iterator[str]:
    yield ", ".join(counted(node[key], noun) for key, noun in _COUNTED.items())
    if node["cpuManagerPolicy"] == "static":
        yield f"CPU Manager policy static, reserved CPUs {node['reservedCPUs']}"
    else:
        yield "CPU Manager policy none: every container runs on all CPUs"
    if "topologyManagerScope" in node:
        policy, scope = kubelet["topologyManagerPolicy"], node["topologyManagerScope"]
        yield f"Topology Manager policy {policy}, scope {scope}"


def _pods(pods: Iterable[Mapping[str, Any]], *, wide: bool) -> Table:
    columns = ["POD", "CONTAINER", "CPUS", *ALIGNMENTS.values(), *(["KIND", "QOS", "HOW"] if wide else [])]
    rows = [
        tuple(cells.get(column, Cell("")) for column in columns)
        for pod, reached in _reached(pods)
        for cells in _pod_rows(pod, reached=reached)
    ]
    return Table(tuple(Column(name) for name in columns), tuple(rows))


def _reached(pods: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], bool]]:
    """Tell with every pod whether the kubelet got to it: it looks at none after the one that it fails at."""
    alive = True
    for pod in pods:
        yield pod, alive
        alive = alive and pod["outcome"] != "KubeletFault"


def _pod_rows(pod: Mapping[str, Any], *, reached: bool) -> Iterator[dict[str, Cell]]:
    name = Cell(_full_name(pod))
    for container in pod["containers"]:
        yield {
            "POD": name,
            "CONTAINER": Cell(container["name"]),
            "KIND": Cell(container["kind"]),
            "QOS": Cell(pod["qosClass"]),
            **(_exclusive(container) if container["exclusive"] else {"CPUS": Cell("shared")}),
        }
        name = Cell("")
    if pod["outcome"] != "Admitted":
        word = _OUTCOME_WORD[pod["outcome"]] if reached else "not reached"
        outcome = Cell(word, _OUTCOME_STYLE[pod["outcome"]])
        yield {"POD": name, "CONTAINER": Cell(pod.get("container", "")), "CPUS": outcome}


def _exclusive(container: Mapping[str, Any]) -> dict[str, Cell]:
    cells = {"CPUS": Cell(container["cpus"], "green")}
    for key, column in ALIGNMENTS.items():
        cells[column] = Cell("yes") if container["alignment"][key] else Cell("no", "yellow")
    cells["HOW"] = Cell("; ".join(f"{step['rule']}: {step['cpus']}" for step in container["steps"]))
    return cells


def _notes(document: Document) -> Iterator[Cell]:
    """Say what to beware of, why pods are refused and why containers share: each reason once."""
    for warning in document["warnings"]:
        yield Cell(f"warning: {warning['message']}", "yellow")
    refusals: dict[Cell, list[str]] = {}
    sharing: dict[str, list[str]] = {}
    for pod, reached in _reached(document["pods"]):
        name = _full_name(pod)
        if pod["outcome"] != "Admitted":
            refusals.setdefault(_refusal(pod, reached=reached), []).append(name)
        for container in pod["containers"]:
            if not container["exclusive"]:
                sharing.setdefault(container["whyShared"], []).append(f"{name} {container['name']}")
    for why, names in refusals.items():
        yield Cell(f"{_few(names)}: {why.text}", why.style)
    for reason, names in sharing.items():
        yield Cell(f"{_few(names)}: shared, because {reason}")


def _few(names: list[str]) -> str:
    shown = ", ".join(names[:_NAMES_SHOWN])
    return shown if len(names) <= _NAMES_SHOWN else f"{shown} and {len(names) - _NAMES_SHOWN} more"


def _full_name(pod: Mapping[str, Any]) -> str:
    return f"{pod['namespace']}/{pod['name']}"


def _refusal(pod: Mapping[str, Any], *, reached: bool) -> Cell:
    style = _OUTCOME_STYLE[pod["outcome"]]
    if not reached:
        return Cell("never looked at, because the kubelet has failed before", style)
    if pod["outcome"] == "Rejected":
        return Cell(f"{pod['reason']}: {pod['message']}", style)
    if pod["outcome"] == "KubeletFault":
        return Cell(f"the kubelet fails ({pod['fault']} in {pod['where']}): {pod['why']}", style)
    return Cell(f"undetermined: {pod['why']}", style)


def _numa_nodes(after: Mapping[str, Any]) -> Table:
    columns = (Column("NODE", "right"), Column("CPUS"), Column("FREE", "right"), Column("FREE CPUS"))
    rows = [
        (Cell(str(node["id"])), Cell(node["cpus"]), Cell(str(node["free"])), Cell(node["freeCPUs"] or "-"))
        for node in after["numaNodes"]
    ]
    return Table(columns, tuple(rows))


def _closing_lines(document: Document) -> Iterator[str]:
    after, summary = document["after"], document["summary"]
    yield f"Shared pool: {after['sharedPool'] or 'empty'} ({counted(after['sharedPoolSize'], 'CPU')})"
    counts = {
        "admitted": summary["admitted"],
        "rejected": summary["rejected"],
        "undetermined": summary["undetermined"],
        "kubelet faults": summary["kubeletFault"],
    }
    yield f"{counted(summary['pods'], 'pod')}: " + ", ".join(
        f"{count} {word}" for word, count in counts.items() if count or word == "admitted"
    )
