"""Layout of a capture: its contents, and the missing parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Block, Cell, Column, Lines, Table, next_line

if TYPE_CHECKING:
    from cpuctl.answers.capture import Area, Capture, Counted, Manifest
    from cpuctl.answers.values import Unreadable

_REFUSED_SHOWN = 5
_WORDS = {
    "cgroups": ("cgroup", "cgroups"),
    "cpus": ("CPU", "CPUs"),
    "flags": ("flag", "flags"),
    "interrupts": ("interrupt", "interrupts"),
    "numaNodes": ("NUMA node", "NUMA nodes"),
    "processes": ("process", "processes"),
    "stateFiles": ("state file", "state files"),
    "threads": ("thread", "threads"),
}
"""For each count in a manifest: the singular and the plural."""


def blocks(document: Capture, *, wide: bool) -> Iterator[Block]:
    """Lay out a capture; wide lists everything that could not be read."""
    manifest = document["manifest"]
    yield Lines.of(*_heading(document["file"], manifest))
    yield _areas(manifest["areas"])
    notes = [note for area in manifest["areas"] for note in area["notes"]]
    if notes:
        yield Lines(tuple(Cell(f"- {note}") for note in notes))
    if manifest["unreadable"]:
        yield _unreadable(manifest["unreadable"], limit=None if wide else _REFUSED_SHOWN)
    if command := document.get("next"):
        yield next_line("to see it", command)


def _heading(file: str, manifest: Manifest) -> Iterator[str]:
    how = ", anonymized" if manifest["anonymized"] else ""
    when = f", at {manifest['recordedAt']}" if "recordedAt" in manifest else ""
    yield f"Recorded in {file}: {manifest['members']} entries{how}{when}"
    kubelet = manifest["kubelet"]
    if kubelet["version"]:
        yield f"Kubelet {kubelet['version']}, configuration {kubelet['config']['state']}"


def _areas(areas: Sequence[Area]) -> Table:
    rows = tuple(
        (Cell(area["name"]), Cell(str(area["entries"])), Cell(_counts(area["counts"]))) for area in areas
    )
    return Table((Column("AREA"), Column("ENTRIES", "right"), Column("WHAT")), rows)


def _counts(counts: Mapping[Counted, int]) -> str:
    return ", ".join(f"{count} {_WORDS[name][count != 1]}" for name, count in counts.items())


def _unreadable(refused: Sequence[Unreadable], *, limit: int | None) -> Lines:
    """List what could not be read, by reason."""
    lines = [Cell("Could not be read:")]
    by_reason = sorted(refused, key=lambda each: each["reason"])
    for reason, group in groupby(by_reason, key=lambda each: each["reason"]):
        paths = [each["path"] for each in group]
        lines += [Cell(f"- {path}: {reason}", "yellow") for path in paths[:limit]]
        if len(paths[:limit]) < len(paths):
            lines.append(Cell(f"- {len(paths[limit:])} more: {reason} (-o wide lists them)", "yellow"))
    return Lines(tuple(lines))
