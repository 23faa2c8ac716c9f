"""Who holds which CPU of a machine: the rows of the picture that ``cpuctl checkpoint dump --map`` draws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from cpuctl.answering.topology.topology_answer import cpu_rows
from cpuctl.cpuset import CPUSet
from cpuctl.machine.model import Machine

if TYPE_CHECKING:
    from cpuctl.answers.checkpoint import CPUHolder, HeldCPUs
    from cpuctl.answers.topology import HeldMap

_MOST_MARKS = 3
"""More pods that hold one CPU are not told: a broken file may have thousands."""


def map_answer(machine: Machine, cpus: HeldCPUs) -> HeldMap:
    """List every CPU of the machine with the marks of its holders, and the CPUs that it has not."""
    pool, known = CPUSet.parse(cpus["sharedPool"]), machine.online | machine.offline
    marks = _marks(_leaves(cpus["holders"]), known)
    return {
        "cpus": [
            {
                "cpu": row["cpu"],
                "online": row["online"],
                "node": row["node"],
                "socket": row["socket"],
                "core": row["core"],
                "l3": row["l3"],
                "shared": row["cpu"] in pool,
                "marks": marks.get(row["cpu"], []),
            }
            for row in cpu_rows(machine)
        ],
        "notOnMachine": str((pool | CPUSet.parse(cpus["exclusive"])) - known),
    }


def _leaves(holders: Iterable[CPUHolder]) -> list[tuple[str, str, CPUSet]]:
    """Return UID, mark and CPUs of every holder, those with few CPUs first.

    So a pod that holds CPUs as a whole shows where no container of it holds any, or several the same: those
    are its pool (KEP-5526). An init container shows where none has taken its place.
    """
    told = list(holders)
    pods = {holder["podUID"]: holder["mark"] for holder in told if holder["holding"] == "pod"}
    sharers = Counter((holder["podUID"], holder["cpus"]) for holder in told if holder["holding"] != "pod")
    leaves = [
        (
            holder["podUID"],
            pods.get(holder["podUID"], holder["mark"])
            if sharers[holder["podUID"], holder["cpus"]] > 1
            else holder["mark"],
            CPUSet.parse(holder["cpus"]),
        )
        for holder in told
    ]
    return sorted(leaves, key=lambda leaf: len(leaf[2]))


def _marks(leaves: Iterable[tuple[str, str, CPUSet]], known: CPUSet) -> dict[int, list[str]]:
    """Give every CPU one mark for each pod that holds it."""
    marks: dict[int, list[str]] = {}
    marked: dict[str, CPUSet] = {}
    full = CPUSet()
    for uid, mark, held in leaves:
        own = marked.get(uid, CPUSet())
        marked[uid] = own | held
        for cpu in held & (known - full - own):
            marks.setdefault(cpu, []).append(mark)
            if len(marks[cpu]) == _MOST_MARKS:
                full |= CPUSet.of([cpu])
    return marks
