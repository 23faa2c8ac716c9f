"""PCI devices, one a row, and what device plugins would make of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table

if TYPE_CHECKING:
    from cpuctl.answers.topology import PCIDevices

_NAMES = ("ADDRESS", "KIND", "VENDOR:DEVICE", "NODE", "RESOURCE")


def blocks(document: PCIDevices, *, wide: bool) -> Iterator[Block]:  # noqa: ARG001  # every layout has this shape
    """Lay out the devices."""
    rows = tuple(
        (
            Cell(each["address"]),
            Cell(f"{each['kind']}{', virtual function' if each['virtual'] else ''}"),
            Cell(f"{each['vendor']}:{each['device']}"),
            Cell("-" if each["numaNode"] is None else str(each["numaNode"])),
            Cell(each["resource"] or "-"),
        )
        for each in document["pci"]
    )
    yield Table(tuple(Column(name, "right" if name == "NODE" else "left") for name in _NAMES), rows)
    yield Lines.of(
        "Resources are what usual plugins register: check the names. -o yaml writes a draft for --devices."
    )
