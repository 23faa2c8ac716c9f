"""Cheap samples of what the kernel does not report: where threads may run, where interrupts go, files.

A sample is not an audit. It equals the previous one if an audit would find the same, at a tenth of an audit's
cost or less: for the host's threads, only the groups matter that have some which may run on exclusive CPUs;
for interrupts, only those that occur on such CPUs or may. Files: *proc(5)*; ``sched_getaffinity(2)``, which
returns much less than ``/proc/PID/status``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from cpuctl.audit.disturbers import may_be_moved
from cpuctl.audit.origins import AGENT_PROGRAMS
from cpuctl.capture.kubelet.running import PROGRAMS
from cpuctl.capture.node.interrupts import DEFAULT_AFFINITY, INTERRUPTS, WORKQUEUES
from cpuctl.capture.node.processes import deciding_cgroup
from cpuctl.cgroups.hierarchies import is_interface_file
from cpuctl.cgroups.names import Level, role_of
from cpuctl.cpuset import CPUSet
from cpuctl.errors import CpuctlError
from cpuctl.machine.kernel_text import parse_cpu_list
from cpuctl.machine.tree import Tree

_SETTINGS = (
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/isolated",
    "sys/devices/system/cpu/nohz_full",
    DEFAULT_AFFINITY,
    WORKQUEUES,
)
GROUP_FILES = (
    "cpuset.cpus", "cpuset.mems", "cpuset.cpus.partition", "cpuset.cpus.exclusive",
    "cpu.max", "cpu.cfs_quota_us",
)  # fmt: skip
"""The files of a cgroup that can be written and that an audit checks."""
_EFFECTIVE = (
    "cpuset.cpus.effective", "cpuset.mems.effective", "cpuset.effective_cpus", "cpuset.effective_mems",
)  # fmt: skip
_NOTED = PROGRAMS | AGENT_PROGRAMS | {"irqbalance"}
"""Programs whose starts are always noticed, whichever CPUs they may run on."""
_KERNEL_THREAD, _NO_SETAFFINITY = 0x0020_0000, 0x0400_0000
_FLAGS = 6
"""Index of a process's flags in the fields after its name in /proc/PID/stat."""
_ALLOWED = re.compile(r"^Cpus_allowed_list:[ \t]*(.*)$", re.MULTILINE)
_KERNEL = "kernel threads"


class Sample(NamedTuple):
    """Values to compare with those of another sample.

    ``threads`` are control groups with CPUs on which some of their threads may run, and noted programs with
    their processes. ``groups`` is empty if the kernel reports changes of groups.
    """

    threads: frozenset[tuple[str, int]] = frozenset()
    interrupts: frozenset[tuple[int, int, int, Sequence[str]]] = frozenset()
    settings: tuple[str | None, ...] = ()
    files: tuple[str | None, ...] = ()
    groups: frozenset[tuple[str, str]] = frozenset()


class GroupPlace(NamedTuple):
    """A control group: where its hierarchy is mounted, and its path there, with a leading slash."""

    mount: str
    path: str


def is_above_containers(path: str) -> bool:
    """Return whether pods or containers have their groups right below one of the kubelet's."""
    role = role_of(path)
    return role is not None and role.level in (Level.KUBEPODS, Level.QOS, Level.POD)


class Interest(NamedTuple):
    """What a sample covers: exclusive CPUs, files, and the kubelet's topmost groups if they are sampled.

    Without the last, groups are not read.
    """

    exclusive: CPUSet = CPUSet()
    files: tuple[str, ...] = ()
    groups: tuple[GroupPlace, ...] = ()


class _Known(NamedTuple):
    """The properties of a process that stay the same for its lifetime."""

    comm: str
    kernel: bool
    passed_over: bool


Affinity = Callable[[int, int], int | None]
"""The CPUs that a thread may run on as a bit mask, by process and thread; None if it has ended."""


