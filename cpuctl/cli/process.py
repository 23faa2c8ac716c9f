"""Signals that end a process, held back while a node is changed; and notifications for a service manager."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from types import FrameType

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SHELL_OFFSET = 128


class StopSignal:
    """The signal that has arrived, or 0."""

    def __init__(self) -> None:
        self.number = 0

    def __bool__(self) -> bool:
        return self.number != 0

    @property
    def exit_code(self) -> int:
        """The exit code that shells report for a process that the signal ended."""
        return _SHELL_OFFSET + self.number


@contextmanager
def noted(stop: StopSignal | None = None, then: Callable[[], object] | None = None) -> Iterator[StopSignal]:
    """Only record signals that would end the process, and call *then* for each."""
    stop = StopSignal() if stop is None else stop

    def note(number: int, _frame: FrameType | None) -> None:
        stop.number = stop.number or number
        if then is not None:
            then()

    # Signals that are already ignored (nohup) stay ignored.
    handled = [each for each in _ENDING if signal.getsignal(each) is not signal.SIG_IGN]
    before = {each: signal.signal(each, note) for each in handled}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def held_back(
    stop: StopSignal | None = None, then: Callable[[], object] | None = None
) -> Iterator[StopSignal]:
    """Only record signals, and do not let a closed pipe end the process either."""
    with noted(stop, then) as ending:
        before = signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        try:
            yield ending
        finally:
            signal.signal(signal.SIGPIPE, before)


# What service managers expect of programs: log levels in their journal, and keep-alive messages.


def read_by_journal(descriptor: int) -> bool:
    """Return whether a stream is connected to systemd's journal (*systemd.exec(5)*)."""
    try:
        found = os.fstat(descriptor)
    except OSError:
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{found.st_dev}:{found.st_ino}"


def notify_manager(state: str) -> None:
    """Report the program's state to its service manager (*sd_notify(3)*), if it has requested this."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    if address.startswith("@"):  # the name of a socket without a file begins with NUL
        address = f"\0{address[1:]}"
    import socket  # of the commands that hold signals back, only two are services

    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as end:
        try:
            end.sendto(state.encode(), address)
        except OSError:
            return  # a manager that does not listen is not a reason to stop


def watchdog_seconds() -> float:
    """Return the seconds without a keep-alive message until the service manager ends this process.

    Infinity without a limit. *sd_watchdog_enabled(3)*: the manager may expect them from another process.
    """
    limit, process = os.environ.get("WATCHDOG_USEC", ""), os.environ.get("WATCHDOG_PID", "")
    if not (limit.isascii() and limit.isdigit() and int(limit)) or process not in ("", str(os.getpid())):
        return inf
    return int(limit) / 1e6
