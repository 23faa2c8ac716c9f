"""How the list of policies looks to people: a row each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table

if TYPE_CHECKING:
    from cpuctl.answers.policies import Policies, Policy

NO_KUBELET = "What if: no kubelet does what these policies do. Try one with cpuctl plan --policy NAME."


def blocks(document: Policies, *, wide: bool) -> Iterator[Block]:
    """Lay out the policies; wide adds what each is modelled on, and where it is from."""
    names = ("NAME", "DOES", "OPTIONS", *(("MODELLED ON", "FROM") if wide else ()))
    rows = tuple(_row(each, wide=wide) for each in document["policies"])
    yield Table(tuple(Column(name) for name in names), rows)
    yield Lines.of(NO_KUBELET)


def _row(policy: Policy, *, wide: bool) -> tuple[Cell, ...]:
    does = Cell(policy["error"], "red") if policy["error"] else Cell(policy["summary"])
    options = ", ".join(f"{each['name']}={each['default']}" for each in policy["options"])
    cells = (Cell(policy["name"]), does, Cell(options or "-"))
    source = Cell(policy["source"] or "-")
    return (*cells, source, Cell(f"{policy['origin']}: {policy['where']}")) if wide else cells
