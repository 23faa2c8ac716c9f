"""Layout of a comparison of pods: a table of changes for each, with equal replicas once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table
from cpuctl.exports.answer_text import TWO_WEIGHTS, full_name
from cpuctl.phrases import counted

if TYPE_CHECKING:
    from cpuctl.answers.pods import ComparedPod, ComparedSide, Difference, PodsDiff

_STYLE = {"added": "green", "removed": "red"}
_WORDS = {"same": "unchanged"}
_NOT_THERE = "-"
_ONLY_WIDE = "readers"


def blocks(document: PodsDiff, *, wide: bool) -> Iterator[Block]:
    """Lay out differences; *wide* adds values that autoscalers and the downward API read."""
    yield Lines.of(_side("before", document["before"]), _side("after", document["after"]))
    for pods in _equivalent(document["pods"]):
        if pods[0]["status"] != "same":
            yield from _pod(pods, wide=wide)
    summary = document["summary"]
    counts = [f"{count} {_WORDS.get(status, status)}" for status, count in summary.items() if count]
    lines = [Cell(f"{counted(len(document['pods']), 'pod')}: {', '.join(counts)}")]
    if any(_has_two_weights(change) for pod in document["pods"] for change in pod["changes"]):
        lines.append(Cell(TWO_WEIGHTS))
    yield Lines(tuple(lines))


def _has_two_weights(change: Difference) -> bool:
    texts = (change["before"], change["after"])
    return change["item"].endswith("cpu.weight") and any(" or " in text for text in texts if text)


def _side(word: str, side: ComparedSide) -> str:
    gates = ",".join(f"{name}={str(on).lower()}" for name, on in side["featureGates"].items())
    releases = f"kubelet {side['kubelet']['version']}, API server {side['apiServer']['version']}"
    return f"{word + ':':<8}{side['pods']}, {releases}" + (f", {gates}" if gates else "")


def _equivalent(pods: Sequence[ComparedPod]) -> list[list[ComparedPod]]:
    groups: dict[tuple[str, str, str], list[ComparedPod]] = {}
    for pod in pods:
        key = (pod["namespace"], pod["status"], json.dumps(pod["changes"]))
        groups.setdefault(key, []).append(pod)
    return list(groups.values())


def _pod(pods: Sequence[ComparedPod], *, wide: bool) -> Iterator[Block]:
    pod = pods[0]
    more = f" and {len(pods) - 1} more" if len(pods) > 1 else ""
    name = f"{full_name(pod)}{more}"
    yield Lines((Cell(f"{name}: {pod['status']}", _STYLE.get(pod["status"], "bold")),))
    if rows := tuple(_rows(pod["changes"], wide=wide)):
        yield Table(tuple(Column(name) for name in ("WHAT", "ITEM", "BEFORE", "AFTER")), rows)
    elif pod["changes"]:
        yield Lines.of("only in what autoscalers and the downward API read (-o wide)")


def _rows(changes: Sequence[Difference], *, wide: bool) -> Iterator[tuple[Cell, ...]]:
    shown = ""
    for change in changes:
        if wide or change["area"] != _ONLY_WIDE:
            area = "" if change["area"] == shown else change["area"]
            shown = change["area"]
            yield Cell(area), Cell(change["item"]), _cell(change["before"]), _cell(change["after"])


def _cell(text: str | None) -> Cell:
    return Cell(_NOT_THERE if text is None else text, "dim" if text is None else "")
