"""How one policy looks to people: what it says of itself, then its text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table

if TYPE_CHECKING:
    from cpuctl.answers.policies import PolicyDescription

_ALIGNMENTS = {
    "hint": "on the NUMA nodes that the Topology Manager has chosen",
    "equal": "on any NUMA nodes that the Topology Manager holds as good",
    "cpu": "on those that the CPU Manager prefers, where there are none that all managers prefer",
}


def blocks(document: PolicyDescription, *, wide: bool) -> Iterator[Block]:  # noqa: ARG001
    """Lay out a description."""
    policy = document["policy"]
    rows = (
        ("FROM", f"{policy['origin']}: {policy['where']}"),
        ("AFTER", policy["source"] or "-"),
        ("STEPS", ", ".join(policy["steps"]) or "none of its own"),
        ("CHOOSES", _ALIGNMENTS[document["alignment"]]),
        ("STANDING", "what-if: no kubelet does this"),
        *(("OPTION", f"{each['name']}={each['default']}") for each in policy["options"]),
    )
    cells = tuple((Cell(word), Cell(text)) for word, text in rows)
    yield Table((Column("POLICY"), Column(policy["name"])), cells)
    yield Lines.of(*(document["doc"] or "It says nothing of itself.").splitlines())
    if document["text"]:
        yield Lines.of(*document["text"].rstrip("\n").splitlines())
