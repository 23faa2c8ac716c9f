"""Layout of the devices of the driver for CPUs, one per row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table
from cpuctl.phrases import counted

if TYPE_CHECKING:
    from cpuctl.answers.dra import DeviceRow, DriverDevices

_LEFT = frozenset({"DEVICE", "CPUS", "CPU", "TYPE", "PCIE ROOTS"})


def blocks(document: DriverDevices, *, wide: bool) -> Iterator[Block]:  # noqa: ARG001  # every layout has this shape
    """Lay out the devices, without empty columns."""
    rows, held = document["devices"], document["reserved"]
    if rows:
        named = [_cells(each) for each in rows]
        columns = [name for name in named[0] if any(row[name] != "-" for row in named)]
        yield Table(
            tuple(Column(name, "left" if name in _LEFT else "right") for name in columns),
            tuple(tuple(Cell(row[name]) for name in columns) for row in named),
        )
    slices = 1 + max((each["slice"] for each in rows), default=-1)
    yield Lines.of(
        f"{counted(len(rows), 'device')} in {counted(slices, 'slice')} of "
        f"node {document['node']}: available CPUs {document['available'] or '-'}"
        + (f", reserved {held}" if held else "")
    )


def _cells(device: DeviceRow) -> dict[str, str]:
    figures = {
        "SLICE": device["slice"],
        "CPUS": device["cpus"] or None,
        "COUNT": device["count"] if device["core"] is None else None,
        "SOCKET": device["socket"],
        "NODE": device["numaNode"],
        "CORE": device["core"],
        "L3": device["l3"],
        "TYPE": device["coreType"],
        "PCIE ROOTS": " ".join(device["pcieRoots"]) or None,
    }
    return {"DEVICE": device["name"]} | {
        name: "-" if value is None else str(value) for name, value in figures.items()
    }