class Sampler:
    """Takes samples of one node; *live*: its processes are those of this host."""

    def __init__(self, tree: Tree, *, live: bool) -> None:
        self._tree = tree
        self._affinity = _kernel_affinity() if live else self._recorded_affinity
        self._known: dict[int, _Known] = {}
        self._groups: dict[str, str] = {}
        self._sets: dict[str, int] = {}

    def take(self, interest: Interest) -> Sample:
        """Take a sample of the node."""
        pids = self._pids()
        self._known = {pid: known for pid, known in self._known.items() if pid in pids}
        threads = {*self._threads(pids, interest.exclusive.mask), *self._noted()}
        return Sample(
            threads=frozenset(threads),
            interrupts=frozenset(self._interrupts(interest.exclusive.mask)),
            settings=tuple(map(self._read, _SETTINGS)),
            files=tuple(map(self._read, interest.files)),
            groups=frozenset(self._group_values(interest.groups)),
        )

    def _pids(self) -> set[int]:
        return {int(name) for name in self._names("proc") if name.isdecimal()}

    def _threads(self, pids: Iterable[int], exclusive: int) -> Iterator[tuple[str, int]]:
        for pid in pids:
            known = self._known.get(pid) or self._meet(pid)
            if known is None or known.passed_over:
                continue
            if known.kernel:
                mask = self._affinity(pid, pid)
                if mask is not None and mask & exclusive:
                    yield _KERNEL, mask & exclusive
                continue
            group = self._group_of(pid)
            for name in self._names(f"proc/{pid}/task"):
                mask = self._affinity(pid, int(name))
                if mask is None:
                    continue
                if group.startswith("/"):
                    yield group, mask
                elif mask & exclusive:
                    yield group, mask & exclusive

    def _noted(self) -> Iterator[tuple[str, int]]:
        """Yield programs whose start alone matters, with their process."""
        return ((known.comm, pid) for pid, known in self._known.items() if known.comm in _NOTED)

    def _meet(self, pid: int) -> _Known | None:
        """Read the properties of a process; a PID that is reused between two samples is not noticed."""
        stat = self._read(f"proc/{pid}/stat") or ""
        head, _, rest = stat.rpartition(")")
        fields = rest.split()
        if len(fields) <= _FLAGS or not fields[_FLAGS].isdecimal():
            return None
        flags, comm = int(fields[_FLAGS]), head.partition("(")[2]
        kernel = bool(flags & _KERNEL_THREAD)
        passed_over = kernel and not may_be_moved(comm, fixed=bool(flags & _NO_SETAFFINITY))
        self._known[pid] = _Known(comm, kernel, passed_over)
        return self._known[pid]

    def _group_of(self, pid: int) -> str:
        """Return the path of a process's group below the kubelet's, else the name of its topmost group."""
        text = self._read(f"proc/{pid}/cgroup") or ""
        if text not in self._groups:
            if len(self._groups) > _MOST_KEPT:
                self._groups.clear()
            path = deciding_cgroup(text)
            self._groups[text] = path if role_of(path) else path.lstrip("/").partition("/")[0]
        return self._groups[text]

    def _recorded_affinity(self, pid: int, tid: int) -> int | None:
        found = _ALLOWED.search(self._read(f"proc/{pid}/task/{tid}/status") or "")
        return self._mask(found[1]) if found else None

    def _interrupts(self, exclusive: int) -> Iterator[tuple[int, int, int, Sequence[str]]]:
        if not exclusive:
            return
        for name in self._names(INTERRUPTS):
            if name.isdecimal():
                directory = f"{INTERRUPTS}/{name}"
                allowed = self._mask(self._read(f"{directory}/smp_affinity_list")) & exclusive
                if not allowed:
                    continue
                comes = self._mask(self._read(f"{directory}/effective_affinity_list")) & exclusive
                # Most may occur everywhere, and their actions matter only if they do.
                yield int(name), allowed, comes, tuple(self._names(directory)) if comes else ()

    def _group_values(self, tops: Iterable[GroupPlace]) -> Iterator[tuple[str, str]]:
        """Yield the sets and quotas of groups down to containers, without groups below containers."""
        waiting = list(tops)
        while waiting:
            mount, path = waiting.pop()
            directory = f"{mount}{path}"
            names = self._names(directory)
            for name in (*GROUP_FILES, *_EFFECTIVE):
                if name in names:
                    yield f"{directory}/{name}", self._read(f"{directory}/{name}") or ""
            if is_above_containers(path):
                below = (name for name in names if not is_interface_file(name))
                waiting.extend(GroupPlace(mount, f"{path}/{name}") for name in below)

    def _mask(self, text: str | None) -> int:
        key = text or ""
        if key not in self._sets:
            try:
                self._sets[key] = parse_cpu_list(key).mask
            except ValueError:
                self._sets[key] = 0
        return self._sets[key]

    def _read(self, path: str) -> str | None:
        try:
            return self._tree.read(path)
        except CpuctlError:
            return None

    def _names(self, path: str) -> Sequence[str]:
        try:
            return self._tree.names(path)
        except CpuctlError:
            return ()


_MOST_KEPT = 10_000
"""The most texts of groups, and masks, that are kept so that none is parsed twice."""


def _kernel_affinity() -> Affinity:
    """Return a function that gets the mask from the kernel: Python's own turns it into a set of numbers."""
    from ctypes import CDLL, create_string_buffer

    ask = CDLL(None).sched_getaffinity
    space = create_string_buffer(_FREE_SPACE_FIX)
    known: dict[bytes, int] = {}

    def affinity(_pid: int, tid: int) -> int | None:
        if ask(tid, _FREE_SPACE_FIX, space):
            return None
        raw = space.raw
        if raw not in known:
            if len(known) > _MOST_KEPT:
                known.clear()
            known[raw] = int.from_bytes(raw, "little")
        return known[raw]

    return affinity


_FREE_SPACE_FIX = 1024
"""Bytes for a mask of 8192 CPUs."""
