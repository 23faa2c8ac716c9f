"""A bar for people who wait."""

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
    """Shows on stderr how far long work is, where that is a terminal; it disappears at the end.

    Call it often, with what is being done and how much of how much is done (0 of 0: not known).
    """

    def __init__(self, style: Style, *, patience: float = PATIENCE) -> None:
        self._wanted = sys.stderr.isatty() and not style.quiet
        self._starts = time.monotonic() + patience
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
        """Move the bar, once there is one."""
        if not self._wanted or (self._bar is None and time.monotonic() < self._starts):
            return
        if self._bar is None:
            self._bar = self._started()
        if self._task is None:
            self._task = self._bar.add_task(what)
        self._bar.update(self._task, description=what, completed=done, total=total or None)

    def _started(self) -> Progress:
        from rich.console import Console
        from rich.progress import Progress

        console = Console(stderr=True, no_color=not self._color or None)
        bar = Progress(console=console, transient=True)
        bar.start()
        return bar
