"""The tables about one resized pod: containers, cgroups, hints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cpuctl.cli.render.blocks import Cell, Column, Table
from cpuctl.exports.wording import byte_text

_ARROW = " -> "
_LIFTED = -1


def resources_table(pod: Mapping[str, Any]) -> Table:
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


def _row(container: Mapping[str, Any], *, granted: bool) -> dict[str, Cell]:
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
        return row | {time.upper(): _in_pool(cpus[time]) for time in ("before", "after")}
    return row | {
        "PROMISED": Cell(cpus["promised"] or "-"),
        "BEFORE": Cell(cpus["before"] or "shared"),
        "AFTER": Cell(cpus["after"] or "shared", "" if cpus["follows"] else "yellow"),
        "COMES": Cell(cpus["gained"] or "-", "green" if cpus["gained"] else ""),
        "GOES": Cell(cpus["lost"] or "-", "red" if cpus["lost"] else ""),
    }


def _in_pool(cpus: str | None) -> Cell:
    return Cell(f"pod: {cpus}", "cyan") if cpus else Cell("shared")


def _amounts(resources: Mapping[str, Any]) -> dict[str, Cell]:
    return {name.upper(): _change(resources, name) for name in ("cpu", "memory")}


def _change(resources: Mapping[str, Any], name: str) -> Cell:
    """Write one resource, ``before -> after`` where it is to change."""
    before, after = (_pair(resources[state], name) for state in ("before", "asked"))
    return Cell(before if before == after else f"{before}{_ARROW}{after}")


def _pair(state: Mapping[str, Any], name: str) -> str:
    request, limit = (state[side].get(name) for side in ("requests", "limits"))
    if request == limit:
        return request or "-"
    return f"{request or '-'}/{limit or '-'}"


def cgroup_table(pod: Mapping[str, Any]) -> Table:
    """Show what the kubelet writes into cgroups, of the pod and of its containers."""
    columns = (Column("CGROUP"), Column("CPU.SHARES"), Column("CPU QUOTA"), Column("MEMORY LIMIT"))
    return Table(columns, tuple(_cgroup_rows(pod)))


def _cgroup_rows(pod: Mapping[str, Any]) -> Iterator[tuple[Cell, ...]]:
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


def _shares(values: Mapping[str, Any]) -> str:
    return str(values["cpuShares"])


def _quota(values: Mapping[str, Any]) -> str:
    quota = values["cpuQuota"]
    if quota is None:
        return "none"
    return "lifted" if quota == _LIFTED else f"{quota}/{values['cpuPeriod']}"


def _memory(values: Mapping[str, Any]) -> str:
    return "none" if values["memoryLimit"] is None else byte_text(values["memoryLimit"])


def step_table(pod: Mapping[str, Any]) -> Table:
    """Show how the allocator came to a container's CPUs, step by step."""
    rows = (
        (Cell(container["name"]), Cell(step["rule"]), Cell(step["cpus"]))
        for container in pod["containers"]
        if container["cpus"] is not None
        for step in container["cpus"]["steps"]
    )
    return Table((Column("CHOSEN FOR"), Column("RULE"), Column("CPUS")), tuple(rows))


def hint_table(pod: Mapping[str, Any]) -> Table:
    """Show every round of the Topology Manager."""
    columns = (Column("HINTS FOR"), Column("NUMA NODES"), Column("PREFERRED"), Column("ADMITTED"))
    rows = (
        (
            Cell(each["container"] or "(pod)"),
            Cell("any" if each.get("numaNodes") is None else each["numaNodes"]),
            Cell("yes" if each.get("preferred") else "no"),
            Cell("yes" if each.get("admitted") else "no"),
        )
        for each in pod["hints"]
    )
    return Table(columns, tuple(rows))
