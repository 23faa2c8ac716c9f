"""Running threads: how long those of a container wait, and what else runs on its CPUs.

Files: *proc_pid_stat(5)*, *Documentation/scheduler/sched-stats.rst* for ``schedstat``, and ``sched``, which
has the migrations. Examining every thread of a node each second would cost more than the node can spare:
each time, a share of them is examined, starting with new ones and those seen where they do not belong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from cpuctl.capture.node.processes import deciding_cgroup
from cpuctl.live.counters import TICKS, CounterFiles

MOST_THREADS = 256
"""The most threads of a container that are examined each second; those of larger ones less often."""

_MIGRATIONS = re.compile(rb"nr_migrations\s*:\s*([0-9]+)")
_KERNEL_THREAD = 0x0020_0000
"""The process flag PF_KTHREAD (*include/linux/sched.h*)."""


class ThreadCounts(NamedTuple):
    """One thread's nanoseconds of waiting for a CPU, and number of migrations; None if unknown."""

    delay: int | None
    migrations: int | None


def read_thread(files: CounterFiles, tid: int) -> ThreadCounts | None:
    """Read one thread; return None if it has ended."""
    schedstat, sched = files.read(f"proc/{tid}/schedstat"), files.read(f"proc/{tid}/sched")
    if schedstat is None and sched is None:
        return None
    fields = (schedstat or b"").split()
    found = _MIGRATIONS.search(sched or b"")
    return ThreadCounts(
        delay=int(fields[1]) if len(fields) > 2 and fields[1].isdigit() else None,
        migrations=int(found[1]) if found else None,
    )


def group_threads(files: CounterFiles, directories: Iterable[str], version: int) -> list[int] | None:
    """List the threads of some control groups; return None if none of the groups can be read."""
    name, found_any = "cgroup.threads" if version == 2 else "tasks", False
    tids: list[int] = []
    for directory in directories:
        text = files.read(f"{directory}/{name}")
        if text is not None:
            found_any = True
            # 0 is a thread of another PID namespace, which cannot be examined.
            tids.extend(int(word) for word in text.split() if word.isdigit() and word != b"0")
    return tids if found_any else None


class ForeignThread(NamedTuple):
    """A thread that was seen on a CPU that is exclusive to another container.

    ``ran`` is the CPU time in seconds that it has used, on any CPU, in the last ``seconds``.
    """

    tid: int
    pid: int
    comm: str
    group: str
    cpu: int
    kernel: bool
    ran: float
    seconds: float


class _ThreadState:
    """A thread as of its last examination; ``ran`` is its CPU time in nanoseconds, None before the first.

    ``at`` is the time of that examination, or else the last time at which it did not exist; None if unknown.
    """

    __slots__ = ("at", "pid", "ran", "suspect_until")

    def __init__(self, pid: int, at: float | None) -> None:
        self.pid = pid
        self.ran: int | None = None
        self.at = at
        self.suspect_until = 0.0


class _Stat(NamedTuple):
    """The values of a thread in /proc/PID/stat; ``ran`` are nanoseconds, by the kernel's ticks."""

    comm: str
    kernel: bool
    ran: int
    cpu: int


_SUSPECT = 30.0
"""Seconds for which a thread that was found is examined each time."""


