"""The cgroups of a pod and its containers as tables: the usual files side by side, all others below."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Block, Cell, Column, Table

if TYPE_CHECKING:
    from cpuctl.answers.pods import Cgroup, CgroupRules, Container, EphemeralContainer, Pod

_USUAL = {
    "cpu.weight": "CPU.WEIGHT",
    "cpu.max": "CPU.MAX",
    "memory.max": "MEMORY.MAX",
    "cpu.shares": "CPU.SHARES",
    "cpu.cfs_quota_us": "CFS_QUOTA_US",
    "cpu.cfs_period_us": "CFS_PERIOD_US",
    "memory.limit_in_bytes": "LIMIT_IN_BYTES",
}
_NOT_WRITTEN = "dim"


def cgroup_tables(pod: Pod, *, wide: bool) -> Iterator[Block]:
    """Lay out the cgroups of one pod; what nobody writes is dim, *wide* adds the rules."""
    groups = [("(pod)", pod["cgroup"], "")]
    groups += [(each["name"], each["cgroup"], _score(each)) for each in _running(pod)]
    usual = [name for name in _USUAL if name in pod["cgroup"]["files"]]
    rows = tuple(
        (Cell(name), *(_file(cgroup, file) for file in usual), Cell(score)) for name, cgroup, score in groups
    )
    columns = (Column("CGROUP"), *(Column(_USUAL[name]) for name in usual), Column("OOM_SCORE_ADJ"))
    yield Table(columns, rows)
    if wide:
        names = ("CGROUP", "SHARES OR WEIGHT", "QUOTA", "MEMORY LIMIT", "OOM_SCORE_ADJ")
        rules = [("(pod)", pod["cgroup"]["rules"], "")]
        rules += [(each["name"], each["cgroup"]["rules"], each["oomRule"]) for each in _running(pod)]
        yield Table(tuple(map(Column, names)), tuple(_rules(*each) for each in rules))
    if others := tuple(_others(groups)):
        yield Table(tuple(map(Column, ("CGROUP", "FILE", "SHOWS"))), others)


def _running(pod: Pod) -> tuple[Container | EphemeralContainer, ...]:
    return (*pod["containers"], *pod["ephemeralContainers"])


def _rules(name: str, rules: CgroupRules, oom: str) -> tuple[Cell, ...]:
    return tuple(map(Cell, (name, rules["cpuShares"], rules["cpuQuota"], rules["memoryLimit"], oom)))


def _score(container: Container | EphemeralContainer) -> str:
    score = container["oomScoreAdj"]
    return "needs the node's memory" if score is None else str(score)


def _file(cgroup: Cgroup, name: str) -> Cell:
    file = cgroup["files"][name]
    return Cell(file["text"], "" if file["written"] else _NOT_WRITTEN)


def _others(groups: list[tuple[str, Cgroup, str]]) -> Iterator[tuple[Cell, ...]]:
    for name, cgroup, _ in groups:
        shown = name
        for file, content in cgroup["files"].items():
            if file not in _USUAL and not _is_idle(file, content["text"]):
                yield Cell(shown), Cell(file), Cell(content["text"])
                shown = ""
        for value, why in cgroup["unknown"].items():
            yield Cell(shown), Cell(value.replace("_", ".")), Cell(why, "yellow")
            shown = ""


def _is_idle(file: str, text: str) -> bool:
    """Tell what says nothing: protection of no memory, and the twin of each limit of huge pages."""
    return file.endswith(".rsvd.max") or (file in ("memory.min", "memory.low") and text == "0")
