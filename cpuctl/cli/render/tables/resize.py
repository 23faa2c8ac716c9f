"""The tables about one resized pod: containers, cgroups, hints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final, Literal

from cpuctl.cli.render.blocks import Box, Cell, Column, Flow, Table
from cpuctl.cpuset import CPUSet
from cpuctl.exports.wording import byte_text

if TYPE_CHECKING:
    from cpuctl.answers.decisions import HintRound
    from cpuctl.answers.resize import (
        Cgroup,
        Core,
        ResizedContainer,
        ResizedCPUs,
        ResizedPod,
        Resources,
        States,
    )


_RESOURCES: Final = ("cpu", "memory")
_ARROW = " -> "
_LIFTED = -1


def resources_table(pod: ResizedPod) -> Table:
    """Show one row a container: what changes of its amounts and CPUs."""
    columns = ("CONTAINER", "CPU", "MEMORY", "RESTART", "PROMISED", "BEFORE", "AFTER", "COMES", "GOES")
    granted = pod["outcome"] in ("Admitted", "NoEffect")
    rows = [_row(container, granted=granted) for container in pod["containers"]]
    if pod["podLevel"] is not None:
        rows.insert(0, {"CONTAINER": Cell("(pod)"), **_amounts(pod["podLevel"]["resources"])})
    return Table(
        tuple(Column(name) for name in columns),
        tuple(tuple(row.get(column, Cell("")) for column in columns) for row in rows),
    )


def _row(container: ResizedContainer, *, granted: bool) -> dict[str, Cell]:
    row = {"CONTAINER": Cell(container["name"]), **_amounts(container["resources"])}
    if granted and container["changed"]:
        row["RESTART"] = Cell("yes", "yellow") if container["restarts"] else Cell("no")
    cpus = container["cpus"]
    if container["isolation"] is None:
        return row | {"BEFORE": Cell("-"), "AFTER": Cell("-")}
    if cpus is None:
        return row | {"BEFORE": Cell("shared"), "AFTER": Cell("shared")}
    if container["isolation"] == "pod":
        # KEP-5526: CPUs in the state file, and not its own all the same.
        return row | {"BEFORE": _in_pool(cpus["before"]), "AFTER": _in_pool(cpus["after"])}
    return row | {
        "PROMISED": Cell(cpus["promised"] or "-"),
        "BEFORE": Cell(cpus["before"] or "shared"),
        "AFTER": Cell(cpus["after"] or "shared", "" if cpus["follows"] else "yellow"),
        "COMES": Cell(cpus["gained"] or "-", "green" if cpus["gained"] else ""),
        "GOES": Cell(cpus["lost"] or "-", "red" if cpus["lost"] else ""),
    }


def _in_pool(cpus: str | None) -> Cell:
    return Cell(f"pod: {cpus}", "cyan") if cpus else Cell("shared")


def _amounts(resources: States) -> dict[str, Cell]:
    return {name.upper(): _change(resources, name) for name in _RESOURCES}


def _change(resources: States, name: Literal["cpu", "memory"]) -> Cell:
    """Write one resource, ``before -> after`` where it is to change."""
    before, after = (_pair(state, name) for state in (resources["before"], resources["asked"]))
    return Cell(before if before == after else f"{before}{_ARROW}{after}")


def _pair(state: Resources, name: Literal["cpu", "memory"]) -> str:
    request, limit = state["requests"].get(name), state["limits"].get(name)
    if request == limit:
        return request or "-"
    return f"{request or '-'}/{limit or '-'}"


def cgroup_table(pod: ResizedPod) -> Table:
    """Show what the kubelet writes into cgroups, of the pod and of its containers."""
    columns = (Column("CGROUP"), Column("CPU.SHARES"), Column("CPU QUOTA"), Column("MEMORY LIMIT"))
    return Table(columns, tuple(_cgroup_rows(pod)))


def _cgroup_rows(pod: ResizedPod) -> Iterator[tuple[Cell, ...]]:
    for name, cgroup in [("(pod)", pod["cgroup"]), *((c["name"], c["cgroup"]) for c in pod["containers"])]:
        yield (
            Cell(name),
            *(
                Cell(_both(write(cgroup["before"]), write(cgroup["after"])))
                for write in (_shares, _quota, _memory)
            ),
        )


def _both(before: str, after: str) -> str:
    return before if before == after else f"{before}{_ARROW}{after}"


def _shares(values: Cgroup) -> str:
    return str(values["cpuShares"])


def _quota(values: Cgroup) -> str:
    quota = values["cpuQuota"]
    if quota is None:
        return "none"
    return "lifted" if quota == _LIFTED else f"{quota}/{values['cpuPeriod']}"


def _memory(values: Cgroup) -> str:
    return "none" if values["memoryLimit"] is None else byte_text(values["memoryLimit"])


def step_table(pod: ResizedPod) -> Table:
    """Show how the allocator came to a container's CPUs, step by step."""
    rows = (
        (Cell(container["name"]), Cell(step["rule"]), Cell(step["cpus"]))
        for container in pod["containers"]
        if container["cpus"] is not None
        for step in container["cpus"]["steps"]
    )
    return Table((Column("CHOSEN FOR"), Column("RULE"), Column("CPUS")), tuple(rows))


def hint_table(pod: ResizedPod) -> Table:
    """Show every round of the Topology Manager."""
    columns = (Column("HINTS FOR"), Column("NUMA NODES"), Column("PREFERRED"), Column("ADMITTED"))
    return Table(columns, tuple(_hint_row(each) for each in pod["hints"]))


def _hint_row(asked: HintRound) -> tuple[Cell, ...]:
    who = Cell(asked["container"] or "(pod)")
    if "outcome" in asked:
        return who, Cell("any"), Cell("no"), Cell("no")
    return (
        who,
        Cell("any" if asked["numaNodes"] is None else asked["numaNodes"]),
        Cell("yes" if asked["preferred"] else "no"),
        Cell("yes" if asked["admitted"] else "no"),
    )


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
