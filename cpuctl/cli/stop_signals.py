"""Signals that end a process, held back while a node is being changed: what was begun is undone first."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SHELL_OFFSET = 128


class StopSignal:
    """The signal that has come, 0 as long as none has."""

    def __init__(self) -> None:
        self.number = 0

    def __bool__(self) -> bool:
        return self.number != 0

    @property
    def exit_code(self) -> int:
        """What shells say of a process that the signal has ended."""
        return _SHELL_OFFSET + self.number


@contextmanager
def noted(stop: StopSignal | None = None, then: Callable[[], object] | None = None) -> Iterator[StopSignal]:
    """Only note signals that would end the process, and do what is to be *then*."""
    stop = StopSignal() if stop is None else stop

    def note(number: int, _frame: FrameType | None) -> None:
        stop.number = stop.number or number
        if then is not None:
            then()

    # What is ignored already (nohup) stays so.
    heeded = [each for each in _ENDING if signal.getsignal(each) is not signal.SIG_IGN]
    before = {each: signal.signal(each, note) for each in heeded}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def held_back(
    stop: StopSignal | None = None, then: Callable[[], object] | None = None
) -> Iterator[StopSignal]:
    """Only note them, and let a reader that goes away not end the process either."""
    with noted(stop, then) as ending:
        before = signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        try:
            yield ending
        finally:
            signal.signal(signal.SIGPIPE, before)
