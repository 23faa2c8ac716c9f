"""Layout of state files: the files, their holders, and the machine with its owners."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table
from cpuctl.cli.render.layouts.topology import machine_boxes
from cpuctl.cli.render.tables.checkpoint import cpu_table, file_line, memory_holders
from cpuctl.cli.render.tables.resources import memory_table
from cpuctl.exports.answer_text import pod_name
from cpuctl.phrases import counted
from cpuctl.state_names import CPU_FILE

if TYPE_CHECKING:
    from cpuctl.answers import checkpoint as answers
    from cpuctl.answers.topology import HeldCPU, HeldMap

_SHARED, _NO_OWNER = ".", "?"
_SHOWN = 3


def blocks(document: answers.CheckpointDump, *, wide: bool) -> Iterator[Block]:
    """Lay out a dump; wide adds UIDs, bytes and the resources allocated to pods for a resize."""
    yield Lines(tuple(file_line(file, wide=wide) for file in document["files"]))
    if cpus := document.get("cpus"):
        none = any((each["file"], each["policy"]) == (CPU_FILE, "none") for each in document["files"])
        if none and not cpus["sharedPool"] and not cpus["holders"]:
            yield Lines.of("CPU Manager policy none: containers run on all CPUs, and the file lists none")
        else:
            yield from _cpus(cpus, document.get("map"), wide=wide)
    if memory := document.get("memory"):
        yield from _memory(memory, wide=wide)
    if pods := document.get("pods"):
        yield from _pods(pods, wide=wide)
    if devices := document.get("devices"):
        yield from _devices(devices, wide=wide)
    if claims := document.get("claims"):
        yield _claims(claims, wide=wide)


def _devices(devices: answers.HeldDevices, *, wide: bool) -> Iterator[Block]:
    known = [f"{counted(each['devices'], 'device')} of {each['resource']}" for each in devices["registered"]]
    yield Lines.of(f"Registered: {', '.join(known) or 'none'}")
    if not devices["holders"]:
        return
    names = ("POD", "CONTAINER", "RESOURCE", "COUNT", "NODES", "DEVICES", *(("UID",) if wide else ()))
    rows = tuple(
        (
            Cell(pod_name(each)),
            Cell(each["container"] or "-"),
            Cell(each["resource"]),
            Cell(str(len(each["devices"]))),
            Cell(each["numaNodes"] or "-"),
            Cell(_some(each["devices"], wide=wide)),
            *((Cell(each["podUID"]),) if wide else ()),
        )
        for each in devices["holders"]
    )
    yield Table(tuple(Column(name, "right" if name == "COUNT" else "left") for name in names), rows)


def _claims(claims: Sequence[answers.PreparedClaim], *, wide: bool) -> Table:
    rows = tuple(
        (
            Cell(f"{claim['namespace']}/{claim['claim']}"),
            Cell(", ".join(pod_name(pod) for pod in claim["pods"]) or "-"),
            Cell(_some(claim["devices"], wide=wide)),
        )
        for claim in claims
    )
    return Table(tuple(Column(name) for name in ("CLAIM", "PODS", "DEVICES")), rows)


def _some(names: Sequence[str], *, wide: bool) -> str:
    """List as many names as fit on a line."""
    shown = names if wide else names[:_SHOWN]
    more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
    return (", ".join(shown) or "-") + more


def _cpus(cpus: answers.HeldCPUs, picture: HeldMap | None, *, wide: bool) -> Iterator[Block]:
    shared = f"Shared pool {cpus['sharedPool'] or 'empty'} ({counted(cpus['sharedCPUs'], 'CPU')})"
    yield Lines.of(f"{shared}, {counted(cpus['exclusiveCPUs'], 'exclusive CPU')}")
    if picture is not None:
        yield from _picture(picture)
    if cpus["holders"]:
        yield cpu_table(cpus["holders"], wide=wide, marked=picture is not None)


def _picture(picture: HeldMap) -> Iterator[Block]:
    rows = picture["cpus"]
    yield from machine_boxes(rows, {row["cpu"]: _cell(row) for row in rows})
    used = {_mark(row) for row in rows if row["online"]}
    legend = {_SHARED: "in the shared pool", _NO_OWNER: "neither shared nor exclusive"}
    notes = [f"{mark}: {meaning}" for mark, meaning in legend.items() if mark in used]
    if any("+" in mark for mark in used):
        notes.append("+: exclusive to several owners, or exclusive and shared")
    if picture["notOnMachine"]:
        notes.append(f"not on this machine: CPUs {picture['notOnMachine']}")
    if notes:
        yield Lines.of(*notes)


def _cell(row: HeldCPU) -> Cell:
    mark = _mark(row)
    style = {_SHARED: "green", _NO_OWNER: "red"}.get(mark, "red" if "+" in mark else "cyan")
    return Cell(f"{row['cpu']}{mark}", style if row["online"] else "dim")


def _mark(row: HeldCPU) -> str:
    marks = row["marks"]
    if not marks:
        return _SHARED if row["shared"] else _NO_OWNER if row["online"] else ""
    return f"{marks[0]}+" if len(marks) > 1 or row["shared"] else str(marks[0])


def _memory(memory: answers.HeldMemory, *, wide: bool) -> Iterator[Block]:
    if memory["holders"]:
        yield memory_holders(memory["holders"], wide=wide)
    if memory["numaNodes"]:
        yield memory_table(memory["numaNodes"], wide=wide)


def _pods(pods: Sequence[answers.RecordedPod], *, wide: bool) -> Iterator[Block]:
    counts: dict[str, int] = {}
    for pod in pods:
        counts[pod["file"]] = counts.get(pod["file"], 0) + 1
    yield Lines.of(*(f"{file}: {counted(count, 'pod')}" for file, count in counts.items()))
    if wide:
        columns = ("FILE", "POD", "CONTAINER", "RESOURCE", "REQUEST", "LIMIT")
        rows = tuple(
            (
                Cell(pod["file"].partition("_")[0]),
                Cell(pod_name(pod)),
                Cell(amount["container"] or "-"),
                Cell(amount["resource"]),
                Cell(amount["request"] or "-"),
                Cell(amount["limit"] or "-"),
            )
            for pod in pods
            for amount in pod["resources"]
        )
        yield Table(tuple(Column(name) for name in columns), rows)
