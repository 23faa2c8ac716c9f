"""The history of every CPU in spans of time, CPUs with the same history together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from cpuctl.cpuset import CPUSet
from cpuctl.timeline.report.ownership import NOBODY, Holding, Owners, Sample

_NOTHING = Holding(0)


class Use(StrEnum):
    """What a CPU is to a container, or to all.

    ``leaving``: it is to go, or gone, and the container's cgroup has it still; ``contested``: it is another
    container's own by then.
    """

    OWNED = "owned"
    LEAVING = "leaving"
    CONTESTED = "contested"
    SHARED = "shared"
    NONE = "none"


class Status(NamedTuple):
    """What a CPU is at a moment; ``container`` is empty where it is nobody's own."""

    use: Use
    container: str = ""


class Span(NamedTuple):
    """A time in which a CPU's status stays, from ``start`` to before ``end`` in nanoseconds."""

    start: int
    end: int
    status: Status


class ChartRow(NamedTuple):
    """CPUs (a mask) with their history."""

    cpus: int
    spans: tuple[Span, ...]


def chart(samples: Sequence[Sample], cpus: int, until: int) -> list[ChartRow]:
    """Draw up the history of *cpus* (a mask) to *until*, a nanosecond; rows by their lowest CPU."""
    histories: dict[int, list[tuple[int, Status]]] = {}
    before = NOBODY
    for sample in samples:
        changed = cpus if before is NOBODY else _changed(before, sample.owners)
        for cpu in CPUSet(changed & cpus):
            status, history = _status(sample.owners, 1 << cpu), histories.setdefault(cpu, [])
            if not history or history[-1][1] != status:
                history.append((sample.at, status))
        before = sample.owners
    rows: dict[tuple[Span, ...], int] = {}
    for cpu, history in sorted(histories.items()):
        spans = tuple(_spans(history, until))
        rows[spans] = rows.get(spans, 0) | 1 << cpu
    return [ChartRow(mask, spans) for spans, mask in rows.items()]


def _changed(before: Owners, after: Owners) -> int:
    """Return the CPUs (a mask) whose status may have changed."""
    changed = before.shared ^ after.shared
    for name in before.containers.keys() | after.containers.keys():
        old, new = before.containers.get(name, _NOTHING), after.containers.get(name, _NOTHING)
        changed |= (old.stays ^ new.stays) | (old.goes ^ new.goes)
    return changed


def _status(owners: Owners, cpu: int) -> Status:
    """Tell what one CPU (a mask) is; of containers that follow each other in a pod, the last one counts."""
    owner = leaver = ""
    for name, holding in owners.containers.items():
        owner = name if holding.stays & cpu else owner
        leaver = name if holding.goes & cpu else leaver
    if owner and leaver and _pod(owner) != _pod(leaver):
        return Status(Use.CONTESTED, owner)
    if owner:
        return Status(Use.OWNED, owner)
    if leaver:
        return Status(Use.LEAVING, leaver)
    return Status(Use.SHARED if owners.shared & cpu else Use.NONE)


def _pod(name: str) -> list[str]:
    """Return namespace and pod of a container, or of a pod that holds CPUs as a whole."""
    return name.split("/")[:2]


def _spans(history: Sequence[tuple[int, Status]], until: int) -> Iterator[Span]:
    ends = [at for at, _ in history[1:]] + [until]
    for (start, status), end in zip(history, ends, strict=True):
        if start < end:
            yield Span(start, end, status)
