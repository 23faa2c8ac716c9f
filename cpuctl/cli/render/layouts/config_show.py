"""Layout of a configuration: values with their origins, then what is reserved."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table
from cpuctl.cli.render.layouts.config_check import shared_line
from cpuctl.cli.render.tables.start import start_block
from cpuctl.phrases import byte_text

if TYPE_CHECKING:
    from cpuctl.answers import config as answers
    from cpuctl.answers.values import Amount

_ALWAYS = frozenset(
    {"cpuManagerPolicy", "memoryManagerPolicy", "topologyManagerPolicy", "topologyManagerScope"}
)
_AMOUNTS: Final = ("capacity", "kubeReserved", "systemReserved", "evictionHard", "reserved", "allocatable")
_FILE_AND_LINE = re.compile(r"(?P<file>[^-].*?)(?P<line>(?::[0-9]+){0,2})", re.ASCII | re.DOTALL)
_OF_BYTES = ("memory", "ephemeral-storage", "hugepages-")
_HEADINGS = ("CAPACITY", "KUBE", "SYSTEM", "EVICTION", "RESERVED", "ALLOCATABLE")


def blocks(document: answers.ConfigShow, *, wide: bool) -> Iterator[Block]:
    """Lay out a configuration: explicit settings and the policies, or with *wide* every field."""
    who = f"Kubelet {document['kubelet']['version']}"
    if "settings" not in document:
        yield start_block(document["start"], who)
        return
    yield Lines.of(who)
    yield from _settings(document["settings"], wide=wide)
    if wide:
        yield _gates(document["featureGates"])
    yield from _reservation(document["reservation"], wide=wide)
    if "node" in document:
        yield Lines.of(shared_line(document["node"]))
    if document["start"]["outcome"] != "Started":
        yield start_block(document["start"], who, check=document.get("next", ""))


def _settings(settings: Sequence[answers.Setting], *, wide: bool) -> Iterator[Block]:
    """Show settings and where they come from; files without their directories, unless *wide*."""
    shown = [
        entry
        for entry in settings
        if wide or entry["from"] != "default" or entry["field"] in _ALWAYS or entry["field"] == "evictionHard"
    ]
    files = {} if wide else _short_names(entry["where"] for entry in shown if entry["where"])
    rows = tuple(
        (
            Cell(entry["setting"]),
            Cell(_value(entry["value"])),
            Cell(_where(entry["where"], files) or entry["from"], "" if entry["where"] else "dim"),
        )
        for entry in shown
    )
    yield Table((Column("SETTING"), Column("VALUE"), Column("FROM")), rows)
    if files:
        yield Lines.of(*(f"{short}: {file}" for file, short in files.items()))


def _short_names(places: Iterable[str]) -> dict[str, str]:
    """Return the base name of each file whose base name is unique."""
    found = (_FILE_AND_LINE.fullmatch(place) for place in places)
    files = list(dict.fromkeys(each["file"] for each in found if each and "/" in each["file"]))
    shorts = Counter(file.rpartition("/")[2] for file in files)
    return {file: short for file in files if shorts[short := file.rpartition("/")[2]] == 1}


def _where(place: str | None, files: Mapping[str, str]) -> str | None:
    found = _FILE_AND_LINE.fullmatch(place or "")
    return f"{files[found['file']]}{found['line']}" if found and found["file"] in files else place


def _value(value: object) -> str:
    if isinstance(value, str):
        return value or '""'
    return json.dumps(value, ensure_ascii=False)


def _gates(gates: Sequence[answers.FeatureGate]) -> Table:
    rows = tuple(
        (
            Cell(gate["gate"]),
            Cell("on" if gate["enabled"] else "off"),
            Cell(gate["stage"] + (", locked" if gate["locked"] else "")),
            Cell("on" if gate["default"] else "off"),
            Cell("" if gate["verified"] else "not verified", "yellow"),
        )
        for gate in gates
    )
    names = ("FEATURE GATE", "STATE", "STAGE", "DEFAULT", "NOTE")
    return Table(tuple(Column(name) for name in names), rows)


def _reservation(
    reservation: answers.Reservation | answers.RejectedReservation, *, wide: bool
) -> Iterator[Block]:
    if "error" in reservation:
        yield Lines((Cell(f"Reserved resources are unknown: {reservation['error']}", "red"),))
        return
    rows = tuple(
        (
            Cell(line["resource"]),
            *(Cell(_rounded(line[name], line["resource"], wide=wide)) for name in _AMOUNTS),
        )
        for line in reservation["resources"]
    )
    columns = (Column("RESOURCE"), *(Column(name, "right") for name in _HEADINGS))
    yield Table(columns, rows)
    yield Lines((*_huge_pages(reservation), *_memory_lines(reservation, wide=wide)))


def _rounded(amount: Amount | None, resource: str, *, wide: bool) -> str:
    """Write rounded bytes; *wide* shows exact ones, as the kubelet prints them."""
    if amount is None or wide or not resource.startswith(_OF_BYTES):
        return _amount(amount)
    return byte_text(int(amount["number"]))


def _amount(amount: Amount | None) -> str:
    return "?" if amount is None else str(amount["quantity"])


def _huge_pages(reservation: answers.Reservation) -> Iterator[Cell]:
    """Say how much memory is neither reserved nor allocatable, as it is in huge pages."""
    for line in reservation["resources"]:
        amounts = [line["capacity"], line["reserved"], line["allocatable"]]
        if line["resource"] != "memory" or None in amounts:
            continue
        capacity, reserved, allocatable = (int(each["number"]) for each in amounts if each)
        pages = capacity - reserved - allocatable
        if allocatable and pages > 0:  # too large a reservation would hide them
            yield Cell(f"Memory in huge pages, which is not allocatable as memory: {byte_text(pages)}")


def _memory_lines(reservation: answers.Reservation, *, wide: bool) -> Iterator[Cell]:
    limit = _rounded(reservation["podsMemoryLimit"], "memory", wide=wide)
    yield Cell(f"Memory limit of all pods: {limit}")
    for item in reservation["reservedMemory"]:
        limits = ", ".join(f"{kind} {_amount(each)}" for kind, each in item["limits"].items())
        yield Cell(f"Reserved memory of NUMA node {item['numaNode']}: {limits}")
    for balance in reservation["memoryBalance"]:
        listed, kept = _amount(balance["reservedMemory"]), _amount(balance["totalReserved"])
        accepted = balance["equal"] and balance["totalReserved"]["number"] != 0
        verdict = "equal, as the Memory Manager requires" if accepted else "rejected by the Memory Manager"
        text = f"{balance['type']}: reservedMemory {listed}, required {kept}: {verdict}"
        if balance["totalReserved"]["number"] == 0:
            text = f"{balance['type']}: reservedMemory {listed}: {verdict}, which requires some"
        yield Cell(text, "" if accepted else "red")
