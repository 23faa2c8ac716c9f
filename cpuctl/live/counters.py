"""The kernel's counters, read repeatedly at little cost: files stay open, and are read from the start.

Files: *proc_stat(5)*, *Documentation/scheduler/sched-stats.rst*, *Documentation/accounting/psi.rst*,
*Documentation/admin-guide/cgroup-v2.rst* and *numastat.rst*. A file that a kernel does not have is None.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from cpuctl.errors import InputError
from cpuctl.root_directory import Root

_MOST_OPEN = 3072
_SPARE = 64
"""Descriptors left for the rest of the process."""
_CHUNK = 1 << 16
TICKS = 100
"""Ticks per second in ``stat`` files (USER_HZ, the same on all platforms of the kubelet)."""
_MOST_BYTES = 32 << 20


class CounterFiles:
    """Files below a root that are read every second; those that disappear are None, and are reopened."""

    def __init__(self, root: Root) -> None:
        self.root = root
        self.replaced: set[str] = set()
        """Files whose old descriptor failed and that exist again: their counters have started over."""
        self._open: dict[str, int] = {}
        self._most = _room_for_files()

    def read(self, path: str, *, keep: bool = True) -> bytes | None:
        """Return the current content of a file; None if it does not exist or cannot be read."""
        self.replaced.discard(path)
        handle = self._open.get(path)
        if handle is None:
            return self._first(path, keep=keep)
        try:
            return _whole(handle)
        except OSError:  # ESRCH or ENODEV: the thread has ended, or the group was removed
            self.forget(path)
            if (data := self._first(path, keep=keep)) is not None:
                self.replaced.add(path)
            return data

    def names(self, path: str) -> list[str]:
        """Return the names in a directory; none if it cannot be listed."""
        try:
            return self.root.names(path) or []
        except (OSError, InputError):
            return []

    def forget(self, path: str) -> None:
        """Close a file that will not be read again."""
        self.replaced.discard(path)
        if (handle := self._open.pop(path, None)) is not None:
            os.close(handle)

    def close(self) -> None:
        """Close all files."""
        for path in list(self._open):
            self.forget(path)

    def _first(self, path: str, *, keep: bool) -> bytes | None:
        try:
            handle = self.root.open_file(path)
        except (OSError, InputError):
            return None
        try:
            data = _whole(handle)
        except OSError:
            os.close(handle)
            return None
        # A file on disk may be replaced by another with the same name; the kernel's are not.
        if keep and len(self._open) < self._most:
            self._open[path] = handle
        else:
            os.close(handle)
        return data


def _room_for_files() -> int:
    """Raise the limit of open files as far as needed and allowed, and return how many may stay open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_OPEN + _SPARE if hard == resource.RLIM_INFINITY else min(hard, _MOST_OPEN + _SPARE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    return max(min(soft, wanted) - _SPARE, 0) if soft != resource.RLIM_INFINITY else _MOST_OPEN


def _whole(handle: int) -> bytes:
    """Read from start to end: the kernel returns long files in pieces."""
    data = os.pread(handle, _CHUNK, 0)
    if not data:
        return data
    parts, length = [data], len(data)
    while length <= _MOST_BYTES and (data := os.pread(handle, _CHUNK, length)):
        parts.append(data)
        length += len(data)
    return parts[0] if len(parts) == 1 else b"".join(parts)


class CPUTimes(NamedTuple):
    """A CPU's times since boot, in clock ticks; the time of guests is included in ``user`` and ``nice``."""

    user: int
    nice: int
    system: int
    idle: int
    iowait: int
    irq: int
    softirq: int
    steal: int


def parse_cpu_times(stat: bytes) -> dict[int, CPUTimes]:
    """Read the lines of /proc/stat about single CPUs."""
    times = {}
    for line in stat.splitlines():
        if not line.startswith(b"cpu"):
            break  # the rest makes up most of the file
        name, *fields = line.split()
        if len(fields) >= len(CPUTimes._fields) and name != b"cpu":
            with suppress(ValueError):
                times[int(name[3:])] = CPUTimes(*map(int, fields[: len(CPUTimes._fields)]))
    return times


_RUN_DELAY = 8
"""The index of the field with the nanoseconds of waiting in a line of /proc/schedstat; the name is at 0."""


def parse_run_delays(schedstat: bytes) -> dict[int, int]:
    """Read from /proc/schedstat how many nanoseconds tasks have waited on each CPU's run queue."""
    delays = {}
    for line in schedstat.splitlines():
        if line.startswith(b"cpu"):
            fields = line.split(maxsplit=_RUN_DELAY + 1)
            with suppress(ValueError, IndexError):
                delays[int(fields[0][3:])] = int(fields[_RUN_DELAY])
    return delays


class Stalled(NamedTuple):
    """The microseconds in which ``some`` tasks, or all (``full``) at once, waited (PSI)."""

    some: int
    full: int | None
    average: float
    """The average of ``some`` over the last ten seconds, in percent."""


def parse_pressure(text: bytes) -> Stalled | None:
    """Read a pressure file; None for any other text."""
    found: dict[str, Mapping[str, str]] = {}
    for line in text.decode(errors="replace").splitlines():
        kind, *pairs = line.split()
        found[kind] = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
    try:
        full = found.get("full", {}).get("total")
        some = found["some"]
        return Stalled(int(some["total"]), None if full is None else int(full), float(some["avg10"]))
    except (KeyError, ValueError):
        return None


def parse_pairs(text: bytes) -> dict[str, int]:
    """Read lines of a name and a number, as in ``cpu.stat`` and ``numastat``."""
    pairs = {}
    for line in text.decode(errors="replace").splitlines():
        name, _, number = line.partition(" ")
        with suppress(ValueError):
            pairs[name] = int(number)
    return pairs


class InterruptCounts:
    """/proc/interrupts at one moment, parsing only lines that differ from another moment.

    On a machine with hundreds of CPUs the file has megabytes, and most of its lines do not change.
    """

    def __init__(self, text: bytes) -> None:
        heading, *lines = text.splitlines() or [b""]
        self.cpus = [int(word[3:]) for word in heading.split() if word[:3] == b"CPU" and word[3:].isdigit()]
        self._lines = dict(filter(None, (_named(line) for line in lines)))

    def since(self, before: InterruptCounts) -> dict[str, dict[int, int]]:
        """Return how often each interrupt has occurred on each CPU since *before*, without zeros.

        An interrupt without a line then had not occurred yet.
        """
        found = {}
        for name, line in self._lines.items():
            old = before._lines.get(name, b"0 " * len(self.cpus))
            if old != line and self.cpus == before.cpus:
                came = self._differing(old, line)
                if came:
                    found[name.decode(errors="replace")] = came
        return found

    def _differing(self, old: bytes, new: bytes) -> dict[int, int]:
        many = len(self.cpus)
        pairs = zip(self.cpus, new.split(None, many)[:many], old.split(None, many)[:many], strict=False)
        came = {}
        for cpu, now, then in pairs:
            if now != then and now.isdigit() and then.isdigit():
                came[cpu] = _came(int(then), int(now))
        return came

    def title(self, name: str) -> str:
        """Return what follows the counts of an interrupt: its controller and actions."""
        parts = self._lines.get(name.encode(), b"").split(None, len(self.cpus))
        return " ".join(parts[-1].decode(errors="replace").split()) if len(parts) > len(self.cpus) else ""


def _came(then: int, now: int) -> int:
    """Return how often it occurred; a count starts over after 32 bits, and when its driver is reloaded."""
    if now >= then:
        return now - then
    return now + (1 << 32) - then if then - now > 1 << 31 else now


def _named(line: bytes) -> tuple[bytes, bytes] | None:
    name, colon, rest = line.partition(b":")
    return (name.strip(), rest) if colon else None
