"""The remaining capacity below a plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Literal

from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table
from cpuctl.exports.outcomes import brief_rejection, rejection_text, start_sentence
from cpuctl.phrases import counted, few

if TYPE_CHECKING:
    from cpuctl.answers.capacity import (
        Capacity,
        Fragmentation,
        LargerRequest,
        NoRemedy,
        Remedy,
        Repeat,
        Room,
    )
    from cpuctl.answers.decisions import Rejection
    from cpuctl.answers.plan import StartedPlan

    Why = Callable[[Rejection], str]

_LEVELS: Mapping[Literal["numaNode", "uncoreCache", "core"], str] = {
    "numaNode": "on one NUMA node",
    "uncoreCache": "on one L3",
    "core": "on entirely free cores",
}


def headroom_blocks(document: StartedPlan, *, wide: bool) -> Iterator[Block]:
    """Lay out copies and capacity, if the plan contains them.

    *wide* shows the kubelet's whole messages, and uncore caches even if they do not divide NUMA nodes.
    """
    if repeat := document.get("repeat"):
        yield Lines.of(_repeat_line(repeat))
    if capacity := document.get("capacity"):
        if "heldByRejected" in document["after"]:
            yield Lines.of("Once rejected pods have released what they keep:")
        why = rejection_text if wide else brief_rejection
        if (copies := _copies(capacity, why)).rows:
            yield copies
        if capacity["largestRequests"]:
            yield _largest(capacity, why)
            if document["kubelet"]["memoryManagerPolicy"] == "Static":
                yield Lines.of(_TINY)
            yield _elements(capacity, wide=wide)
            if capacity["fragmentation"] is not None:
                yield _fragmentation(capacity["fragmentation"])
        elif not copies.rows:
            yield Lines.of(_NOTHING_TO_MEASURE)
        if capacity["remedies"]:
            yield _remedies(capacity, why)


def _repeat_line(repeat: Repeat) -> str:
    """Show how many copies fit, and what prevents another."""
    fitted, stop = repeat["fitted"], repeat["stop"]
    if fitted is None:
        because = f": {stop['pod']}: {rejection_text(stop)}" if stop else ""
        return f"Copies: unknown how many of all pods fit{because}"
    line = "1 copy of all pods fits" if fitted == 1 else f"{fitted or 'no'} copies of all pods fit"
    if stop:
        which = "next" if fitted else "first"
        return f"Copies: {line}; the {which} one fails at {stop['pod']}: {rejection_text(stop)}"
    if repeat["bound"]:
        return f"Copies: {line}; more than {counted(repeat['bound'], 'pod')} were not tried"
    return f"Copies: {line}"


def _copies(capacity: Capacity, why: Why) -> Table:
    rows = [
        (
            Cell(few(each["pods"])),
            Cell("-" if each["fits"] is None else str(each["fits"])),
            Cell(why(each["stop"]) if each["stop"] else "not tried"),
        )
        for each in capacity["copies"]
    ]
    if capacity["skippedKinds"]:
        rows.append((Cell(f"{counted(capacity['skippedKinds'], 'more kind')} of pods"), Cell("-"), Cell("-")))
    return Table((Column("POD"), Column("MORE COPIES", "right"), Column("LIMITED BY")), tuple(rows))


_NOTHING_TO_MEASURE = (
    "Capacity: CPU Manager policy none assigns no exclusive CPUs; to see how many more copies of pods fit, "
    "specify the pods (-f or -T)"
)
_TINY = "LARGEST REQUEST: the CPUs of one container that requests 1 byte of memory"
"""An assumption that counts only if memory is allocated, too."""


def _largest(capacity: Capacity, why: Why) -> Table:
    rows = []
    for each in capacity["largestRequests"]:
        policy = f"{each['topologyManagerPolicy']}{' (now)' if each['current'] else ''}"
        if "cpus" in each:
            size, limit = str(each["cpus"]), _limit(each["stop"], why)
        else:
            size, limit = "-", start_sentence(each["start"], "The kubelet")
        rows.append((Cell(policy), Cell(size), Cell(limit)))
    columns = (Column("TOPOLOGY POLICY"), Column("LARGEST REQUEST", "right"), Column("LIMITED BY"))
    return Table(columns, tuple(rows))


def _limit(stop: LargerRequest | None, why: Why) -> str:
    return f"{counted(stop['cpus'], 'CPU')}: {why(stop)}" if stop else "no more CPUs are free"


def _elements(capacity: Capacity, *, wide: bool) -> Table:
    rows = [(str(headroom["id"]), "", headroom) for headroom in capacity["numaNodes"]]
    caches = capacity["uncoreCaches"]
    with_caches = wide or len(caches) > len(rows)
    if with_caches:
        rows += [
            (",".join(map(str, headroom["numaNodes"])), str(headroom["id"]), headroom) for headroom in caches
        ]
    columns = (
        Column("NODE"),
        *([Column("L3", "right")] if with_caches else []),
        Column("FREE", "right"),
        Column("LARGEST REQUEST", "right"),
        Column("FREE CPUS"),
    )
    return Table(columns, tuple(_element(*row, with_caches=with_caches) for row in rows))


def _element(node: str, cache: str, headroom: Room, *, with_caches: bool) -> tuple[Cell, ...]:
    texts = (str(headroom["free"]), str(headroom["largest"]), headroom["freeCPUs"] or "-")
    return tuple(Cell(text) for text in (node, *([cache] if with_caches else []), *texts))


def _fragmentation(fragmentation: Fragmentation) -> Table:
    columns = (
        Column("FREE CPUS"),
        Column("NOW", "right"),
        Column("UNFRAGMENTED", "right"),
        Column("LOST", "right"),
    )
    figures = ((words, fragmentation[level]) for level, words in _LEVELS.items())
    rows = (
        (words, each["reached"], each["possible"], f"{each['percent']}%") for words, each in figures if each
    )
    return Table(columns, tuple(tuple(Cell(str(text)) for text in row) for row in rows))


def _remedies(capacity: Capacity, why: Why) -> Table:
    columns = ["REJECTED", "WOULD FIT", "OTHER POD", "CPUS NOW", "CPUS AFTER"]
    rows = [row for remedy in capacity["remedies"] for row in _remedy(remedy, why)]
    used = len(columns) if any(remedy["evicted"] for remedy in capacity["remedies"]) else 2
    return Table(tuple(map(Column, columns[:used])), tuple(row[:used] for row in rows))


def _remedy(remedy: Remedy | NoRemedy, why: Why) -> Iterator[tuple[Cell, ...]]:
    """Show the remedy in the first row, and one pod name in every row."""
    fits = remedy["remedy"] in ("nothing", "moves", "evictions")
    any_of = "any one of them " if fits and len(remedy["pods"]) > 1 else ""
    name, action = few(remedy["pods"]), f"{any_of}{_action(remedy, why)}"
    leaving = [
        (each["pod"], each["cpus"], "removed" if each["cpusAfter"] is None else each["cpusAfter"])
        for each in remedy["evicted"]
    ]
    for texts in leaving or [("", "", "")]:
        yield tuple(Cell(text) for text in (name, action, *texts))
        name = action = ""


def _action(remedy: Remedy | NoRemedy, why: Why) -> str:
    leaving = remedy["evicted"]
    one = len(leaving) == 1
    proof = (
        "" if remedy["minimal"] else f" (perhaps fewer: all sets of up to {remedy['excluded']} were tried)"
    )
    gets = f", on CPUs {remedy['cpus']}" if remedy["cpus"] else ""
    match remedy["remedy"]:
        case "nothing":
            return f"on the node as it is{gets}"
        case "moves":
            return f"if {counted(len(leaving), 'pod')} {'moves' if one else 'move'}{gets}{proof}"
        case "evictions":
            return f"if {counted(len(leaving), 'pod')} {'is removed' if one else 'are removed'}{gets}{proof}"
        case "impossible":
            return f"never, even without other pods: {why(remedy)}"
        case _:
            return f"unknown: not with up to {counted(remedy['excluded'], 'pod')} removed"
