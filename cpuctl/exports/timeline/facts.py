"""What a picture of a replay shows, taken from its answer: CPUs over time, and what happens when."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.exports.wording import counted, mark_of

if TYPE_CHECKING:
    from cpuctl.answers.replay import ChartRow, Entry, Replay


_SECOND = 1_000_000_000
_MINUTE, _HOUR = 60 * _SECOND, 3600 * _SECOND
_STEPS = (
    *(number * unit for unit in (1, 1000, 1_000_000) for number in (1, 2, 5, 10, 20, 50, 100, 200, 500)),
    *(number * unit for unit in (_SECOND, _MINUTE) for number in (1, 2, 5, 10, 15, 30)),
    *(number * _HOUR for number in (1, 2, 4, 6, 12, 24, 48, 96, 168)),
)
"""Round times, in nanoseconds."""


def tick_step(end: int, length: int, least_apart: int) -> int:
    """Choose a round time between ticks, *least_apart* on an axis of *length* that ends at *end*."""
    return next((step for step in _STEPS if step * length >= end * least_apart), _STEPS[-1])


def tick_text(time: int) -> str:
    """Write a round time in the unit that reads best: ``0.5s``, ``90s``, ``2m``."""
    for unit, name in ((_HOUR, "h"), (_MINUTE, "m")):
        if time and time % unit == 0:
            return f"{time // unit}{name}"
    return f"{time / _SECOND:g}s" if time else "0"


def drawn_until(replay: Replay) -> int:
    """Tell where a replay's chart ends: a little after the last thing that happens, as all is quiet then."""
    last = max((span["nanoseconds"][1] for row in replay["chart"] for span in row["spans"]), default=0)
    happens = replay["entries"][-1]["nanoseconds"] * 9 // 8 if replay["entries"] else 0
    return min(happens, last) or last


BAD = frozenset(
    {
        "Forbidden",
        "KubeletFailed",
        "Rejected",
        "ResizeInfeasible",
        "CpusetRefused",
        "ContainerWaits",
    }
)
"""The kinds of what happens that nobody wants."""


def short(name: str) -> str:
    """Leave out the namespace that everybody means."""
    return name.removeprefix("default/")


def owner_names(rows: Iterable[ChartRow]) -> list[str]:
    """Name the containers of a chart, in the order in which they come up in it."""
    return list(
        dict.fromkeys(span["container"] for row in rows for span in row["spans"] if span["container"])
    )


class Event(NamedTuple):
    """Something that happens, at a time in nanoseconds, which ``at`` is in words."""

    time: int
    at: str
    who: str
    text: str
    bad: bool


class TimelineFacts(NamedTuple):
    """A picture's content; ``marks`` are the letters of each container.

    ``end`` is where the drawing ends, in nanoseconds from the start.
    """

    title: str
    lines: tuple[str, ...]
    rows: Sequence[ChartRow]
    marks: Mapping[str, str]
    end: int
    events: tuple[Event, ...]
    failures: tuple[str, ...]


def replay_facts(replay: Replay) -> TimelineFacts:
    """Take a replay as ``cpuctl replay`` answers it."""
    first, *rest = (replay["description"] or "Replay").splitlines()
    names = owner_names(replay["chart"])
    return TimelineFacts(
        title=first,
        lines=(*rest, *_sums(replay)),
        rows=replay["chart"],
        marks={name: mark_of(place).upper() for place, name in enumerate(names)},
        end=drawn_until(replay),
        events=tuple(map(_event, replay["entries"])),
        failures=tuple(
            f"at {each['at']}, {each['where']}: {each['what']}: expected {each['expected']}, "
            f"found {each['found']}"
            for each in replay["expectations"]["failures"]
        ),
    )


def _sums(replay: Replay) -> Iterator[str]:
    what = [counted(replay["pods"], "pod"), f"until {replay['until']}"]
    checked, failures = replay["expectations"]["checked"], replay["expectations"]["failures"]
    if checked:
        came = f"{counted(len(failures), 'value')} not as expected" if failures else "all as expected"
        what.append(f"{counted(checked, 'moment')} checked: {came}")
    yield ", ".join(what)
    sources = replay["sources"]
    yield "; ".join(
        f"{name}: {sources[name]['value']}" for name in ("timeline", "machine") if name in sources
    )


def _event(entry: Entry) -> Event:
    who = " ".join(filter(None, (short(entry["pod"]), entry["container"])))
    return Event(entry["nanoseconds"], entry["at"], who, entry["text"], entry["what"] in BAD)
