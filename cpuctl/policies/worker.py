"""A separate process for a policy: everything it does ends in an answer, or in an error that names it.

It is forked, so it may change its copy of the caller's memory: it returns only one JSON text per answer,
which is validated again. It has a time limit for each question, and a memory
limit; its output goes to standard error.
"""

from __future__ import annotations

import json
import os
import pickle
import select
import signal
import struct
import sys
import time
import warnings
import weakref
from typing import TYPE_CHECKING, NamedTuple

from cpuctl import option_names
from cpuctl.errors import PolicyError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from cpuctl.policies.answering import Answer, Question

BUDGET = 10.0
"""Seconds that a policy may take for one question by default."""
MEMORY = 1 << 30
"""Bytes of address space that a policy's process may have in addition to its initial size.

On Python 3.13.0 endless recursion takes all available memory: this limit ends it.
"""
_LONGEST = 64 << 20
"""The maximum bytes of an answer: 4096 sets of CPUs, and a score for every CPU, are less."""
_STEP_BYTES = 32
_HEAD = struct.Struct("!Q")

_MOMENT = 0.5
"""Seconds within which a process that has closed its pipe must exit."""


class _Process(NamedTuple):
    """A running worker: its parent, its process id, and the parent's ends of the two pipes."""

    owner: int
    pid: int
    questions: int
    answers: int


class Worker:
    """A policy in its own process, which is started with the first question, and again after an error.

    *load* is called there, and returns the function that answers questions.
    """

    def __init__(
        self,
        name: str,
        load: Callable[[], Callable[..., Answer]],
        budget: float = BUDGET,
        where: str = option_names.POLICY,
    ) -> None:
        """Store how to load the policy; *where* is the option or argument that names it."""
        import mmap

        self.name, self._where = name, where
        self.budget = budget
        self._load = load
        self._step = mmap.mmap(-1, _STEP_BYTES)
        self._process: _Process | None = None
        self._ended: weakref.finalize[[_Process], Worker] | None = None

    def ask(self, question: Question) -> Answer:
        """Ask a question and return the answer.

        Raise PolicyError for an exception, a timeout, and a process that ends, UsageError for an option that
        the policy does not accept.
        """
        process = self._running()
        deadline = time.monotonic() + self.budget
        try:
            _send(process.questions, pickle.dumps(question), deadline)
            answer = json.loads(_received(process.answers, deadline))
        except _LateError:
            self.stop()
            raise self._error(f"took longer than {self.budget:g} s") from None
        except (OSError, EOFError):
            _give_time(process)
            raise self._error(_ending(self.stop())) from None
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            self.stop()
            raise self._error("returned an invalid answer")
        if "error" in answer:
            self.stop()
            if answer.get("usage"):
                raise UsageError(str(answer["error"]), where=f"{self._where} {self.name}")
            raise PolicyError(f"policy {self.name}: {answer['error']}", where=str(answer.get("at", "")))
        return answer

    def stop(self) -> int | None:
        """End the process; return how it had already ended, None if it was still running."""
        process, self._process = self._process, None
        if self._ended is not None:
            self._ended.detach()
        if process is None or process.owner != os.getpid():
            return None
        return _end(process)

    def _error(self, what: str) -> PolicyError:
        return PolicyError(f"policy {self.name}: {self._current_step() or 'it'} {what}")

    def _running(self) -> _Process:
        if self._process is None or self._process.owner != os.getpid():
            self._note_step("")
            self._process = self._start()
            self._ended = weakref.finalize(self, _end, self._process)
        return self._process

    def _start(self) -> _Process:
        theirs, questions = os.pipe()
        answers, back = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        owner = os.getpid()
        with warnings.catch_warnings():
            # The child takes no locks of other threads; if it does, its time limit ends it.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid == 0:
            try:
                os.close(questions)
                os.close(answers)
                self._serve(theirs, back)
            finally:
                os._exit(1)
        os.close(theirs)
        os.close(back)
        return _Process(owner, pid, questions, answers)

    def _serve(self, questions: int, answers: int) -> None:
        """Answer until no more questions come; this is the child."""
        _make_safe(self.budget)
        own = os.getpid()
        self._note_step("loading it")
        failure: Answer | None = None
        serve: Callable[..., Answer] | None = None
        try:
            serve = self._load()
        except BaseException as error:  # noqa: BLE001  # everything that a policy raises is an answer
            failure = _failure(error, "loading it")
        _leave_to(own)
        while True:
            try:
                text = _received(questions, None)
            except EOFError:
                os._exit(0)
            signal.setitimer(signal.ITIMER_REAL, 2 * self.budget)
            answer = failure or self._answer(serve, text)
            _leave_to(own)
            _send(answers, json.dumps(answer).encode(), None)
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _answer(self, serve: Callable[..., Answer] | None, text: bytes) -> Answer:
        assert serve is not None
        try:
            return serve(pickle.loads(text), self._note_step)  # noqa: S301  # the question comes from cpuctl itself
        except BaseException as error:  # noqa: BLE001
            return _failure(error, self._current_step())

    def _current_step(self) -> str:
        return self._step[:].rstrip(b"\0").decode("ascii", "replace")

    def _note_step(self, step: str) -> None:
        self._step[:] = step.encode()[:_STEP_BYTES].ljust(_STEP_BYTES, b"\0")


