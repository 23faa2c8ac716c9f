"""Layout of policies: a row each in the list; a single one with its own description."""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import wrap
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table

if TYPE_CHECKING:
    from cpuctl.answers.policies import Policies, Policy, PolicyDescription

NO_KUBELET = (
    "What if: no kubelet does what these policies do, except static. "
    "Try one with cpuctl plan -f PODS --policy NAME."
)
_AS_KUBELET = "static"


def blocks(document: Policies, *, wide: bool) -> Iterator[Block]:
    """Lay out the policies; wide adds the model of each, and its file."""
    names = ("NAME", "DESCRIPTION", "OPTIONS", *(("MODELLED ON", "FROM") if wide else ()))
    rows = tuple(_row(each, wide=wide) for each in document["policies"])
    yield Table(tuple(Column(name) for name in names), rows)
    yield Lines.of(NO_KUBELET)


def _row(policy: Policy, *, wide: bool) -> tuple[Cell, ...]:
    does = Cell(policy["error"], "red") if policy["error"] else Cell(policy["summary"])
    options = ", ".join(f"{each['name']}={each['default']}" for each in policy["options"])
    cells = (Cell(policy["name"]), does, Cell(options or "-"))
    source = Cell(policy["source"] or "-")
    return (*cells, source, Cell(f"{policy['origin']}: {policy['where']}")) if wide else cells


_ALIGNMENTS = {
    "hint": "on the NUMA nodes that the Topology Manager has chosen",
    "equal": "on any NUMA nodes that the Topology Manager considers equally good",
    "cpu": "on the NUMA nodes that the CPU Manager prefers, if no nodes are preferred by all managers",
}


def description_blocks(document: PolicyDescription, *, wide: bool) -> Iterator[Block]:  # noqa: ARG001
    """Lay out a description."""
    policy = document["policy"]
    rows = (
        ("FROM", f"{policy['origin']}: {policy['where']}"),
        ("MODELLED ON", policy["source"] or "-"),
        ("STEPS", ", ".join(policy["steps"]) or "all as in the kubelet"),
        ("CHOOSES", _ALIGNMENTS[document["alignment"]]),
        ("STATUS", "the kubelet's own" if policy["name"] == _AS_KUBELET else "what-if: no kubelet does this"),
        *(("OPTION", f"{each['name']}={each['default']}") for each in policy["options"]),
    )
    cells = tuple((Cell(word), Cell(text)) for word, text in rows)
    yield Table((Column("POLICY"), Column(policy["name"])), cells)
    yield Lines.of(*_description(document["doc"] or "No description."))
    if document["text"]:
        yield Lines.of(*document["text"].rstrip("\n").splitlines())


_WIDTH = 80


def _description(doc: str) -> Iterator[str]:
    """Wrap paragraphs whose lines are too long: source code has longer lines than terminals."""
    for number, paragraph in enumerate(re.split(r"\n{2,}", doc.strip("\n"))):
        if number:
            yield ""
        lines = paragraph.splitlines()
        # Indented lines, such as those of lists, stay as they are.
        is_text = not any(line.startswith((" ", "- ", "* ")) for line in lines)
        if is_text and any(len(line) > _WIDTH for line in lines):
            yield from wrap(" ".join(lines), _WIDTH, break_long_words=False, break_on_hyphens=False)
        else:
            yield from lines
