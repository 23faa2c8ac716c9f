"""A running kubelet: its managers, and the data in its memory, which it loses when it stops.

The back-off before it restarts a container follows kubelet v1.36's ``newCrashLoopBackOff`` and
``doBackOff``, with client-go's ``flowcontrol.Backoff``: the first restart is immediate, the next 10 s after
the container's end, then twice as long each time, up to 5 minutes; the back-off of a container that has run
for twice the maximum is reset. Times are nanoseconds since the timeline began.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from heapq import heappop, heappush
from typing import NamedTuple, Protocol

from cpuctl.checkpoints.model import CPUStateFile, MemoryStateFile
from cpuctl.checkpoints.reader import StateReader
from cpuctl.engine.node import Node
from cpuctl.engine.resize.rules import ResizeRules
from cpuctl.golang.durations import MINUTE, SECOND, parse_duration
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.kubelet.releases.behaviours import behaviours
from cpuctl.pods.rules import ASSIGNED_CPUSET_SINCE
from cpuctl.timeline.model import KubeletSetup
from cpuctl.timeline.world.scale_downs import Key, Timers

_FIRST, _LONGEST = 10 * SECOND, 5 * MINUTE
_REDUCED_FIRST, _REDUCED_LONGEST = SECOND, MINUTE


class BackOffs:
    """The back-offs of one kubelet, kept in memory: their length and start, by UID and container."""

    def __init__(self, first: int, longest: int) -> None:
        self.first = first
        self.longest = longest
        self.known: dict[Key, tuple[int, int]] = {}

    @classmethod
    def of(cls, config: KubeletConfiguration, gates: FeatureGates) -> BackOffs:
        """Return the back-offs with a kubelet's configured bounds."""
        reduced = gates.enabled("ReduceDefaultCrashLoopBackOffDecay")
        first, longest = (_REDUCED_FIRST, _REDUCED_LONGEST) if reduced else (_FIRST, _LONGEST)
        if gates.enabled("KubeletCrashLoopBackOffMax"):
            settings = config.others.get("crashLoopBackOff")
            period = settings.get("maxContainerRestartPeriod") if isinstance(settings, dict) else None
            longest = parse_duration(str(period)) if period else _LONGEST
        return cls(min(first, longest), longest)

    def until(self, key: Key, ended: int) -> int:
        """Return when a container that ended at a given time may restart."""
        if key not in self.known or self._expired(key, ended):
            return ended
        return ended + self.known[key][0]

    def start(self, key: Key, ended: int, now: int) -> None:
        """Record that a container restarts."""
        fresh = key not in self.known or self._expired(key, ended)
        wait = self.first if fresh else min(self.known[key][0] * 2, self.longest)
        self.known[key] = wait, now

    def forget(self, uid: str) -> None:
        """Forget a removed pod."""
        self.known = {key: known for key, known in self.known.items() if key[0] != uid}

    def _expired(self, key: Key, ended: int) -> bool:
        return ended - self.known[key][1] > 2 * self.longest


_FIRST_RETRY, _RETRY_PERIOD = 30 * SECOND, 3 * MINUTE


class JobKind(IntEnum):
    """A kubelet's later work for a pod; at equal times, in this order."""

    SYNC = 1
    VOLUMES = 2


class _Aged(Protocol):
    """The parts of a pod that matter for scheduling its work."""

    @property
    def number(self) -> int: ...
    @property
    def uid(self) -> str: ...


class Job(NamedTuple):
    """Work for one pod: of simultaneous jobs, the oldest pod's comes first."""

    at: int
    work: JobKind
    number: int
    uid: str


class KubeletProcess:
    """One kubelet from its start to its end.

    ``last_update`` are the CPUs (masks) that it last passed to each container's runtime: none when it
    starts, so its first pass writes all. ``refused`` are the containers whose last CPU set could not be
    written. ``unsettled``: the next pass has work to do. ``capacity`` is compared with resizes, if its
    release does that: CPU in milli-CPUs, others in whole units. ``retry_after`` is when deferred resizes were
    tried last, None if there are none. ``written`` and ``written_memory`` are the states on disk.
    ``back_offs`` are those of containers that have ended more than once.
    ``reports_allocated_resources``: it writes allocatedResources into statuses.
    """

    def __init__(  # noqa: PLR0913  # everything that it is started with
        self,
        *,
        setup: KubeletSetup,
        node: Node,
        rules: ResizeRules,
        reader: StateReader,
        started: int,
        period: int,
        capacity: Mapping[str, int] | None,
        back_offs: BackOffs,
        reports_allocated_resources: bool,
        written: CPUStateFile | None,
        written_memory: MemoryStateFile | None,
    ) -> None:
        self.setup = setup
        self.node = node
        self.rules = rules
        self.reader = reader
        self.started = started
        self.period = period
        self.capacity = capacity
        self.back_offs = back_offs
        self.reports_allocated_resources = reports_allocated_resources
        self.written = written
        self.written_memory = written_memory
        self.timers = Timers()
        self.last_update: dict[Key, int] = {}
        self.jobs: list[Job] = []
        self.unsettled = True
        self.refused: set[Key] = set()
        self.last_pass: int | None = None
        self.retry_after: int | None = None

    @property
    def waits_for_cpusets(self) -> bool:
        """Whether a resize is complete only when its CPU sets are applied (KEP-6122)."""
        return behaviours(*self.setup.release).delays_scale_down

    @property
    def writes_assigned_cpuset(self) -> bool:
        """Whether it writes ``assigned.cpuset`` into volumes."""
        return self.setup.minor >= ASSIGNED_CPUSET_SINCE

    def plan(self, at: int, work: JobKind, life: _Aged) -> None:
        """Schedule work for a pod at a given time."""
        job = Job(at, work, life.number, life.uid)
        if job not in self.jobs:
            heappush(self.jobs, job)

    def take_job(self) -> Job:
        """Remove and return the first job."""
        return heappop(self.jobs)

    def next_pass(self) -> int | None:
        """Return the time of the next pass with work to do; passes in between would change nothing.

        Rule: the kubelet's ``wait.Until``: the first is immediate, the others a period after the end of each.
        """
        if self.node.policy is None:
            return None
        if self.last_pass is None:
            return self.started
        following = self.last_pass + self.period
        if self.unsettled:
            return following
        due = self.timers.next()
        return None if due is None else max(following, following + _steps(due - following, self.period))

    def touch(self, now: int) -> None:
        """Let the next pass after *now* check everything: those before it had nothing to do."""
        if self.last_pass is not None and now > self.last_pass:
            self.last_pass += (now - self.last_pass) // self.period * self.period
        self.unsettled = True

    def next_retry(self) -> int | None:
        """Return when deferred resizes are retried: after half a minute, then every three minutes.

        Rule: ``pkg/kubelet/allocation/allocation_manager.go``.
        """
        if self.retry_after is None:
            return None
        first = self.started + _FIRST_RETRY
        if self.retry_after < first:
            return first
        return first + ((self.retry_after - first) // _RETRY_PERIOD + 1) * _RETRY_PERIOD

    def next_due(self) -> int | None:
        """Return when the next work is due."""
        times = [self.next_pass(), self.jobs[0].at if self.jobs else None, self.next_retry()]
        return min((time for time in times if time is not None), default=None)


def _steps(distance: int, period: int) -> int:
    """Round a distance up to whole periods."""
    return -(-max(distance, 0) // period) * period
