"""Tables of devices and memory: what a container gets, and what is left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from cpuctl.cli.render.blocks import Cell, Column, Table
from cpuctl.exports.answer_text import full_name
from cpuctl.phrases import byte_text

if TYPE_CHECKING:
    from cpuctl.answers.decisions import Block, Container, Device, DevicesLeft, MemoryTable, Pod

_DEVICE_COLUMNS = ("DEVICES", "ALIGNED")
"""What a container gets, and whether one NUMA node is next to all of it and has its CPUs."""

_NO_NODE = "none"
_COUNTS: Final = ("total", "healthy", "free")


def device_columns(pods: Iterable[Pod]) -> tuple[str, ...]:
    """Return the columns that pods with devices need."""
    used = any("devices" in container for pod in pods for container in pod["containers"])
    return _DEVICE_COLUMNS if used else ()


def device_cells(container: Container) -> dict[str, Cell]:
    """Fill the columns for one container."""
    if "devices" not in container:
        return {}
    cells = {"DEVICES": Cell(", ".join(_grant_text(grant) for grant in container["devices"]))}
    if "devicesAligned" in container:
        cells["ALIGNED"] = _aligned(container)
    return cells


def granted_table(pods: Iterable[Pod]) -> Table:
    """Show the devices of every container by their NUMA nodes; no rows if none has any."""
    names = ("POD", "CONTAINER", "RESOURCE", "DEVICES", "NODE", "ALIGNED")
    columns = (Column(name, "right" if name in ("DEVICES", "NODE") else "left") for name in names)
    return Table(tuple(columns), tuple(row for pod in pods for row in _granted_rows(pod)))


def _granted_rows(pod: Pod) -> Iterator[tuple[Cell, ...]]:
    name = full_name(pod)
    for container in pod["containers"]:
        if "devices" not in container:
            continue
        first, aligned = container["name"], _aligned(container)
        for grant in container["devices"]:
            for nodes, count in grant["numaNodes"].items():
                place = "-" if nodes == _NO_NODE else nodes
                cells = (Cell(name), Cell(first), Cell(grant["resource"]), Cell(str(count)), Cell(place))
                yield (*cells, aligned)
                name, first, aligned = "", "", Cell("")


def _aligned(container: Container) -> Cell:
    if "devicesAligned" not in container:
        return Cell("")
    if container["devicesAligned"] and container["isolation"] == "host":
        return Cell("-")  # it runs on the CPUs of all NUMA nodes
    return Cell("yes") if container["devicesAligned"] else Cell("no", "yellow")


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


COLUMN = "MEMORY"
"""What a container gets, and on which NUMA nodes."""

_AMOUNTS: Final = ("total", "systemReserved", "allocatable", "free")


def memory_columns(pods: Iterable[Pod]) -> tuple[str, ...]:
    """Return the column that pods with their own memory need."""
    used = any("memory" in container for pod in pods for container in pod["containers"])
    return (COLUMN,) if used else ()


def memory_cells(container: Container) -> dict[str, Cell]:
    """Fill the column for one container: ``4Gi, 512Mi of hugepages-2Mi (node 0)``."""
    if "memory" not in container or not container["memory"]["blocks"]:
        return {}
    memory = container["memory"]
    # Memory first, then huge pages.
    blocks = sorted(memory["blocks"], key=lambda block: (block["resource"] != "memory", block["resource"]))
    mems = memory["cpusetMems"]
    noun = "node" if mems.isdecimal() else "nodes"
    return {COLUMN: Cell(f"{', '.join(map(_block_text, blocks))} ({noun} {mems})")}


def _block_text(block: Block) -> str:
    amount = byte_text(block["bytes"])
    return amount if block["resource"] == "memory" else f"{amount} of {block['resource']}"


def memory_table(left: Iterable[MemoryTable], *, wide: bool) -> Table:
    """Show memory and huge pages of every NUMA node, and which nodes are shared as a group.

    Only the wide form shows page sizes of which a node has none.
    """
    nodes = list(left)
    pages = any(_huge_pages(node) for node in nodes)
    columns = (
        Column("NODE", "right"),
        Column("RESOURCE"),
        Column("TOTAL", "right"),
        Column("RESERVED", "right"),
        *([Column("HUGE PAGES", "right")] if pages else []),
        Column("FOR PODS", "right"),
        Column("FREE", "right"),
        Column("GROUP"),
    )
    return Table(columns, tuple(row for node in nodes for row in _rows(node, wide=wide, pages=pages)))


def _huge_pages(node: MemoryTable) -> int:
    """Return the size of a node's huge pages, which are not free for other memory."""
    return sum(table["total"] for table in node["resources"] if table["resource"] != "memory")


def group_text(node: MemoryTable) -> str:
    """Write the nodes of a node's group; ``-`` for a node of its own."""
    return "-" if node["group"] == str(node["numaNode"]) else node["group"]


def _rows(node: MemoryTable, *, wide: bool, pages: bool) -> Iterator[tuple[Cell, ...]]:
    number = str(node["numaNode"])
    group = group_text(node)
    for table in node["resources"]:
        texts = [byte_text(table[key]) for key in _AMOUNTS]
        if not (wide or table["resource"] == "memory" or any(table[key] for key in _AMOUNTS)):
            continue
        if pages:
            texts.insert(2, byte_text(_huge_pages(node)) if table["resource"] == "memory" else "-")
        yield Cell(number), Cell(table["resource"]), *map(Cell, texts), Cell(group)
