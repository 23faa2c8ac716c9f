"""Layout of the running node: which container holds which CPUs, how busy they are, and what disturbs them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table, next_line
from cpuctl.cli.render.tables.checkpoint import owner_column
from cpuctl.cli.render.tables.running import (
    DISTURBED,
    UNKNOWN,
    amount,
    container_name,
    full_name,
    loads_text,
    pod_name,
    pressure_text,
    rate,
    seconds,
    share,
    top_heading,
)

if TYPE_CHECKING:
    from cpuctl.answers.top import CPU, Container, CPUs, Top, Unknown

_NAMES = (
    "CPUS",
    "LOAD",
    "USED",
    "OTHERS",
    "STEAL",
    "THROTTLED",
    "FOREIGN",
    "IRQ/S",
    "WAIT",
    "MIGR/S",
    "NUMA/S",
)


def blocks(document: Top, *, wide: bool) -> Iterator[Block]:
    """Lay out the moment; wide adds every CPU, and the processes seen."""
    yield Lines.of(top_heading(document))
    if document["containers"]:
        yield _containers(document["containers"], wide=wide)
    if document["sharedPool"] is not None or document["reserved"] is not None:
        yield _shared(document)
    if document["pressure"]:
        yield Lines.of(pressure_text(document))
    if foreign := list(_foreign(document)):
        yield Lines((Cell("foreign threads:"), *foreign))
    if interrupts := list(_interrupts(document)) if wide else []:
        yield Lines((Cell("interrupts on exclusive CPUs:"), *interrupts))
    if wide:
        yield _cpus(document["cpus"])
    if document["unknown"]:
        yield Lines(tuple(_unknown(each) for each in document["unknown"]))
    if not document["cpuManagerPolicy"]:
        yield next_line("on a node with a running kubelet", "sudo cpuctl top")
    elif any(map(_is_disturbed, document["containers"])):
        yield next_line("on the node, to find the cause", "sudo cpuctl audit")


_UNKNOWN = {
    "containers, sharedPool": "containers with exclusive CPUs, shared pool",
    "reserved": "reserved CPUs",
    "pressure": "CPU pressure (PSI)",
    "runQueueDelay of CPUs": "WAIT of CPUs",
    "used": "USED",
    "throttled": "THROTTLED",
    "foreign": "FOREIGN",
    "interrupts": "IRQ/S",
    "migrations": "MIGR/S",
}
"""What unknown values are called in this layout."""


def _unknown(each: Unknown) -> Cell:
    return Cell(f"unknown: {_UNKNOWN.get(each['what'], each['what'])}: {each['why']}", "dim")


def _is_disturbed(container: Container) -> bool:
    """Return whether a value is marked as a disturbance by others, which an audit may explain."""
    interrupts = container["interrupts"]
    return bool(
        (container["others"] or 0) > DISTURBED
        or container["foreign"]
        or container["throttled"]
        or (interrupts and interrupts["devices"])
    )


def _containers(containers: list[Container], *, wide: bool) -> Table:
    keys = tuple(owner_column(name, wide=wide) for name in ("POD", "CONTAINER"))
    columns = (*keys, *(Column(name, _side(name)) for name in _NAMES))
    split = len(keys) + _NAMES.index("FOREIGN")
    return Table(columns, tuple(_row(each) for each in containers), split=split, keys=len(keys))


def _side(name: str) -> Literal["left", "right"]:
    return "left" if name in ("CPUS", "LOAD") else "right"


def _row(container: Container) -> tuple[Cell, ...]:
    foreign, interrupts = container["foreign"], container["interrupts"]
    others = container["others"]
    return (
        Cell(pod_name(container)),
        Cell(container_name(container)),
        Cell(container["cpus"], "bold"),
        Cell(loads_text(container["loads"])),
        Cell(amount(container["used"])),
        Cell(amount(others), "yellow" if (others or 0) > DISTURBED else ""),
        Cell(share(container["steal"]), "yellow" if container["steal"] else ""),
        Cell(share(container["throttled"]), "red" if container["throttled"] else ""),
        Cell(UNKNOWN if foreign is None else str(len(foreign)), "red" if foreign else ""),
        Cell(
            rate(interrupts["devices"] if interrupts else None),
            "yellow" if interrupts and interrupts["devices"] else "",
        ),
        Cell(seconds(container["runQueueDelay"])),
        Cell(rate(container["migrations"])),
        Cell(rate(container["numaMisses"])),
    )


def _shared(document: Top) -> Table:
    rows = [
        _part(name, part)
        for name, part in (("shared pool", document["sharedPool"]), ("reserved", document["reserved"]))
        if part is not None
    ]
    names = ("", "CPUS", "BUSY", "STEAL", "IRQ/S", "WAIT")
    return Table(
        tuple(Column(name, "left" if name in ("", "CPUS") else "right") for name in names), tuple(rows)
    )


def _part(name: str, part: CPUs) -> tuple[Cell, ...]:
    return (
        Cell(name),
        Cell(part["cpus"] or "none"),
        Cell(share(part["busy"])),
        Cell(share(part["steal"])),
        Cell(rate(part["interrupts"])),
        Cell(seconds(part["runQueueDelay"])),
    )


def _foreign(document: Top) -> Iterator[Cell]:
    for container in document["containers"]:
        for each in container["foreign"] or ():
            kind = "kernel thread" if each["kernel"] else f"thread in cgroup {each['cgroup']}"
            yield Cell(
                f"  {each['tid']} ({each['comm']}), {kind}, on CPU {each['cpu']} of "
                f"{full_name(container)}: {share(each['used'])} of a CPU"
            )


def _interrupts(document: Top) -> Iterator[Cell]:
    for container in document["containers"]:
        interrupts = container["interrupts"]
        for each in interrupts["mostFrequent"] if interrupts else ():
            yield Cell(
                f"  {each['name']} ({each['title']}), {rate(each['rate'])} per second on CPUs of "
                f"{full_name(container)}"
            )


def _cpus(cpus: list[CPU]) -> Table:
    names = (
        "CPU",
        "SOCKET",
        "NODE",
        "L3",
        "CORE",
        "OWNER",
        "BUSY",
        "USER",
        "SYSTEM",
        "IRQ",
        "STEAL",
        "IRQ/S",
        "WAIT",
    )
    rows = tuple(
        (
            *(
                Cell(UNKNOWN if value is None else str(value))
                for value in (
                    each["cpu"],
                    each["socket"],
                    each["numaNode"],
                    each["l3"],
                    each["core"],
                    each["owner"],
                )
            ),
            *(
                Cell(share(value))
                for value in (each["busy"], each["user"], each["system"], each["irq"], each["steal"])
            ),
            Cell(rate(each["interrupts"])),
            Cell(seconds(each["runQueueDelay"])),
        )
        for each in cpus
    )
    return Table(tuple(Column(name, "left" if name == "OWNER" else "right") for name in names), rows)
