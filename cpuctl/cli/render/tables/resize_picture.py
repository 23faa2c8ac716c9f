"""A resized container's CPUs, core by core: what stays, what comes, what goes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Box, Cell, Flow
from cpuctl.cpuset import CPUSet

if TYPE_CHECKING:
    from cpuctl.answers.resize import Core, ResizedContainer, ResizedCPUs, ResizedPod

_MARKS = {
    "*": ("promised at admission", "bold green"),
    "=": ("kept", "green"),
    "+": ("comes", "cyan"),
    "-": ("goes", "red"),
}
_FOREIGN = ("", "dim")


def pictures(pod: ResizedPod, cores: Sequence[Core]) -> Iterator[Box]:
    """Draw every container whose CPUs are to change, NUMA node by NUMA node."""
    for container, cpus in _drawn(pod):
        marks = _marks(cpus)
        nodes = [list(group) for _, group in groupby(cores, key=lambda core: core["numaNode"])]
        yield Box(
            container["name"],
            tuple(
                Box(f"NUMA node {node[0]['numaNode']}", (_flow(node, marks),))
                for node in nodes
                if any(cpu in marks for core in node for cpu in core["cpus"])
            ),
        )


def _drawn(pod: ResizedPod) -> Iterator[tuple[ResizedContainer, ResizedCPUs]]:
    for container in pod["containers"]:
        cpus = container["cpus"]
        if cpus is not None and (_asks_for_cpus(container) or cpus["before"] != cpus["after"]):
            yield container, cpus


def _asks_for_cpus(container: ResizedContainer) -> bool:
    resources = container["resources"]
    return resources["before"]["requests"].get("cpu") != resources["asked"]["requests"].get("cpu")


def _marks(cpus: ResizedCPUs) -> dict[int, str]:
    """Tell the mark of every CPU that the container has, had or was promised."""
    marks: dict[int, str] = {}
    for mark, text in (("=", cpus["kept"]), ("+", cpus["gained"]), ("-", cpus["lost"])):
        marks |= dict.fromkeys(CPUSet.parse(text), mark)
    promised = CPUSet.parse(cpus["promised"] or "")
    return marks | {cpu: "*" for cpu in promised if marks.get(cpu) == "="}


def _flow(cores: Iterable[Core], marks: Mapping[int, str]) -> Flow:
    numbered = [(core, [(cpu, marks.get(cpu, "")) for cpu in core["cpus"]]) for core in cores]
    width = max(len(str(cpu)) for _, cpus in numbered for cpu, _ in cpus)
    return Flow(tuple(_core(cpus, width) for _, cpus in numbered))


def _core(cpus: Iterable[tuple[int, str]], width: int) -> tuple[Cell, ...]:
    cells = (Cell(f"{cpu:>{width}}{mark or ' '}", _MARKS.get(mark, _FOREIGN)[1]) for cpu, mark in cpus)
    return (Cell("["), *cells, Cell("]"))


def legend(pods: Iterable[ResizedPod], cores: Sequence[Core]) -> list[str]:
    """Explain the marks that are used."""
    used = {mark for pod in pods for _, cpus in _drawn(pod) for mark in _marks(cpus).values()}
    return [f"{mark} {meaning}" for mark, (meaning, _) in _MARKS.items() if mark in used] if cores else []
