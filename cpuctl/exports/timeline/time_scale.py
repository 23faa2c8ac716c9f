"""Round times for the axis of a chart, and how much of a history is worth drawing; all in nanoseconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cpuctl.answers.replay import Replay

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
