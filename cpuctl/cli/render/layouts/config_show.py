"""How a configuration looks to people: values with their origins, then what is kept from pods."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table
from cpuctl.cli.render.layouts.config_check import shared_line

if TYPE_CHECKING:
    from cpuctl.answers import config as answers
    from cpuctl.answers.values import Amount

_ALWAYS = frozenset(
    {"cpuManagerPolicy", "memoryManagerPolicy", "topologyManagerPolicy", "topologyManagerScope"}
)
_AMOUNTS: Final = ("capacity", "kubeReserved", "systemReserved", "evictionHard", "reserved", "allocatable")
_HEADINGS = ("CAPACITY", "KUBE", "SYSTEM", "EVICTION", "RESERVED", "ALLOCATABLE")


def blocks(document: answers.ConfigShow, *, wide: bool) -> Iterator[Block]:
    """Lay out a configuration: what somebody has set and the policies, or with *wide* every field."""
    yield Lines.of(f"Kubelet {document['kubelet']['version']}")
    yield _settings(document["settings"], wide=wide)
    if wide:
        yield _gates(document["featureGates"])
    yield from _reservation(document["reservation"])
    if "node" in document:
        yield Lines.of(shared_line(document["node"]))


def _settings(settings: Sequence[answers.Setting], *, wide: bool) -> Table:
    shown = [
        entry
        for entry in settings
        if wide or entry["from"] != "default" or entry["field"] in _ALWAYS or entry["field"] == "evictionHard"
    ]
    rows = tuple(
        (
            Cell(entry["setting"]),
            Cell(_value(entry["value"])),
            Cell(entry["where"] or entry["from"], "" if entry["where"] else "dim"),
        )
        for entry in shown
    )
    return Table((Column("SETTING"), Column("VALUE"), Column("FROM")), rows)


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
    names = ("FEATURE GATE", "IS", "STAGE", "DEFAULT", "NOTE")
    return Table(tuple(Column(name) for name in names), rows)


def _reservation(reservation: answers.Reservation | answers.RefusedReservation) -> Iterator[Block]:
    if "error" in reservation:
        yield Lines((Cell(f"What is kept from pods cannot be said: {reservation['error']}", "red"),))
        return
    rows = tuple(
        (Cell(line["resource"]), *(Cell(_amount(line[name])) for name in _AMOUNTS))
        for line in reservation["resources"]
    )
    columns = (Column("RESOURCE"), *(Column(name, "right") for name in _HEADINGS))
    yield Table(columns, rows)
    yield Lines(tuple(_memory_lines(reservation)))


def _amount(amount: Amount | None) -> str:
    return "?" if amount is None else str(amount["quantity"])


def _memory_lines(reservation: answers.Reservation) -> Iterator[Cell]:
    yield Cell(f"Memory limit of all pods together: {_amount(reservation['podsMemoryLimit'])}")
    for item in reservation["reservedMemory"]:
        limits = ", ".join(f"{kind} {_amount(each)}" for kind, each in item["limits"].items())
        yield Cell(f"Reserved memory of NUMA node {item['numaNode']}: {limits}")
    for balance in reservation["memoryBalance"]:
        listed, kept = _amount(balance["reservedMemory"]), _amount(balance["keptFromPods"])
        verdict = (
            "equal, as the Memory Manager asks" if balance["equal"] else "the Memory Manager refuses that"
        )
        text = f"{balance['type']}: reservedMemory {listed}, kept from pods {kept}: {verdict}"
        yield Cell(text, "" if balance["equal"] else "red")
