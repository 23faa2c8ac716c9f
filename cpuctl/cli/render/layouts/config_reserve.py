"""How proposed reservations look to people: what is kept and where, then lines to paste."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from cpuctl.cli.output import Document
from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table
from cpuctl.cli.render.findings import CONFIGURATION, finding_lines
from cpuctl.cli.render.layouts.config_check import mend_line
from cpuctl.exports.outcomes import start_look
from cpuctl.exports.wording import byte_text, counted

_ADDENDS = ("kubeReserved", "systemReserved", "evictionHard")
_HEAD_LINES = 2
"""Of the snippet: what makes it a file of its own."""


def blocks(document: Document, *, wide: bool) -> Iterator[Block]:  # noqa: ARG001  # every layout has this shape
    """Lay out a proposal, or why there is none."""
    who = f"Kubelet {document['kubelet']['version']}"
    if "refusal" in document:
        yield Lines(tuple(_refusal(document["refusal"], who)))
        return
    proposal = document["proposal"]
    yield Lines(tuple(_choices(proposal, who)))
    if proposal["memory"]:
        yield _nodes(proposal["memory"]["numaNodes"])
    yield Lines.of("In the KubeletConfiguration:", *proposal["snippet"].splitlines()[_HEAD_LINES:])
    yield Lines.of("Or as flags:", *(shlex.quote(flag) for flag in proposal["flags"]))
    if remarks := (*_replaced(proposal["replaces"]), *finding_lines(proposal["findings"], CONFIGURATION)):
        yield Lines(remarks)


def _refusal(refusal: Mapping[str, Any], who: str) -> Iterator[Cell]:
    yield Cell(f"Nothing to propose: {refusal['why']}", "red")
    if start := refusal.get("start"):
        yield Cell(*start_look(start, who))
        # A setting that nobody has set yet is one of those that would be proposed.
        places = (place for place in start.get("mend", ()) if place["where"])
        yield from (Cell(f"  mend {mend_line(place)}") for place in places)


def _choices(proposal: Mapping[str, Any], who: str) -> Iterator[Cell]:
    yield Cell(f"{who} would start with this.", "green")
    if cpus := proposal["cpus"]:
        yield Cell(f"Reserved CPUs: {cpus['cpus']} ({counted(cpus['count'], 'CPU')})")
        if cpus["cpuManagerPolicy"] == "none":
            yield Cell("CPU Manager policy none: pods run there, too, and only the number counts", "yellow")
    if memory := proposal["memory"]:
        addends = " + ".join(
            f"{name} {memory[name]['quantity']}" for name in _ADDENDS if memory[name]["number"]
        )
        yield Cell(f"Memory kept from pods: {memory['keptFromPods']['quantity']} = {addends}")


def _nodes(nodes: list[Mapping[str, Any]]) -> Table:
    names = {"total": "MEMORY", "hugePages": "HUGE PAGES", "reserved": "RESERVED", "allocatable": "FOR PODS"}
    rows = tuple(
        (
            Cell(str(node["numaNode"])),
            *(Cell("?" if node[name] is None else byte_text(node[name])) for name in names),
        )
        for node in nodes
    )
    return Table(tuple(Column(name, "right") for name in ("NODE", *names.values())), rows)


def _replaced(places: list[Mapping[str, Any]]) -> Iterator[Cell]:
    for place in places:
        yield Cell(f"in place of {place['setting']} at {place['where'] or place['from']}")
