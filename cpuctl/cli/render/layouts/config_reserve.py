"""Layout of proposed reservations: what is reserved and where, then lines to paste."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal

from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table, next_cell, next_line
from cpuctl.cli.render.findings import CONFIGURATION, finding_lines
from cpuctl.cli.render.tables.start import fix_cells, setting_text, settings_to_fix
from cpuctl.exports.outcomes import start_word
from cpuctl.phrases import byte_text, counted

if TYPE_CHECKING:
    from cpuctl.answers.config import ConfigReserve, NodeMemory, Proposal, Proposed, Rejection
    from cpuctl.answers.start import SettingToFix

_ADDENDS: Final = ("kubeReserved", "systemReserved", "evictionHard")
_Size = Literal["total", "hugePages", "reserved", "allocatable"]
_SIZES: Mapping[_Size, str] = {
    "total": "MEMORY",
    "hugePages": "HUGE PAGES",
    "reserved": "RESERVED",
    "allocatable": "FOR PODS",
}
_HEAD_LINES = 2
"""The lines of the snippet that make it a complete file."""


def blocks(document: ConfigReserve, *, wide: bool) -> Iterator[Block]:  # noqa: ARG001  # every layout has this shape
    """Lay out a proposal, or why there is none."""
    who = f"Kubelet {document['kubelet']['version']}"
    if "rejection" in document:
        yield Lines(tuple(_rejection(document["rejection"], who)))
        return
    proposal = document["proposal"]
    yield Lines(tuple(_choices(proposal, who)))
    if proposal["memory"]:
        yield _nodes(proposal["memory"]["numaNodes"])
    yield Lines.of("In the KubeletConfiguration:", *proposal["snippet"].splitlines()[_HEAD_LINES:])
    yield Lines.of("Or as flags:", *(shlex.quote(flag) for flag in proposal["flags"]))
    if notes := (*_replaced(proposal["replaces"]), *finding_lines(proposal["findings"], CONFIGURATION)):
        yield Lines(notes)
    if command := proposal.get("next"):
        yield next_line("to check the node's state files with these settings", command)


def _rejection(rejection: Rejection, who: str) -> Iterator[Cell]:
    yield Cell(f"Nothing to propose: {rejection['why']}", "red")
    if start := rejection.get("start"):
        yield Cell(*start_word(start, who))
        # A setting that is not set yet is one of those that would be proposed.
        places = (place for place in settings_to_fix(start) if place["where"])
        yield from (Cell(f"  {setting_text(place)}") for place in places)
        yield from fix_cells(start)
    if command := rejection.get("next"):
        yield next_cell("to see what to change" if start else "to reserve only CPUs", command)


def _choices(proposal: Proposal, who: str) -> Iterator[Cell]:
    yield Cell(f"{who} accepts these settings.", "green")
    if cpus := proposal["cpus"]:
        yield Cell(f"Reserved CPUs: {cpus['cpus']} ({counted(cpus['count'], 'CPU')})")
        if cpus["cpuManagerPolicy"] == "none":
            yield Cell(
                "With CPU Manager policy none, pods also run on these CPUs; only their number matters",
                "yellow",
            )
    if memory := proposal["memory"]:
        addends = " + ".join(
            f"{name} {memory[name]['quantity']}" for name in _ADDENDS if memory[name]["number"]
        )
        yield Cell(f"Memory reserved: {memory['totalReserved']['quantity']} = {addends}")
        if memory["currentPolicy"] != "Static":
            yield Cell(f"memoryManagerPolicy changes from {memory['currentPolicy']} to Static", "yellow")


def _nodes(nodes: Sequence[NodeMemory]) -> Table:
    rows = tuple(
        (
            Cell(str(node["numaNode"])),
            *(Cell("?" if (size := node[name]) is None else byte_text(size)) for name in _SIZES),
        )
        for node in nodes
    )
    return Table(tuple(Column(name, "right") for name in ("NODE", *_SIZES.values())), rows)


def _replaced(places: Sequence[SettingToFix]) -> Iterator[Cell]:
    for place in places:
        where = place["where"] or str(place["from"])
        if where.startswith("--"):
            yield Cell(
                f"has no effect while a flag sets {place['setting']}: remove or change {where}", "yellow"
            )
        else:
            yield Cell(f"replaces {place['setting']} at {where}")


def snippet_blocks(document: Proposed, *, wide: bool) -> Iterator[Block]:  # noqa: ARG001  # every layout has this shape
    """Lay out the snippet."""
    yield Lines.of(*document["proposal"]["snippet"].splitlines())
