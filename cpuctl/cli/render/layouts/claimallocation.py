"""Claims of pods: their devices, and the CPUs that their containers get."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table

if TYPE_CHECKING:
    from cpuctl.answers.dra import ClaimAllocation, ClaimDevice, PodClaim, PodClaims

_NAMES = ("POD", "CLAIM", "CONTAINER", "DEVICES", "CPUS", "COUNT", "NODE")
_FEW = 4
_WORDS = {"Unsatisfied": "not satisfied", "NotPrepared": "does not start", "Undetermined": "undetermined"}
_STYLES = {"Unsatisfied": "red", "NotPrepared": "red", "Undetermined": "yellow"}


def blocks(document: ClaimAllocation, *, wide: bool) -> Iterator[Block]:
    """Lay out a row a claim, then why pods do not get theirs."""
    rows = [row for pod in document["pods"] for row in _rows(pod, wide=wide)]
    if rows:
        right = ("COUNT",)
        yield Table(tuple(Column(name, "right" if name in right else "left") for name in _NAMES), tuple(rows))
    if whys := [
        Cell(f"{pod['pod']}: {_WORDS[pod['outcome']]}: {pod['reason']}", _STYLES[pod["outcome"]])
        for pod in document["pods"]
        if pod["reason"] and pod["outcome"] in _WORDS
    ]:
        yield Lines(tuple(whys))
    if document["warnings"]:
        yield Lines.of(*(f"warning: {each}" for each in document["warnings"]))
    held = f", reserved {document['reserved']}" if document["reserved"] else ""
    yield Lines.of(f"CPUs of containers without a claim: {document['shared'] or '-'}{held}")


def _rows(pod: PodClaims, *, wide: bool) -> Iterator[tuple[Cell, ...]]:
    style = _STYLES.get(pod["outcome"], "")
    if not pod["claims"]:
        word = _WORDS.get(pod["outcome"], "no claims")
        yield (Cell(pod["pod"]), *(Cell("-"),) * 3, Cell(word, style), Cell("-"), Cell("-"))
    for claim in pod["claims"]:
        yield (
            Cell(pod["pod"]),
            Cell(claim["name"]),
            Cell(", ".join(claim["containers"]) or "-"),
            Cell(_devices(claim, wide=wide)),
            Cell("-" if claim["cpus"] is None else claim["cpus"] or "-", style),
            Cell(_count(claim)),
            Cell(",".join(map(str, claim["numaNodes"])) or "-"),
        )


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
    """Name a device with what is consumed of it: ``cpudevnuma000 (4)``."""
    consumed = device["consumed"]
    if set(consumed) == {"dra.cpu/cpu"}:
        return f"{device['device']}({consumed['dra.cpu/cpu']})"
    amounts = ",".join(f"{name}={amount}" for name, amount in consumed.items())
    return device["device"] + (f"({amounts})" if amounts else "")
