"""How devices look in tables: what a container gets, and what is left."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from cpuctl.cli.render.blocks import Cell, Column, Table

if TYPE_CHECKING:
    from cpuctl.answers.decisions import Container, Device, DevicesLeft, Pod

COLUMNS = ("DEVICES", "NEAR")
"""What a container gets, and whether one NUMA node is next to all of it and has its CPUs."""

_NO_NODE = "none"
_COUNTS: Final = ("total", "healthy", "free")


def device_columns(pods: Iterable[Pod]) -> tuple[str, ...]:
    """Name the columns that pods with devices need."""
    used = any("devices" in container for pod in pods for container in pod["containers"])
    return COLUMNS if used else ()


def device_cells(container: Container) -> dict[str, Cell]:
    """Fill the columns for one container."""
    if "devices" not in container:
        return {}
    cells = {"DEVICES": Cell(", ".join(_grant_text(grant) for grant in container["devices"]))}
    if "devicesAligned" in container:
        cells["NEAR"] = Cell("yes") if container["devicesAligned"] else Cell("no", "yellow")
    return cells


def _grant_text(grant: Device) -> str:
    """Write ``2 nvidia.com/gpu (node 0)``, with several nodes ``3 nvidia.com/gpu (node 0: 2, 1: 1)``."""
    places = {nodes: count for nodes, count in grant["numaNodes"].items() if nodes != _NO_NODE}
    text = f"{grant['count']} {grant['resource']}"
    if not places:
        return text
    if len(grant["numaNodes"]) == 1:
        return f"{text} (node {next(iter(places))})"
    return f"{text} (node {', '.join(f'{nodes}: {count}' for nodes, count in places.items())})"


def devices_table(left: Iterable[DevicesLeft]) -> Table:
    """Show the devices of every resource by the NUMA nodes next to them."""
    columns = (
        Column("RESOURCE"),
        Column("NODE", "right"),
        Column("TOTAL", "right"),
        Column("HEALTHY", "right"),
        Column("FREE", "right"),
    )
    rows = [
        (
            Cell(each["resource"]),
            Cell("-" if each["numaNodes"] == _NO_NODE else each["numaNodes"]),
            *(Cell(str(each[key])) for key in _COUNTS),
        )
        for each in left
    ]
    return Table(columns, tuple(rows))
