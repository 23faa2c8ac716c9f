"""Running tests in a forked child: a mutant is a fork, and the first failing test ends it.

Limits are on CPU time, so that a busy machine changes no outcome, with a generous one on wall time for
tests that wait forever.
"""

from __future__ import annotations

import mmap
import os
import resource
import signal
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import NoReturn

import pytest

_SURVIVED, _KILLED = 40, 41
_MOST_MEMORY = 4 << 30
_WALL = 6
"""So many times the processor time a test may take on the clock."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended: ``killed``, ``survived`` or ``timeout``; *by*: in which test."""

    outcome: str
    by: int | None


class Judge:
    """A pytest plugin in the child: ends it at the first failure."""

    def __init__(self, limits: dict[str, float], *, least: float = 2.0) -> None:
        self.limits = limits
        self.least = least
        self.page = mmap.mmap(-1, 8)
        self.begun(-1)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[object]) -> None:
        """End the child if a test or its setup fails."""
        if call.excinfo is not None and not call.excinfo.errisinstance(pytest.skip.Exception):
            os._exit(_KILLED)

    def begun(self, number: int) -> None:
        """Report the next test to the parent."""
        self.page[:8] = struct.pack("q", number)

    def last_begun(self) -> int | None:
        """In the parent, return the number of the last test begun."""
        (number,) = struct.unpack("q", self.page[:8])
        return None if number < 0 else int(number)

    def run(self, items: Sequence[tuple[int, pytest.Item]]) -> None:
        """Run tests until one fails, in which case this does not return."""
        if items:
            items[0][1].config.pluginmanager.register(self)
        for place, (number, item) in enumerate(items):
            self.begun(number)
            allow(max(self.least, 10 * self.limits.get(item.nodeid, 1.0)))
            following = items[place + 1][1] if place + 1 < len(items) else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)


def allow(seconds: float) -> None:
    """Limit this process to this many CPU seconds from now on."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, _WALL * seconds)


def hand_down(module: str, path: Path, source: bytes) -> None:
    """Make child processes import a module from *source*."""
    with NamedTemporaryFile(delete=False) as file:  # outlives this process, which ends without cleanup
        file.write(source)
    os.environ["CPUCTL_MUTANT"] = f"{module}|{path}|{file.name}"
    os.environ["PYTHONPATH"] = str(Path(__file__).with_name("other_process"))


def forked(work: Callable[[], None], judge: Judge) -> Ended:
    """Do *work* in a child without output, and return how it ended."""
    judge.begun(-1)
    child = os.fork()
    if child == 0:
        _silent_child(work)
    _, status = os.waitpid(child, 0)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # processes that a test has started and not ended
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGPROF, signal.SIGALRM):
        return Ended("timeout", judge.last_begun())
    survived = os.WIFEXITED(status) and os.WEXITSTATUS(status) == _SURVIVED
    return Ended("survived" if survived else "killed", None if survived else judge.last_begun())


def _silent_child(work: Callable[[], None]) -> NoReturn:
    code = _KILLED
    try:
        os.setpgid(0, 0)
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        work()
        code = _SURVIVED
    finally:
        os._exit(code)
