"""A progress bar on stderr."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from cpuctl.cli.output import Style

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE = 1.0
"""Seconds of work before a bar appears."""


class ProgressBar:
    """Shows the progress of long work on stderr if that is a terminal; it disappears at the end.

    Call it often, with the current step, the completed amount and the total (both 0: unknown). It shows the
    rate per second and the remaining time at this rate; if not *counted*, only the percentage.
    """

    def __init__(self, style: Style, *, patience: float = PATIENCE, counted: bool = True) -> None:
        self._counted = counted
        self._wanted = sys.stderr.isatty() and not style.quiet
        self._begun = time.monotonic()
        self._starts = self._begun + patience
        self._what, self._done_before = "", 0
        self._color = style.color
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, what: str, done: int, total: int) -> None:
        """Advance the bar, if it is already visible."""
        if not self._wanted or (self._bar is None and time.monotonic() < self._starts):
            return
        if self._bar is None:
            self._bar = self._started()
        if self._task is None or what != self._what:
            self._begin(self._bar, what, done)
        assert self._task is not None
        seconds = time.monotonic() - self._begun
        rate = (done - self._done_before) / seconds if seconds > 0 else 0
        counts = counts_text(done, total, rate) if self._counted else share_text(done, total)
        self._bar.update(self._task, completed=done, total=total or None, counts=counts)

    def _begin(self, bar: Progress, what: str, done: int) -> None:
        """Restart counting: the next step has its own rate."""
        if self._task is not None:
            bar.remove_task(self._task)
            self._begun, self._done_before = time.monotonic(), done
        self._what = what
        self._task = bar.add_task(what, counts="")

    def _started(self) -> Progress:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        console = Console(stderr=True, no_color=not self._color or None)
        counts = TextColumn("{task.fields[counts]}")
        bar = Progress(TextColumn("{task.description}"), BarColumn(), counts, console=console, transient=True)
        bar.start()
        return bar


def share_text(done: int, total: int) -> str:
    """Write the progress in percent."""
    return f"{100 * done // total}%" if total else ""


def counts_text(done: int, total: int, rate: float) -> str:
    """Write the completed and total counts, the rate per second, and the remaining time."""
    if not total:
        return f"{done:,}" if done else ""
    text = f"{done:,} of {total:,}"
    if rate <= 0:
        return text
    left = round((total - done) / rate)
    hours, minutes = divmod(left // 60, 60)
    clock = f"{hours}:{minutes:02}:{left % 60:02}" if hours else f"{minutes}:{left % 60:02}"
    return f"{text}, {rate:,.0f}/s, {clock} left" if rate >= 10 else f"{text}, {rate:.1f}/s, {clock} left"
