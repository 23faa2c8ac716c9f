"""Layout of writes to control groups: a diff in the order of writing, and the outcome."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from cpuctl.cli.render.blocks import Block, Cell, Lines, next_cell
from cpuctl.phrases import counted

if TYPE_CHECKING:
    from cpuctl.answers import cgroups as answers

_NOT_NEEDED = 20
"""Omitted containers are listed up to this number; the others are counted."""
_OUTCOMES: Mapping[answers.ApplyOutcome, tuple[str, str]] = {
    "Clean": ("Nothing to do: all values are as requested.", "green"),
    "Planned": ("Nothing was written; use --yes to write.", ""),
    "Rejected": ("Nothing was written.", "red"),
    "Applied": ("Written and in effect.", "green"),
    "Undone": ("Failed; all changes were undone.", "red"),
    "NotRestored": ("Failed; not everything could be undone:", "red"),
}

_STEPS: Mapping[str, str] = {
    "wait": "wait",
    "give up": "shrink",
    "make room": "grow",
    "take over": "assign CPUs",
    "lift the quota": "raise or remove the quota",
    "limit": "set the quota",
}
"""What a write does, for people: the answers' own words are part of the format."""


def blocks(document: answers.CgroupsApply, *, wide: bool) -> Iterator[Block]:
    """Lay out objections, the diff and the outcome; *wide* adds every step."""
    if document["writes"]:
        yield Lines(tuple(_diff(document["writes"])))
    if document["skipped"]:
        yield Lines.of(*_left_out(document["skipped"]))
    if document["objections"]:
        yield Lines(tuple(_objections(document["objections"])))
    if wide and document["result"]:
        yield Lines.of(*(_step(step) for step in document["result"]["steps"]))
    yield Lines(tuple(_end(document)))


def _diff(writes: Sequence[answers.Write]) -> Iterator[Cell]:
    for number, write in enumerate(writes, 1):
        yield Cell(f"{number}. {write['subject']}: {_STEPS[write['why']]}", "bold")
        yield Cell(f"   {write['file']}", "dim")
        none = f"(none: {write['inherits']} from the parent group)" if write["inherits"] else "(none)"
        yield Cell(f" - {write['before'] or none}", "red")
        yield Cell(f" + {write['after']}", "green")


def _left_out(items: Sequence[answers.SkippedContainer]) -> Iterator[str]:
    for item in items[:_NOT_NEEDED]:
        yield f"skipped: {item['subject']}: {item['why']}"
    if len(items) > _NOT_NEEDED:
        yield f"skipped: {len(items) - _NOT_NEEDED} more"


def _objections(items: Sequence[answers.Objection]) -> Iterator[Cell]:
    for item in items:
        force = f" ({item['force']} writes it anyway)" if item["force"] else ""
        yield Cell(f"rejected: {item['subject']}: {item['message']}{force}", "red")


def _step(step: answers.Step) -> str:
    problem = f": {step['problem']}" if step["problem"] else ""
    return f"{step['step']:<12} {step['group']}/{step['file']}{problem}"


def _uncompared(document: answers.CgroupsApply) -> str:
    """Say why no value was compared."""
    if document["skipped"]:
        return "Nothing to do: all containers were skipped."
    if document["request"] == "CgroupsPlan":
        return "Nothing to do: the plan is empty."
    kind = "state" if document["request"] == "State" else "plan"
    return f"Nothing to do: no container that gets CPUs from the {kind} is running here."


def _end(document: answers.CgroupsApply) -> Iterator[Cell]:
    summary, result = document["summary"], document["result"]
    if document["writes"]:
        yield Cell(
            f"{counted(summary['writes'], 'write')} to {counted(summary['groups'], 'cgroup')} for "
            f"{counted(summary['containers'], 'container')} (cgroup v{document['cgroupVersion']})"
        )
    if result and result["failure"]:
        yield Cell(f"failed: {result['failure']}", "red")
    text, style = _OUTCOMES[document["outcome"]]
    uncompared = document["outcome"] == "Clean" and not summary["containers"]
    yield Cell(_uncompared(document), "yellow") if uncompared else Cell(text, style)
    if result:
        for item in result["notRestored"]:
            yield Cell(f"  {item['group']}/{item['file']}: {item['problem']}", "red")
        for item in result["gone"]:
            yield Cell(f"  {item['group']}: removed meanwhile: its container has ended", "yellow")
        if result["watchedSeconds"] and not result["failure"]:
            yield Cell(f"Not rewritten within {result['watchedSeconds']:g} s.")
    if command := document.get("next"):
        yield next_cell("to make a new plan", command)
