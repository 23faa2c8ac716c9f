"""A kubelet that runs: its managers, and what it keeps in memory only and loses when it stops.

Times are nanoseconds since the timeline began.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from heapq import heappop, heappush
from typing import NamedTuple, Protocol

from cpuctl.checkpoints.model import CPUStateFile, MemoryStateFile
from cpuctl.checkpoints.reader import StateReader
from cpuctl.engine.node import Node
from cpuctl.engine.resize.rules import ResizeRules
from cpuctl.golang.durations import MINUTE, SECOND
from cpuctl.kubelet.releases.behaviours import behaviours
from cpuctl.pods.rules import ASSIGNED_CPUSET_SINCE
from cpuctl.timeline.model import KubeletSetup
from cpuctl.timeline.world.back_off import BackOffs
from cpuctl.timeline.world.scale_downs import Key, Timers

_FIRST_RETRY, _RETRY_PERIOD = 30 * SECOND, 3 * MINUTE


class Work(IntEnum):
    """What a kubelet does for a pod later on; of equal times, in this order."""

    SYNC = 1
    VOLUMES = 2


class _Aged(Protocol):
    """A pod as far as it matters when something is done for it."""

    @property
    def number(self) -> int: ...
    @property
    def uid(self) -> str: ...


class Job(NamedTuple):
    """Work for one pod: of what is due at once, the oldest pod's comes first."""

    at: int
    work: Work
    number: int
    uid: str


@dataclass(slots=True, kw_only=True)
class KubeletProcess:
    """One kubelet from its start to its end.

    ``last_update`` are the CPUs that it has last given each container's runtime (a mask): it knows of none
    when it starts, so that its first pass writes all. ``refused`` are the containers whose CPU set could not
    be written last time. ``unsettled``: the next pass has something to do. ``capacity`` is what it compares a
    resize with, where its release does: CPU in milli, the rest in whole units. ``retry_after`` is when
    deferred resizes were tried last, None where there are none. ``written`` and ``written_memory`` are the
    states as they lie on disk. ``back_offs`` are those of containers that have ended more than once.
    ``tells_allocated``: it puts allocatedResources into statuses.
    """

    setup: KubeletSetup
    node: Node
    rules: ResizeRules
    reader: StateReader
    started: int
    period: int
    capacity: Mapping[str, int] | None = None
    timers: Timers = field(default_factory=Timers)
    last_update: dict[Key, int] = field(default_factory=dict)
    jobs: list[Job] = field(default_factory=list)
    unsettled: bool = True
    refused: set[Key] = field(default_factory=set)
    last_pass: int | None = None
    retry_after: int | None = None
    written: CPUStateFile | None = None
    written_memory: MemoryStateFile | None = None
    back_offs: BackOffs = field(default_factory=BackOffs)
    tells_allocated: bool = True

    @property
    def waits_for_cpusets(self) -> bool:
        """Whether a resize is complete only when its CPU sets are applied (KEP-6122)."""
        return behaviours(*self.setup.release).delays_scale_down

    @property
    def tells_assigned_cpuset(self) -> bool:
        """Whether it writes ``assigned.cpuset`` into volumes."""
        return self.setup.minor >= ASSIGNED_CPUSET_SINCE

    def plan(self, at: int, work: Work, life: _Aged) -> None:
        """Do something for a pod at a time."""
        job = Job(at, work, life.number, life.uid)
        if job not in self.jobs:
            heappush(self.jobs, job)

    def take_job(self) -> Job:
        """Remove and return what comes first."""
        return heappop(self.jobs)

    def next_pass(self) -> int | None:
        """Tell when the next pass is that has something to do; passes in between would change nothing.

        Rule: the kubelet's ``wait.Until``: the first at once, another a period after the end of each.
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
        """Let the next pass after *now* look at everything: those before it had nothing to do."""
        if self.last_pass is not None and now > self.last_pass:
            self.last_pass += (now - self.last_pass) // self.period * self.period
        self.unsettled = True

    def next_retry(self) -> int | None:
        """Tell when deferred resizes are tried again: after half a minute, then every three minutes.

        Rule: ``pkg/kubelet/allocation/allocation_manager.go``.
        """
        if self.retry_after is None:
            return None
        first = self.started + _FIRST_RETRY
        if self.retry_after < first:
            return first
        return first + ((self.retry_after - first) // _RETRY_PERIOD + 1) * _RETRY_PERIOD

    def next_due(self) -> int | None:
        """Tell when there is something to do next."""
        times = [self.next_pass(), self.jobs[0].at if self.jobs else None, self.next_retry()]
        return min((time for time in times if time is not None), default=None)


def _steps(distance: int, period: int) -> int:
    """Round a distance up to whole periods."""
    return -(-max(distance, 0) // period) * period
