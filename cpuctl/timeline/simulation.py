"""The simulation of a timeline: due work is done first, then events, then their consequences.

Time is a number: an hour without events takes no longer than a second. At each moment, the kubelet's own work
comes first; each event sees the effects of earlier ones, and each expectation all immediate effects.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cpuctl.errors import InputError
from cpuctl.timeline import kubelet_loops
from cpuctl.timeline.events import apply_event
from cpuctl.timeline.kubelet_start import start_kubelet
from cpuctl.timeline.model import Moment, Timeline
from cpuctl.timeline.pods.lifecycle import schedule
from cpuctl.timeline.pods.resize import retry_deferred
from cpuctl.timeline.report.chart import NO_OWNERS, Sample, owners
from cpuctl.timeline.report.views import Failure, check
from cpuctl.timeline.world.disk import WrittenCPUs, WrittenMemory
from cpuctl.timeline.world.entries import MOVES
from cpuctl.timeline.world.kubelet_process import JobKind, KubeletProcess
from cpuctl.timeline.world.world import World

if TYPE_CHECKING:
    from cpuctl.timeline.report.runtime_calls import RuntimeCalls

MAX_STEPS = 1_000_000
"""The maximum number of passes and syncs of a replay: more indicate a mistake in the timeline."""


class Simulation:
    """A world and the results of its simulation so far.

    ``checked`` counts expectations, ``settled`` the entries whose consequences have been applied. ``calls``
    collects the answers of a runtime's plugin, if requested.
    """

    def __init__(self, timeline: Timeline, calls: RuntimeCalls | None = None) -> None:
        self.world = World(timeline, calls)
        self.calls = calls
        self.samples: list[Sample] = []
        self.failures: list[Failure] = []
        self.checked = 0
        self.steps = 0
        self.settled = 0
        if timeline.running:
            start_kubelet(self.world)
        self._settle()

    def play(self, moments: Sequence[Moment], until: int) -> Iterator[int]:
        """Simulate moments up to a time; yield the time after every step."""
        for moment in moments:
            yield from self._advance(moment.at)
            if moment.event is not None:
                apply_event(self.world, moment.event)
                self._settle()
                yield from self._advance(moment.at)
            if moment.expect:
                self.failures += check(self.world, moment)
                self.checked += 1
            yield self.world.now
        yield from self._advance(until)

    def _advance(self, to: int) -> Iterator[int]:
        while (due := self._next_due()) is not None and due <= to:
            self.world.now = due
            self._settle(retried=self._work())
            self.steps += 1
            if self.steps > MAX_STEPS:
                raise InputError(
                    f"more than {MAX_STEPS:,} steps until {due // 10**9}s of the timeline",
                    where="the timeline",
                    hint="use a longer cpuManagerReconcilePeriod or an earlier until",
                )
            yield due
        self.world.now = max(self.world.now, to)

    def _next_due(self) -> int | None:
        times = [self.world.starts_at]
        if self.world.kubelet is not None:
            times.append(self.world.kubelet.next_due())
        return min((time for time in times if time is not None), default=None)

    def _work(self) -> bool:
        """Do the first work that is due now; return whether that was a retry of resizes."""
        world = self.world
        if world.starts_at is not None and world.starts_at <= world.now:
            world.starts_at = None
            start_kubelet(world)
            return False
        return world.kubelet is not None and _work_of(world, world.kubelet)

    def _notify_runtime(self) -> None:
        if self.calls is not None:
            self.calls.settled(self.world)

    def _settle(self, *, retried: bool = False) -> None:
        """Apply immediate consequences: bind pods, write files, and record changes.

        A repeated refusal of a resize is not reported, but may have side effects.
        """
        self._notify_runtime()
        schedule(self.world)
        self._notify_runtime()
        entries = self.world.entries
        moved = retried or any(entry.kind in MOVES for entry in entries[self.settled :])
        self.settled = len(entries)
        if not moved:
            return
        if self.world.kubelet is not None:
            _persist(self.world, self.world.kubelet)
        found = owners(self.world, self.samples[-1].owners if self.samples else NO_OWNERS)
        if self.samples and self.samples[-1].at == self.world.now:
            self.samples.pop()
        if not self.samples or self.samples[-1].owners != found:
            self.samples.append(Sample(self.world.now, found))


def _work_of(world: World, kubelet: KubeletProcess) -> bool:
    following, retry = kubelet.next_pass(), kubelet.next_retry()
    if following is not None and following <= world.now:
        kubelet_loops.reconcile(world, kubelet)
    elif kubelet.jobs and kubelet.jobs[0].at <= world.now:
        job = kubelet.take_job()
        sync = kubelet_loops.sync_pod if job.work is JobKind.SYNC else kubelet_loops.sync_volumes
        sync(world, kubelet, job.uid)
    elif retry is not None and retry <= world.now:
        retry_deferred(world, kubelet)
        return True
    return False


def _persist(world: World, kubelet: KubeletProcess) -> None:
    """Write the state files that have changed."""
    state, memory = kubelet.node.state_file(), kubelet.node.memory.state_file()
    if state != kubelet.written:
        kubelet.written = state
        world.disk.cpu = WrittenCPUs(state, kubelet.reader)
    if memory != kubelet.written_memory:
        kubelet.written_memory = memory
        world.disk.memory = WrittenMemory(memory, kubelet.reader)
