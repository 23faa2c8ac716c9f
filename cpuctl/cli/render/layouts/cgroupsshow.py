"""Layout of control groups: the tree of kubepods, the values of each group, and the expected values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table, next_cell
from cpuctl.cli.render.layouts.audit import node_lines
from cpuctl.exports.answer_text import TWO_WEIGHTS
from cpuctl.phrases import counted

if TYPE_CHECKING:
    from cpuctl.answers.audit import Owner
    from cpuctl.answers.cgroups import CgroupsShow, Group

_SHORT_ID = 12
_SHOWN = {
    2: {
        "CPUS": "cpuset.cpus",
        "EFFECTIVE": "cpuset.cpus.effective",
        "MEMS": "cpuset.mems",
        "PARTITION": "cpuset.cpus.partition",
        "EXCLUSIVE": "cpuset.cpus.exclusive",
        "EXCLUSIVE-EFFECTIVE": "cpuset.cpus.exclusive.effective",
        "WEIGHT": "cpu.weight",
        "QUOTA": "cpu.max",
    },
    1: {
        "CPUS": "cpuset.cpus",
        "EFFECTIVE": "cpuset.effective_cpus",
        "MEMS": "cpuset.mems",
        "SHARES": "cpu.shares",
        "QUOTA": "cpu.cfs_quota_us",
    },
}
_OF_PARTITIONS = frozenset({"PARTITION", "EXCLUSIVE", "EXCLUSIVE-EFFECTIVE"})
_MEMS_IN_EFFECT = ("cpuset.mems.effective", "cpuset.effective_mems")
_PERIOD = "cpu.cfs_period_us"
_NO_QUOTA = ("max", "-1")


def blocks(document: CgroupsShow, *, wide: bool) -> Iterator[Block]:
    """Lay out the tree; wide adds paths, and the files that have no column."""
    yield Lines(tuple(node_lines(document["node"])))
    groups, version = document["groups"], document["node"]["cgroupVersion"]
    if groups and version:
        shown = _columns(groups, version)
        yield _tree(groups, shown, wide=wide)
        if others := tuple(_others(groups, {*shown.values(), _PERIOD}, wide=wide)):
            yield Table((_group(wide=wide), *map(Column, ("FILE", "ACTUAL", "EXPECTED"))), others)
    yield Lines(tuple(_closing(document)))


def _columns(groups: Sequence[Group], version: int) -> dict[str, str]:
    """Leave out empty columns: partitions are rare.

    The CPUs that could be exclusive are also known for groups that are not to be partitions.
    """
    files = _SHOWN[version]
    partitions = {
        _actual(group, files.get(name, "")) for group in groups for name in ("PARTITION", "EXCLUSIVE")
    }
    none = partitions <= {None, "", "member"}
    return {name: file for name, file in files.items() if name not in _OF_PARTITIONS or not none}


def _tree(groups: Sequence[Group], shown: Mapping[str, str], *, wide: bool) -> Table:
    depths: dict[str, int] = {}
    rows = []
    for group in groups:
        depth = depths.get(group["parent"] or "", -1) + 1
        depths[group["path"]] = depth
        cells = (
            Cell("  " * depth + _title(group)),
            *(_cell(group, name, file) for name, file in shown.items()),
        )
        rows.append((*cells, Cell(group["path"])) if wide else cells)
    names = (*shown, *(("PATH",) if wide else ()))
    return Table((_group(wide=wide), *map(Column, names)), tuple(rows))


def _group(*, wide: bool) -> Column:
    return Column("GROUP", cut="" if wide else "middle")


def _title(group: Group) -> str:
    owner = group["owner"]
    match group["level"]:
        case "qos":
            return str(group["qosClass"])
        case _ if owner is None:
            return group["path"].rpartition("/")[2]
        case "pod":
            return f"{owner['namespace']}/{owner['pod']}" if owner["pod"] else f"pod {owner['uid']}"
        case "container":
            return owner["container"] or _nameless(owner)
        case "helper":
            return f"(monitor of {_short(owner['containerID'])})"
        case _:
            return group["path"].rpartition("/")[2]


def _nameless(owner: Owner) -> str:
    return "(sandbox)" if owner["part"] == "sandbox" else f"({_short(owner['containerID'])})"


def _short(container_id: str | None) -> str:
    return (container_id or "unknown")[:_SHORT_ID]


def _actual(group: Group, file: str) -> str | None:
    value = group["files"].get(file)
    return value["actual"] if value else None


def _cell(group: Group, name: str, file: str) -> Cell:
    value = group["files"].get(file)
    if value is None or value["actual"] is None:
        return Cell("-", "dim")
    quota = name == "QUOTA"
    actual = _quota(group, value["actual"]) if quota else value["actual"] or "-"
    return Cell(actual, "red" if value["differs"] else "")


def _quota(group: Group, text: str) -> str:
    """Write a quota as a number of CPUs."""
    quota, _, period = text.partition(" ")
    period = period or _actual(group, _PERIOD) or ""
    if quota in _NO_QUOTA:
        return "none"
    return f"{int(quota) / int(period):g} CPUs" if period.isdecimal() and int(period) else quota


def _others(groups: Sequence[Group], shown: set[str], *, wide: bool) -> Iterator[tuple[Cell, ...]]:
    """List differences and, with *wide*, every expected value that has no column."""
    for group in groups:
        title, files = _title(group), group["files"]
        for name, value in files.items():
            in_effect = name in _MEMS_IN_EFFECT  # follows from the configured value
            known = wide and value["expected"] and value["actual"] is not None
            follows = in_effect and files["cpuset.mems"]["differs"] and not wide
            if (value["differs"] and not follows) or (known and name not in shown and not in_effect):
                style = "red" if value["differs"] else ""
                expected = " or ".join(text or "none" for text in value["expected"])
                yield Cell(title), Cell(name), Cell(value["actual"] or "none", style), Cell(expected)
                title = ""


def _weights(group: Group) -> Sequence[str]:
    """Return the expected weights of a group whose weight is wrong."""
    value = group["files"].get("cpu.weight")
    return value["expected"] if value and value["differs"] else ()


_NO_GROUPS = (
    "Next: specify a node that runs pods, by its recording (-m FILE) or its root directory (--root DIR)"
)


def _closing(document: CgroupsShow) -> Iterator[Cell]:
    summary = document["summary"]
    differing = summary["differing"]
    if differing:
        verdict, style = f"{differing} with unexpected values", "red"
    elif summary["groups"]:
        verdict, style = "no differences found", ""
    else:
        verdict, style = "nothing to compare", "yellow"
    yield Cell(f"{counted(summary['groups'], 'group')}, {verdict}", style)
    if not summary["groups"]:
        yield Cell(_NO_GROUPS)
    if any(len(_weights(group)) > 1 for group in document["groups"]):
        yield Cell(TWO_WEIGHTS)
    if document["unreadable"]:
        yield Cell(f"{counted(len(document['unreadable']), 'file')} could not be read", "yellow")
    if command := document.get("next"):
        yield next_cell("for CPU sets, NUMA nodes and quotas", command)