def _leave_to(own: int) -> None:
    """End the processes that a policy has forked and let return: only one process answers."""
    if os.getpid() != own:
        os._exit(0)


def _make_safe(budget: float) -> None:
    """Leave the terminal's signals to the parent, limit memory, and exit if the parent has ended."""
    import resource

    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    for kind, most in ((resource.RLIMIT_AS, _size() + MEMORY), (resource.RLIMIT_CORE, 0)):
        _, hard = resource.getrlimit(kind)
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (least, least))
    signal.setitimer(signal.ITIMER_REAL, 2 * budget)


def _size() -> int:
    """Return the bytes of address space of this process; 0 if the kernel does not report it."""
    try:
        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123  # no codec: those of the library may be closed
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def _failure(error: BaseException, step: str) -> Answer:
    """Describe an exception of a policy, with its place unless it is a bad answer, which has no line."""
    from cpuctl.policies.answering import OptionError
    from cpuctl.policies.cycle import BadAnswerError

    if isinstance(error, OptionError):
        return {"error": str(error), "usage": True}
    if isinstance(error, BadAnswerError):
        return {"error": str(error)}
    try:
        text = f"{step} raised {type(error).__name__}: {error}"
    except BaseException:  # noqa: BLE001  # an exception whose text raises, too
        text = f"{step} raised {type(error).__name__}"
    return {"error": text, "at": _place(error)}


def _place(error: BaseException) -> str:
    import traceback
    from pathlib import Path

    ours = (f"{Path(__file__).parents[1]}{os.sep}", "<frozen ")
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if not frame.filename.startswith(ours)]
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    return f"{theirs[-1].filename}:{theirs[-1].lineno}" if theirs else ""


class _LateError(Exception):
    """The time limit has passed."""


def _send(file: int, data: bytes, deadline: float | None) -> None:
    left = memoryview(_HEAD.pack(len(data)) + data)
    if deadline is not None:
        os.set_blocking(file, False)
    while left:
        _wait(file, select.POLLOUT, deadline)
        try:
            left = left[os.write(file, left) :]
        except BlockingIOError:
            continue


def _received(file: int, deadline: float | None) -> bytes:
    (length,) = _HEAD.unpack(_read(file, _HEAD.size, deadline))
    if length > _LONGEST:
        raise ValueError("an answer is too long")
    return _read(file, length, deadline)


def _read(file: int, length: int, deadline: float | None) -> bytes:
    parts, left = [], length
    while left:
        _wait(file, select.POLLIN, deadline)
        part = os.read(file, min(left, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _wait(file: int, event: int, deadline: float | None) -> None:
    if deadline is None:
        return
    poll = select.poll()
    poll.register(file, event)
    left = deadline - time.monotonic()
    if left <= 0 or not poll.poll(left * 1000):
        raise _LateError


def _end(process: _Process) -> int | None:
    """Kill a process and its descendants, and close its pipes; return how it had ended."""
    if process.owner != os.getpid():
        return None
    os.close(process.questions)
    os.close(process.answers)
    try:
        pid, status = os.waitpid(process.pid, os.WNOHANG)
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            if not pid:  # it does not have its own group yet
                os.kill(process.pid, signal.SIGKILL)
        if pid:
            return status
        os.waitpid(process.pid, 0)
    except ChildProcessError:
        return None  # another handler waits for our children
    return None


def _give_time(process: _Process) -> None:
    """Wait a moment for a process that has closed its pipe, so that its exit status is known."""
    end = time.monotonic() + _MOMENT
    while time.monotonic() < end:
        try:
            if os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                return
        except ChildProcessError:
            return
        time.sleep(0.01)


def _ending(status: int | None) -> str:
    """Describe how a process ended."""
    if status is None:
        return "closed its connection"
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return f"was terminated by {signal.Signals(number).name}"
    return f"exited (exit status {os.WEXITSTATUS(status)})"
