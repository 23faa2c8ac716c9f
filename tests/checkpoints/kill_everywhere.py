"""Kill a process at every system call it makes, with a real SIGKILL under ptrace.

The child stops itself before the work and signals itself after it; in between, every entry into and every
return from a system call is a place to die, or to be held while another process acts. One child is
forked for each. Calls that only manage memory are not such places: they change no file, and their number
depends on the parent's heap at the fork, so the places would differ from child to child.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count

_TRACEME, _CONT, _SETOPTIONS, _SYSCALL, _GET_SYSCALL_INFO = 0, 7, 0x4200, 24, 0x420E
_TRACESYSGOOD, _EXITKILL = 1, 0x100000
_SYSCALL_STOP = signal.SIGTRAP | 0x80
_ENTRY = 1
_MEMORY = {
    "x86_64": frozenset({9, 10, 11, 12, 25, 28}),
    "aarch64": frozenset({214, 215, 216, 222, 226, 233}),
}.get(platform.machine(), frozenset())
"""mmap, mprotect, munmap, brk, mremap, madvise."""
_START, _END = signal.SIGSTOP, signal.SIGUSR1

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.restype = ctypes.c_long
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


class _SyscallInfo(ctypes.Structure):
    _fields_ = (
        ("op", ctypes.c_uint8),
        ("arch", ctypes.c_uint32),
        ("ip", ctypes.c_uint64),
        ("sp", ctypes.c_uint64),
        ("number", ctypes.c_uint64),
        ("arguments", ctypes.c_uint64 * 6),
    )


class PtraceRefusedError(Exception):
    """This system does not let a process trace its own child."""


@dataclass(frozen=True, slots=True)
class Run:
    """One child: the stop at which it was disturbed (None: none), and the system calls it entered."""

    stop: int | None
    calls: tuple[int, ...]


def kill_everywhere(prepare: Callable[[], None], work: Callable[[], None], *, step: int = 1) -> Iterator[Run]:
    """Run *work* in a child again and again, killed *step* stops later each time, until one is done first."""
    yield from _everywhere(prepare, work, _kill, step)


def interfere_everywhere(
    prepare: Callable[[], None], work: Callable[[], None], act: Callable[[], None]
) -> Iterator[Run]:
    """Run *work* in a child again and again, held one stop later each time while *act* is done here."""

    def disturb(child: int) -> None:
        act()
        _ptrace(_CONT, child)
        _, status = os.waitpid(child, 0)
        _end(child, stopped=os.WIFSTOPPED(status))

    yield from _everywhere(prepare, work, disturb)


def _everywhere(
    prepare: Callable[[], None], work: Callable[[], None], disturb: Callable[[int], None], step: int = 1
) -> Iterator[Run]:
    for stop in count(step=step):
        prepare()
        run = _traced(work, stop, disturb)
        yield run
        if run.stop is None:
            return


def _traced(work: Callable[[], None], last: int, disturb: Callable[[int], None]) -> Run:
    child = os.fork()
    if child == 0:
        _child(work)
    calls: list[int] = []
    _, status = os.waitpid(child, 0)
    if not os.WIFSTOPPED(status):
        raise PtraceRefusedError
    _ptrace(_SETOPTIONS, child, _TRACESYSGOOD | _EXITKILL)
    stops, entered = -1, 0
    while stops < last:
        _ptrace(_SYSCALL, child)
        _, status = os.waitpid(child, 0)
        if not os.WIFSTOPPED(status) or os.WSTOPSIG(status) == _END:
            _end(child, stopped=os.WIFSTOPPED(status))
            return Run(None, tuple(calls))
        assert os.WSTOPSIG(status) == _SYSCALL_STOP, f"stopped by signal {os.WSTOPSIG(status)} after {stops}"
        info = _SyscallInfo()
        _ptrace(_GET_SYSCALL_INFO, child, ctypes.sizeof(info), ctypes.addressof(info))
        if info.op == _ENTRY:
            entered = info.number
            calls.append(entered)
        stops += entered not in _MEMORY
    disturb(child)
    return Run(last, tuple(calls))


def _kill(child: int) -> None:
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == signal.SIGKILL


def _child(work: Callable[[], None]) -> None:
    """Never returns."""
    try:
        _ptrace(_TRACEME, 0)
        os.kill(os.getpid(), _START)
        work()
        os.kill(os.getpid(), _END)
    finally:
        os._exit(1)


def _end(child: int, *, stopped: bool) -> None:
    """Finish a child that has done its work."""
    assert stopped, "the work failed before its end"
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def _ptrace(request: int, child: int, data: int = 0, address: int = 0) -> None:
    """Call ptrace; GET_SYSCALL_INFO takes the size first and the destination second."""
    first, second = (data, address) if address else (0, data)
    if _libc.ptrace(request, child, first, second) < 0:
        raise OSError(ctypes.get_errno(), "ptrace")
