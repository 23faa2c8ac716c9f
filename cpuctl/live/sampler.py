"""Counters of a node at two moments: how often each source is read, and what stays open in between.

Each source has its own interval: files that grow with the machine (interrupts, run queues), and threads of
containers with hundreds of them, are read less often, and their differences cover a longer time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Generic, NamedTuple, TypeVar

from cpuctl.cgroups.hierarchies import Hierarchies
from cpuctl.cpuset import CPUSet
from cpuctl.live.counters import (
    CounterFiles,
    CPUTimes,
    InterruptCounts,
    Stalled,
    parse_cpu_times,
    parse_pairs,
    parse_pressure,
    parse_run_delays,
)
from cpuctl.live.threads import (
    MOST_THREADS,
    ForeignThread,
    ForeignThreads,
    ThreadCounts,
    group_threads,
    read_thread,
)
from cpuctl.machine.model import NODE_DIRECTORY

T = TypeVar("T")
K = TypeVar("K", int, str)
N = TypeVar("N", int, float)

_CPUS_A_SECOND = 128
"""Up to this many CPUs, interrupts and run queues are read each time; twice as many every other time."""
_LIST_THREADS_EVERY = 5
_SHARE, _ALL = 64, 1 << 22
"""Processes examined each time, in addition to new ones and suspects: some, or as many as can exist."""


class WatchedContainer(NamedTuple):
    """A container with exclusive CPUs; ``path`` is its group's, empty if no group is known.

    ``below`` are the groups below its own, ``above`` is its pod's.
    """

    cpus: CPUSet
    path: str = ""
    above: str = ""
    below: tuple[str, ...] = ()


class Watched(NamedTuple):
    """What is sampled on a node; ``pods`` are groups of pods by the name shown for them."""

    hierarchies: Hierarchies | None
    containers: tuple[WatchedContainer, ...] = ()
    pods: Mapping[str, str] = {}
    numa_nodes: tuple[int, ...] = ()

    @property
    def holders(self) -> dict[int, frozenset[str]]:
        """The groups that may run on each exclusive CPU, by its number."""
        holders: dict[int, set[str]] = {}
        for container in self.containers:
            for cpu in container.cpus:
                holders.setdefault(cpu, set()).update({container.path} - {""})
        return {cpu: frozenset(paths) for cpu, paths in holders.items()}


class GroupCounts(NamedTuple):
    """What a container's group has used since its creation; times in seconds, None if unknown.

    ``periods`` are those in which it was throttled, ``throttled`` is for how long: its own or its pod's,
    whichever is more.
    """

    used: float | None
    periods: int | None
    throttled: float | None
    stalled: Stalled | None


class Span(NamedTuple, Generic[T]):
    """Counters before and after a number of seconds."""

    seconds: float
    before: T
    after: T


class Window(NamedTuple):
    """Everything read at two moments; a span is None if the kernel lacks the source or it was read only once.

    Groups and threads are by the paths of containers' groups. ``foreign`` is None if no process can be
    seen. ``at`` is the clock's time when the CPUs' times were read: the first of all reads, and on a busy
    node long before the last.
    """

    at: float
    cpus: Span[dict[int, CPUTimes]]
    groups: Mapping[str, Span[GroupCounts]]
    threads: Mapping[str, Span[Mapping[int, ThreadCounts]]]
    stalled: Mapping[str, Span[Stalled]]
    delays: Span[dict[int, int]] | None
    interrupts: Span[InterruptCounts] | None
    memory: Mapping[int, Span[dict[str, int]]]
    foreign: list[ForeignThread] | None


class _Track(Generic[T]):
    """The last two readings of one source."""

    def __init__(self) -> None:
        self._before: tuple[float, T] | None = None
        self._after: tuple[float, T] | None = None

    def put(self, at: float, value: T | None) -> None:
        """Add another reading; None starts over."""
        self._before, self._after = self._after, None if value is None else (at, value)

    @property
    def ended(self) -> bool:
        """Whether the last reading found nothing."""
        return self._after is None

    @property
    def span(self) -> Span[T] | None:
        """The span between the two; None if there are fewer, or no time between them."""
        if self._before is None or self._after is None or self._after[0] <= self._before[0]:
            return None
        return Span(self._after[0] - self._before[0], self._before[1], self._after[1])


class Sampler:
    """Reads the counters of what is watched; *clock* returns monotonic seconds.

    *thorough*: all threads are examined each time, not in turn.
    """

    def __init__(
        self, files: CounterFiles, watched: Watched, clock: Callable[[], float], *, thorough: bool = False
    ) -> None:
        self._files = files
        self._clock = clock
        self._foreign = ForeignThreads(files, _ALL if thorough else _SHARE)
        self._count = 0
        self._cpus: _Track[dict[int, CPUTimes]] = _Track()
        self._delays: _Track[dict[int, int]] = _Track()
        self._interrupts: _Track[InterruptCounts] = _Track()
        self._cpus_counted: list[int] | None = None
        self._groups: dict[str, _Track[GroupCounts]] = {}
        self._threads: dict[str, _Track[Mapping[int, ThreadCounts]]] = {}
        self._tids: dict[str, list[int] | None] = {}
        self._stalled: dict[str, _Track[Stalled]] = {}
        self._memory: dict[int, _Track[dict[str, int]]] = {}
        self._watched = watched
        self._holders = watched.holders

    def watch(self, watched: Watched) -> None:
        """Watch something else from now on, keeping the readings of what was already watched."""
        gone = {each.path for each in self._watched.containers} - {each.path for each in watched.containers}
        for path in gone:
            for tracks in (self._groups, self._threads, self._tids):
                tracks.pop(path, None)
        self._watched, self._holders = watched, watched.holders

    def take(self) -> Window | None:
        """Read what is due; return None the first time, and if there are no CPU counters."""
        files, clock, watched = self._files, self._clock, self._watched
        stat = files.read("proc/stat")
        times = parse_cpu_times(stat or b"") or None
        self._cpus.put(at := clock(), times)
        if self._count % (1 + len(times or ()) // (_CPUS_A_SECOND + 1)) == 0:
            self._read_wide()
        for name, path in self._pressure_files():
            text = files.read(path)
            self._stalled.setdefault(name, _Track()).put(clock(), parse_pressure(text) if text else None)
        for node in watched.numa_nodes:
            text = files.read(f"{NODE_DIRECTORY}/node{node}/numastat")
            self._memory.setdefault(node, _Track()).put(clock(), parse_pairs(text) if text else None)
        for container in watched.containers:
            if container.path:
                self._read_container(container)
        foreign = self._foreign.look(clock(), self._holders) if self._holders else []
        self._count += 1
        return self._window(at, foreign)

    @property
    def has_cpu_counters(self) -> bool:
        """Whether the last reading found CPU counters, which a running kernel always has."""
        return not self._cpus.ended

    @property
    def lost(self) -> bool:
        """Whether the group of some container has disappeared or is empty."""
        paths = [each.path for each in self._watched.containers if each.path in self._groups]
        return any(self._groups[path].ended or self._tids.get(path) == [] for path in paths)

    def _window(self, at: float, foreign: list[ForeignThread] | None) -> Window | None:
        cpus = self._cpus.span
        if cpus is None:
            return None
        return Window(
            at=at,
            cpus=cpus,
            groups=dict(_known(self._groups)),
            threads=dict(_known(self._threads)),
            stalled=dict(_known(self._stalled)),
            delays=self._delays.span,
            interrupts=self._interrupts.span,
            memory=dict(_known(self._memory)),
            foreign=foreign,
        )

    def _read_wide(self) -> None:
        """Read the files with a column or a paragraph per CPU."""
        text = self._files.read("proc/interrupts")
        counts = InterruptCounts(text) if text else None
        if counts is not None and self._cpus_counted not in (None, counts.cpus):
            self._interrupts.put(self._clock(), None)  # CPUs came online or went offline: the columns differ
        self._cpus_counted = counts.cpus if counts else None
        self._interrupts.put(self._clock(), counts)
        text = self._files.read("proc/schedstat")
        self._delays.put(self._clock(), parse_run_delays(text) or None if text else None)

    def _pressure_files(self) -> Iterator[tuple[str, str]]:
        yield "node", "proc/pressure/cpu"
        at = self._watched.hierarchies
        if at is not None and at.version == 2:
            for name, path in self._watched.pods.items():
                yield name, f"{at.cpu}{path}/cpu.pressure"

    def _read_container(self, container: WatchedContainer) -> None:
        at, path = self._watched.hierarchies, container.path
        if at is None:
            return
        counts, track = self._group(at, container), self._groups.setdefault(path, _Track())
        if f"{at.cpu}{path}/cpu.stat" in self._files.replaced:
            track.put(self._clock(), None)  # another group with this name, which may already have used more
        track.put(self._clock(), counts)
        tids = self._tids.get(path)
        if not tids or self._count % _LIST_THREADS_EVERY == 0:
            tids = self._list_threads(at, container)
        if self._count % (1 + len(tids or ()) // (MOST_THREADS + 1)) == 0:
            read = {tid: found for tid in tids or () if (found := read_thread(self._files, tid)) is not None}
            self._threads.setdefault(path, _Track()).put(self._clock(), read or None)

    def _list_threads(self, at: Hierarchies, container: WatchedContainer) -> list[int] | None:
        directories = [f"{at.cpuset or at.cpu}{path}" for path in (container.path, *container.below)]
        tids = group_threads(self._files, directories, at.version)
        for tid in set(self._tids.get(container.path) or ()) - set(tids or ()):
            for name in ("schedstat", "sched"):
                self._files.forget(f"proc/{tid}/{name}")
        self._tids[container.path] = tids
        return tids

    def _group(self, at: Hierarchies, container: WatchedContainer) -> GroupCounts | None:
        directory = f"{at.cpu}{container.path}"
        stat = self._files.read(f"{directory}/cpu.stat")
        if stat is None:
            return None
        own, above = parse_pairs(stat), {}
        if container.above:
            above = parse_pairs(self._files.read(f"{at.cpu}{container.above}/cpu.stat") or b"")
        pressure = self._files.read(f"{directory}/cpu.pressure") if at.version == 2 else None
        return GroupCounts(
            used=self._used(directory, own, at.version),
            periods=_more(own.get("nr_throttled"), above.get("nr_throttled")),
            throttled=_more(_throttled(own), _throttled(above)),
            stalled=parse_pressure(pressure) if pressure else None,
        )

    def _used(self, directory: str, stat: Mapping[str, int], version: int) -> float | None:
        if version == 2:
            return stat["usage_usec"] / 1e6 if "usage_usec" in stat else None
        text = (self._files.read(f"{directory}/cpuacct.usage") or b"").strip()
        return int(text) / 1e9 if text.isdigit() else None


def _known(tracks: Mapping[K, _Track[T]]) -> Iterator[tuple[K, Span[T]]]:
    return ((key, span) for key, track in tracks.items() if (span := track.span) is not None)


def _throttled(stat: Mapping[str, int]) -> float | None:
    """Return seconds: v2 has microseconds, v1 nanoseconds."""
    if "throttled_usec" in stat:
        return stat["throttled_usec"] / 1e6
    return stat["throttled_time"] / 1e9 if "throttled_time" in stat else None


def _more(own: N | None, above: N | None) -> N | None:
    known = [each for each in (own, above) if each is not None]
    return max(known) if known else None
