"""Layout of claims of pods: their devices, and the CPUs that their containers get."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table, next_line
from cpuctl.exports.answer_text import full_name
from cpuctl.phrases import few

if TYPE_CHECKING:
    from cpuctl.answers.decisions import Pod
    from cpuctl.answers.dra import (
        ClaimAllocation,
        ClaimDevice,
        ClaimDevices,
        ClaimDriver,
        PodClaim,
        PodClaims,
    )

_NAMES = ("POD", "CLAIM", "CONTAINER", "DEVICES", "CPUS", "COUNT", "NODE")
_FEW = 4
_WORDS = {"Unsatisfied": "not satisfied", "NotPrepared": "does not start", "Undetermined": "undetermined"}
_STYLES = {"Unsatisfied": "red", "NotPrepared": "red", "Undetermined": "yellow"}


def blocks(document: ClaimAllocation, *, wide: bool) -> Iterator[Block]:
    """Lay out a row per claim, then why pods do not get theirs."""
    if rows := [row for pod in document["pods"] for row in _rows(pod, wide=wide)]:
        yield _table(rows)
    if whys := [
        Cell(f"{pod['pod']}: {_WORDS[pod['outcome']]}: {pod['reason']}", _STYLES[pod["outcome"]])
        for pod in document["pods"]
        if pod["reason"] and pod["outcome"] in _WORDS
    ]:
        yield Lines(tuple(whys))
    if document["warnings"]:
        yield Lines.of(*(f"warning: {each}" for each in document["warnings"]))
    yield Lines.of(shared_line(document))
    if command := document.get("next"):
        yield next_line("to see which devices match", command)


def claims_table(pods: Iterable[Pod], *, wide: bool) -> Table:
    """Show a row per claim of the pods that were decided."""
    return _table(
        [
            _row(full_name(pod), each, "red" if "claimProblem" in pod else "", wide=wide)
            for pod in pods
            for each in pod.get("claims", ())
        ]
    )


def devices_table(devices: Sequence[ClaimDevices]) -> Table:
    """Compare available devices with what claims request, in a row per driver and NUMA node."""
    right = ("NODE", "DEVICES", "MATCH", "FREE", "PER DEVICE", "LEFT")
    names = ("CLAIM", "REQUEST", "NODE", "DRIVER", *right[1:], "HELD BY")
    # Requests rarely match devices of two drivers on one node: then these tell the rows apart.
    rows = {(each["claim"], each["request"], each["numaNode"]) for each in devices}
    return Table(
        tuple(Column(name, "right" if name in right else "left") for name in names),
        tuple(
            (
                Cell(each["claim"]),
                Cell(each["request"]),
                Cell("-" if each["numaNode"] is None else str(each["numaNode"])),
                Cell(each["driver"]),
                Cell(str(each["devices"])),
                Cell("?" if each["matching"] is None else str(each["matching"])),
                Cell(str(each["free"])),
                Cell(", ".join(one["requested"] for one in each["capacities"]) or "-"),
                Cell(", ".join(f"{one['left']} of {one['total']}" for one in each["capacities"]) or "-"),
                Cell(few(each["heldBy"]) if each["heldBy"] else "-"),
            )
            for each in devices
        ),
        split=names.index("PER DEVICE"),
        keys=3 if len(rows) == len(devices) else 4,
    )


def shared_line(driver: ClaimAllocation | ClaimDriver) -> str:
    """Show where containers without a claim run."""
    held = f", reserved {driver['reserved']}" if driver["reserved"] else ""
    return f"CPUs of containers without a claim: {driver['shared'] or '-'}{held}"


def _table(rows: Iterable[tuple[Cell, ...]]) -> Table:
    columns = (Column(name, "right" if name == "COUNT" else "left") for name in _NAMES)
    return Table(tuple(columns), tuple(rows))


def _rows(pod: PodClaims, *, wide: bool) -> Iterator[tuple[Cell, ...]]:
    style = _STYLES.get(pod["outcome"], "")
    if not pod["claims"]:
        word = _WORDS.get(pod["outcome"], "no claims")
        yield (Cell(pod["pod"]), *(Cell("-"),) * 3, Cell(word, style), Cell("-"), Cell("-"))
    for claim in pod["claims"]:
        yield _row(pod["pod"], claim, style, wide=wide)


def _row(pod: str, claim: PodClaim, style: str, *, wide: bool) -> tuple[Cell, ...]:
    nodes = ",".join(map(str, claim["numaNodes"])) or "-"
    return (
        Cell(pod),
        Cell(claim["name"]),
        Cell(", ".join(claim["containers"]) or "-"),
        Cell(_devices(claim, wide=wide)),
        Cell(_cpus(claim), style),
        Cell(_count(claim)),
        Cell(nodes, "yellow" if claim["aligned"] is False else ""),
    )


def _cpus(claim: PodClaim) -> str:
    if "whyUnknown" in claim:
        return "unknown"
    return claim["cpus"] or "-"


def _count(claim: PodClaim) -> str:
    if not claim["cpus"]:
        return "-"
    ends = (part.partition("-") for part in claim["cpus"].split(","))
    return str(sum(int(last or first) - int(first) + 1 for first, _, last in ends))


def _devices(claim: PodClaim, *, wide: bool) -> str:
    named = [_device(each) for each in claim["devices"]]
    if wide or len(named) <= _FEW:
        return " ".join(named)
    return f"{' '.join(named[: _FEW - 1])} and {len(named) - _FEW + 1} more"


def _device(device: ClaimDevice) -> str:
    """Name a device with the quantity that is consumed: ``cpudevnuma000 (4)``."""
    consumed = device["consumed"]
    if set(consumed) == {"dra.cpu/cpu"}:
        return f"{device['device']}({consumed['dra.cpu/cpu']})"
    amounts = ",".join(f"{name}={amount}" for name, amount in consumed.items())
    return device["device"] + (f"({amounts})" if amounts else "")