class ForeignThreads:
    """Looks for threads on exclusive CPUs that do not belong to the containers that hold the CPUs.

    Each time, *share* processes are examined in turn, in addition to new ones and suspects.
    """

    def __init__(self, files: CounterFiles, share: int) -> None:
        self._files = files
        self._share = share
        self._threads: dict[int, _ThreadState] = {}
        self._tasks: dict[int, tuple[int, ...]] = {}
        self._groups: dict[int, str] = {}
        self._listed: dict[int, float] = {}
        self._waiting: list[int] = []
        self._last: float | None = None

    def look(self, now: float, holders: Mapping[int, frozenset[str]]) -> list[ForeignThread] | None:
        """Return the threads that have run where they do not belong since they were last examined.

        *holders* are the paths of the groups that may run on each exclusive CPU. Return None if no process is
        visible; the first call only records the threads.
        """
        pids = {int(name) for name in self._files.names("proc") if name.isdigit()}
        if not pids:
            return None
        for pid in self._tasks.keys() - pids:
            self._forget(pid)
        due = [*(pids - self._tasks.keys()), *islice(self._in_turn(), self._share)]
        for pid in due:
            self._list(pid, now)
        suspects = [tid for tid, seen in self._threads.items() if seen.suspect_until > now]
        tids = dict.fromkeys((*suspects, *(tid for pid in due for tid in self._tasks[pid])))
        found = [each for tid in tids if (each := self._visit(tid, now, holders)) is not None]
        self._last = now
        return found

    @property
    def known(self) -> int:
        """The number of known threads."""
        return len(self._threads)

    def _in_turn(self) -> Iterator[int]:
        """Yield the processes in turn, continuing where the last call ended, each at most once per call."""
        if not self._waiting:
            self._waiting = sorted(self._tasks, reverse=True)
        while self._waiting:
            pid = self._waiting.pop()
            if pid in self._tasks:
                yield pid

    def _list(self, pid: int, now: float) -> None:
        """Note the threads of a process as they are now."""
        tids = tuple(int(name) for name in self._files.names(f"proc/{pid}/task") if name.isdigit())
        for tid in set(self._tasks.get(pid, ())) - set(tids):
            self._drop(pid, tid)
        self._tasks[pid] = tids
        self._groups.pop(pid, None)
        absent = self._listed.get(pid, self._last)
        for tid in tids:
            if tid not in self._threads:
                self._threads[tid] = _ThreadState(pid, absent)
        self._listed[pid] = now

    def _forget(self, pid: int) -> None:
        self._groups.pop(pid, None)
        self._listed.pop(pid, None)
        for tid in self._tasks.pop(pid):
            self._drop(pid, tid)

    def _drop(self, pid: int, tid: int) -> None:
        self._threads.pop(tid, None)
        for name in ("schedstat", "stat"):
            self._files.forget(f"proc/{pid}/task/{tid}/{name}")

    def _visit(self, tid: int, now: float, holders: Mapping[int, frozenset[str]]) -> ForeignThread | None:
        """Examine one thread; read where it has run only if it has run."""
        seen = self._threads[tid]
        directory, keep = f"proc/{seen.pid}/task/{tid}", seen.suspect_until > now
        fields = (self._files.read(f"{directory}/schedstat", keep=keep) or b"").split()
        ran = int(fields[0]) if fields and fields[0].isdigit() else None
        before, since = seen.ran, seen.at
        if ran is not None and ran == before:
            seen.at = now
            return None
        stat = _parse_stat(self._files.read(f"{directory}/stat", keep=keep) or b"")
        if stat is None:
            return None
        seen.ran, seen.at = stat.ran if ran is None else ran, now
        if since is None:
            return None
        # A thread that is new since then has used all its CPU time in this period.
        had = (seen.ran - (before or 0)) / 1e9
        if had <= 0 or stat.cpu not in holders or self._belongs(seen.pid, holders[stat.cpu]):
            return None
        seen.suspect_until = now + _SUSPECT
        group = self._groups[seen.pid]
        return ForeignThread(tid, seen.pid, stat.comm, group, stat.cpu, stat.kernel, had, now - since)

    def _belongs(self, pid: int, groups: frozenset[str]) -> bool:
        """Return whether a process is in one of these groups, or below one."""
        if pid not in self._groups:
            text = self._files.read(f"proc/{pid}/cgroup", keep=False) or b""
            self._groups[pid] = deciding_cgroup(text.decode(errors="replace"))
        path = self._groups[pid]
        return any(path == group or path.startswith(f"{group}/") for group in groups)


def _parse_stat(text: bytes) -> _Stat | None:
    """Parse a line; the second field, in parentheses, may contain blanks and parentheses."""
    head, bracket, rest = text.rpartition(b")")
    fields = rest.split()
    if not bracket or len(fields) < 37:
        return None
    try:
        flags, user, system, cpu = (int(fields[number - 3]) for number in (9, 14, 15, 39))
    except ValueError:
        return None
    name = head.partition(b"(")[2].decode(errors="replace")
    return _Stat(name, bool(flags & _KERNEL_THREAD), (user + system) * (1_000_000_000 // TICKS), cpu)
