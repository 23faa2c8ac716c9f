"""A resized container's CPUs, core by core: what stays, what comes, what goes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from cpuctl.cli.render.blocks import Box, Cell, Flow
from cpuctl.cpuset import CPUSet

_Core = Mapping[str, Any]

_MARKS = {
    "*": ("promised at admission", "bold green"),
    "=": ("kept", "green"),
    "+": ("comes", "cyan"),
    "-": ("goes", "red"),
}
_FOREIGN = ("", "dim")


def pictures(pod: Mapping[str, Any], cores: Sequence[_Core]) -> Iterator[Box]:
    """Draw every container whose CPUs are to change, NUMA node by NUMA node."""
    for container in _drawn(pod):
        marks = _marks(container["cpus"])
        nodes = [list(group) for _, group in groupby(cores, key=lambda core: core["numaNode"])]
        yield Box(
            container["name"],
            tuple(
                Box(f"NUMA node {node[0]['numaNode']}", (_flow(node, marks),))
                for node in nodes
                if any(cpu in marks for core in node for cpu in core["cpus"])
            ),
        )


def _drawn(pod: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for container in pod["containers"]:
        cpus = container["cpus"]
        if cpus is not None and (_asks_for_cpus(container) or cpus["before"] != cpus["after"]):
            yield container


def _asks_for_cpus(container: Mapping[str, Any]) -> bool:
    before, asked = (container["resources"][state]["requests"].get("cpu") for state in ("before", "asked"))
    return bool(before != asked)


def _marks(cpus: Mapping[str, Any]) -> dict[int, str]:
    """Tell the mark of every CPU that the container has, had or was promised."""
    marks: dict[int, str] = {}
    for mark, text in (("=", "kept"), ("+", "gained"), ("-", "lost")):
        marks |= dict.fromkeys(CPUSet.parse(cpus[text]), mark)
    promised = CPUSet.parse(cpus["promised"] or "")
    return marks | {cpu: "*" for cpu in promised if marks.get(cpu) == "="}


def _flow(cores: Iterable[_Core], marks: Mapping[int, str]) -> Flow:
    numbered = [(core, [(cpu, marks.get(cpu, "")) for cpu in core["cpus"]]) for core in cores]
    width = max(len(str(cpu)) for _, cpus in numbered for cpu, _ in cpus)
    return Flow(tuple(_core(cpus, width) for _, cpus in numbered))


def _core(cpus: Iterable[tuple[int, str]], width: int) -> tuple[Cell, ...]:
    cells = (Cell(f"{cpu:>{width}}{mark or ' '}", _MARKS.get(mark, _FOREIGN)[1]) for cpu, mark in cpus)
    return (Cell("["), *cells, Cell("]"))


def legend(pods: Iterable[Mapping[str, Any]], cores: Sequence[_Core]) -> list[str]:
    """Explain the marks that are used."""
    used = {mark for pod in pods for container in _drawn(pod) for mark in _marks(container["cpus"]).values()}
    return [f"{mark} {meaning}" for mark, (meaning, _) in _MARKS.items() if mark in used] if cores else []
