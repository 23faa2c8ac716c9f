"""How a plan looks to people: one row a container, then what is left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cpuctl.cli.output import Document
from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table

ALIGNMENTS = {"core": "CORE", "uncoreCache": "L3", "numaNode": "NUMA", "socket": "SOCKET"}

_NAMES_SHOWN = 3
_OUTCOME_WORD = {"Rejected": "rejected", "KubeletFault": "kubelet fails", "Undetermined": "unknown"}
_OUTCOME_STYLE = {"Rejected": "red", "KubeletFault": "bold red", "Undetermined": "yellow"}


def blocks(document: Document, *, wide: bool) -> Iterator[Block]:
    """Lay out a plan."""
    start = document["start"]
    if start["outcome"] != "Started":
        yield Lines((Cell(_not_started(start), "red"),))
        return
    yield Lines.of(*_node_lines(document["node"]))
    yield _pods(document["pods"], wide=wide)
    if notes := tuple(_notes(document)):
        yield Lines(notes)
    yield _numa_nodes(document["after"])
    yield Lines.of(*_closing_lines(document))


def _not_started(start: Mapping[str, Any]) -> str:
    if start["outcome"] == "Refused":
        return f"The kubelet would not start ({start['stage']}): {start['error']}"
    if start["outcome"] == "KubeletFault":
        return f"The kubelet would fail ({start['fault']} in {start['where']}): {start['why']}"
    return f"Whether the kubelet would start cannot be said: {start['why']}"


def _node_lines(node: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"{node['cpus']} CPUs, {node['cores']} cores, {node['sockets']} sockets, "
        f"{node['numaNodes']} NUMA nodes, {node['uncoreCaches']} uncore caches"
    )
    if node["cpuManagerPolicy"] == "static":
        yield f"CPU Manager policy static, reserved CPUs {node['reservedCPUs']}"
    else:
        yield "CPU Manager policy none: every container runs on all CPUs"


def _pods(pods: Iterable[Mapping[str, Any]], *, wide: bool) -> Table:
    columns = ["POD", "CONTAINER", "CPUS", *ALIGNMENTS.values(), *(["KIND", "QOS", "HOW"] if wide else [])]
    rows = [
        tuple(cells.get(column, Cell("")) for column in columns) for pod in pods for cells in _pod_rows(pod)
    ]
    return Table(tuple(Column(name) for name in columns), tuple(rows))


def _pod_rows(pod: Mapping[str, Any]) -> Iterator[dict[str, Cell]]:
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
        outcome = Cell(_OUTCOME_WORD[pod["outcome"]], _OUTCOME_STYLE[pod["outcome"]])
        yield {"POD": name, "CONTAINER": Cell(pod.get("container", "")), "CPUS": outcome}


def _exclusive(container: Mapping[str, Any]) -> dict[str, Cell]:
    cells = {"CPUS": Cell(container["cpus"], "green")}
    for key, column in ALIGNMENTS.items():
        cells[column] = Cell("yes") if container["alignment"][key] else Cell("no", "yellow")
    cells["HOW"] = Cell("; ".join(f"{step['rule']}: {step['cpus']}" for step in container["steps"]))
    return cells


def _notes(document: Document) -> Iterator[Cell]:
    """Say why pods are refused and containers share, each reason once, in the order of the pods."""
    warned = {warning["pod"]: warning["message"] for warning in document["warnings"]}
    sharing: dict[str, list[str]] = {}
    for pod in document["pods"]:
        for container in pod["containers"]:
            if not container["exclusive"]:
                sharing.setdefault(container["whyShared"], []).append(
                    f"{_full_name(pod)} {container['name']}"
                )
    for pod in document["pods"]:
        name = _full_name(pod)
        if name in warned:
            yield Cell(f"warning: {warned.pop(name)}", "yellow")
        if pod["outcome"] != "Admitted":
            yield Cell(f"{name}: {_refusal(pod)}", _OUTCOME_STYLE[pod["outcome"]])
    for why, names in sharing.items():
        yield Cell(f"{_few(names)}: shared, because {why}")


def _few(names: list[str]) -> str:
    shown = ", ".join(names[:_NAMES_SHOWN])
    return shown if len(names) <= _NAMES_SHOWN else f"{shown} and {len(names) - _NAMES_SHOWN} more"


def _full_name(pod: Mapping[str, Any]) -> str:
    return f"{pod['namespace']}/{pod['name']}"


def _refusal(pod: Mapping[str, Any]) -> str:
    if pod["outcome"] == "Rejected":
        return f"{pod['reason']}: {pod['message']}"
    if pod["outcome"] == "KubeletFault":
        return f"the kubelet fails ({pod['fault']} in {pod['where']}): {pod['why']}"
    return f"undetermined: {pod['why']}"


def _numa_nodes(after: Mapping[str, Any]) -> Table:
    columns = (Column("NODE", "right"), Column("CPUS"), Column("FREE", "right"), Column("FREE CPUS"))
    rows = [
        (Cell(str(node["id"])), Cell(node["cpus"]), Cell(str(node["free"])), Cell(node["freeCPUs"] or "-"))
        for node in after["numaNodes"]
    ]
    return Table(columns, tuple(rows))


def _closing_lines(document: Document) -> Iterator[str]:
    after, summary = document["after"], document["summary"]
    yield f"Shared pool: {after['sharedPool'] or 'empty'} ({after['sharedPoolSize']} CPUs)"
    counts = {
        "admitted": summary["admitted"],
        "rejected": summary["rejected"],
        "undetermined": summary["undetermined"],
        "kubelet faults": summary["kubeletFault"],
    }
    yield f"{summary['pods']} pods: " + ", ".join(
        f"{count} {word}" for word, count in counts.items() if count or word == "admitted"
    )
