"""Layout of moves of pods: the steps in order, then what is verified."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table, next_line
from cpuctl.cli.render.tables.start import start_block
from cpuctl.cpuset import CPUSet
from cpuctl.exports.outcomes import rejection_text
from cpuctl.phrases import counted, named, taken_text

if TYPE_CHECKING:
    from cpuctl.answers.advice import FoundMoves, MoveStep, UnstartedDefragmentation

_ENDED = {
    "budget": "the search reached its limit (--budget)",
    "stopped": "the search was interrupted",
}


def blocks(document: FoundMoves | UnstartedDefragmentation, *, wide: bool) -> Iterator[Block]:  # noqa: ARG001
    """Lay out a plan of moves."""
    if "steps" not in document:
        who = f"Kubelet {document['kubelet']['version']}"
        yield start_block(document["start"], who, document.get("next", ""))
        return
    yield Lines(tuple(_opening(document)))
    if document["steps"]:
        columns = (Column("STEP", "right"), Column("ACTION"), Column("POD"), Column("CPUS"))
        rows = tuple(_row(number, step) for number, step in enumerate(document["steps"], 1))
        yield Table(columns, rows)
    yield Lines(tuple(_below(document)))
    if command := document.get("next"):
        yield next_line("to see why and what would help", command)


def _opening(document: FoundMoves) -> Iterator[Cell]:
    moves, largest = document["moves"], document["largest"]
    if document["pod"]:
        name, now = document["pod"]["name"], document["pod"]["now"]
        if now["outcome"] == "Admitted":
            yield Cell(f"{name} is admitted without moves.", "green")
            yield from _shared(document["sharedCPUs"])
            return
        yield Cell(f"{name} is not admitted now: {rejection_text(now)}")
    if largest:
        more = f", one of {largest['cpus']} after moves" if largest["cpus"] > largest["now"] else ""
        yield Cell(f"A container of {counted(largest['now'], 'CPU')} is admitted now{more}.")
        yield from _shared(document["sharedCPUs"])
    if moves is not None:
        yield Cell(f"It fits after {counted(moves, 'move')}.", "green")
    else:
        yield Cell(_nothing(document), "yellow" if largest else "red")


def _shared(cpus: str) -> Iterator[Cell]:
    if cpus:
        shared = CPUSet.parse(cpus)
        yield Cell(f"{named(shared)}, which it gets, {taken_text(shared)}.", "yellow")


def _nothing(document: FoundMoves) -> str:
    if "whyNot" in document:
        why = rejection_text(document["whyNot"])
        repeats = document["pod"] is not None and why == rejection_text(document["pod"]["now"])
        return (
            "No move helps: the reason does not depend on other pods." if repeats else f"No move helps: {why}"
        )
    whom = "a larger one" if document["largest"] else "it"
    if document["minimal"]:
        return f"No moves free enough CPUs for {whom}."
    return f"Found no moves that free enough CPUs for {whom}."


def _row(number: int, step: MoveStep) -> tuple[Cell, ...]:
    style = "yellow" if step["action"] == "evict" else "green"
    return (
        Cell(str(number)),
        Cell(step["action"], style),
        Cell(step["pod"] or "(new pod)"),
        Cell(step["cpus"] or "-"),
    )


def _below(document: FoundMoves) -> Iterator[Cell]:
    search = document["search"]
    ended = _ENDED.get(search["ended"], "")
    if document["moves"] and not document["minimal"]:
        yield Cell(f"Fewer moves may be enough: {ended or 'not everything was tried'}.", "yellow")
    elif document["moves"]:
        yield Cell("This is the minimum: all smaller sets of moves were tried.")
    elif ended and not document["minimal"]:
        yield Cell(f"This is not certain: {ended}.", "yellow")
    if document["largest"] and not document["largest"]["proven"]:
        yield Cell("A larger one may be possible: not everything was tried.", "yellow")
    yield Cell(f"Tried: {counted(search['tried'], 'step')} (at most {search['budget']:,}).")
    yield from (Cell(f"not moved: {each['pod']}: {each['why']}") for each in document["immovable"])
