"""Playing a replay live: entries come when it is their time, faster or slower than in truth."""

from __future__ import annotations

import json
import re
import sys
import time
from itertools import chain
from typing import TYPE_CHECKING, TextIO

from cpuctl.cli.output import ListOutput, Style, takes_every_character
from cpuctl.cli.progress import ProgressBar
from cpuctl.errors import UsageError
from cpuctl.visible_text import printable

if TYPE_CHECKING:
    from cpuctl.timeline.model import Timeline
    from cpuctl.timeline.simulation import Simulation
    from cpuctl.timeline.world.entries import Entry

_SPEED = re.compile(r"(?P<number>[0-9]{1,9}(?:\.[0-9]{1,9})?)x?", re.ASCII)
_NAP = 0.1
"""Seconds between two looks at the clock."""
_STREAMS = (ListOutput.TABLE, ListOutput.WIDE, ListOutput.JSONL)


def read_pace(text: str, style: Style, *, follow: bool) -> float | None:
    """Read ``--speed``: nanoseconds of the timeline that go by in one second; None without ``--follow``.

    Raise UsageError for what is no speed, a speed without ``--follow``, and a form of output that cannot
    follow.
    """
    if not follow:
        if text:
            raise UsageError("is of use with --follow only", where="--speed")
        return None
    if style.output not in _STREAMS:
        hint = "use -o table, -o wide or -o jsonl"
        raise UsageError(
            f"cannot be used with -o {style.output}, which is one answer", where="--follow", hint=hint
        )
    found = _SPEED.fullmatch(text or "1x")
    if found is None or not float(found["number"]):
        raise UsageError(f"expected a factor such as 10x or 0.5x, found {text!r}", where="--speed")
    return float(found["number"]) * 1e9


class Clock:
    """Tells when a time of the timeline has come; ``pace`` is its nanoseconds in one second."""

    def __init__(self, pace: float) -> None:
        self.pace = pace
        self.began = time.monotonic()

    def wait_for(self, moment: int, progress: ProgressBar, total: int) -> None:
        """Sleep until it is time for a *moment*, in nanoseconds of the timeline, as *total* is."""
        while (left := self.began + moment / self.pace - time.monotonic()) > 0:
            progress("replaying", min(int((time.monotonic() - self.began) * self.pace), total), total)
            time.sleep(min(left, _NAP))


def follow(timeline: Timeline, pace: float, style: Style) -> Simulation:
    """Play a timeline live, and return what it came to."""
    from cpuctl.timeline.simulation import Simulation

    # The bar takes over sys.stdout for as long as it is there, to print above it: not for a pipe.
    pipe = None if sys.stdout.isatty() else sys.stdout
    simulation, told = Simulation(timeline), 0
    with ProgressBar(style, patience=0) as progress:
        clock = Clock(pace)
        for _ in chain((0,), simulation.play(timeline.moments, timeline.until)):
            for entry in simulation.world.entries[told:]:
                clock.wait_for(entry.at, progress, timeline.until)
                _tell(entry, style, pipe or sys.stdout)
                told += 1
        clock.wait_for(timeline.until, progress, timeline.until)
    if style.for_people:
        sys.stdout.write("\n")
    return simulation


def _tell(entry: Entry, style: Style, out: TextIO) -> None:
    from cpuctl.answering.replay_answer import entry_answer

    answer = entry_answer(entry)
    if style.output is ListOutput.JSONL:
        line = json.dumps(answer, ensure_ascii=not takes_every_character())
    else:
        whose = "/".join(filter(None, (entry.pod.removeprefix("default/"), entry.container)))
        line = printable(f"{answer['at']:>12}  {whose or '-'}: {entry.text}")
    out.write(f"{line}\n")
    out.flush()
