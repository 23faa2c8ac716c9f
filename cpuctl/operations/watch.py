"""Watching a node: it is audited when something has changed, and each change is reported once.

The kernel reports changes of files and control groups (``watching/places.py``); threads, interrupts and the
rest are sampled (``watching/sampling.py``). Both only trigger an inspection of the whole node, like that of
``cpuctl audit``, which alone produces findings.
"""

from __future__ import annotations

import math
import select
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.audit.checks import audit, unchecked
from cpuctl.audit.finding import Finding
from cpuctl.audit.snapshot import NodeSnapshot
from cpuctl.capture.collected import no_progress
from cpuctl.capture.kubelet.running import PROGRAMS
from cpuctl.errors import CpuctlError
from cpuctl.inputs.live_node import LiveNode, NodeInputs, load_node, observe_settled
from cpuctl.inputs.sources import Sources
from cpuctl.machine.recording_layout import (
    CDI_FILES,
    CONFIG,
    CONTAINER_LOGS,
    IRQBALANCE_FILES,
    STATE_FILES,
)
from cpuctl.machine.tree import DirectoryTree
from cpuctl.records import Record
from cpuctl.state_names import CLAIMS_FILE, CPU_FILE, DEVICES_FILE, MEMORY_FILE
from cpuctl.watching.ledger import Change, Kind, Ledger, Thing
from cpuctl.watching.pace import Pace
from cpuctl.watching.places import Followed, Places, followed_groups, topmost_groups
from cpuctl.watching.sampling import Interest, Sample, Sampler
from cpuctl.watching.things import (
    Timing,
    file_things,
    finding_things,
    gap_things,
    kubelet_things,
    pod_things,
)

if TYPE_CHECKING:
    from cpuctl.answers.checkpoint import StateFileName

_LEAST_PAUSE = 0.05
"""Seconds during which notices are collected, to be handled together."""
_LONGEST_PAUSE = 3600.0
"""Seconds: one wait may last at most 2^31 - 1 milliseconds in the kernel; longer waits are repeated."""
_KNOWN_FROM_THE_START = (Kind.POD, Kind.STATE_FILE, Kind.KUBELET)


class WatchInputs(Record):
    """Which node is watched, by which checks, and how closely: *every*, *full* and *settle* are seconds.

    *share* is the part of one CPU that audits may use in the long run; samples may use as much again.
    """

    node: NodeInputs
    checks: tuple[str, ...]
    every: float = 2.0
    full: float = 300.0
    settle: float = 10.0
    share: float = 0.02


class Look(NamedTuple):
    """One inspection of the whole node: what an audit uses, and what it found."""

    node: LiveNode
    snapshot: NodeSnapshot
    findings: tuple[Finding, ...]
    sources: Sources


class Observation(NamedTuple):
    """What to report now: changes, the inspection if there was one, or why it failed, and notes.

    ``failure`` is why the node could not be inspected, empty if this was already reported.
    """

    changes: tuple[Change, ...] = ()
    look: Look | None = None
    failure: str = ""
    note: str = ""


def inspect(inputs: WatchInputs) -> Look:
    """Inspect the whole node, starting with its configuration; raise CpuctlError for unusable inputs."""
    sources = Sources()
    loaded = load_node(inputs.node, sources, goes_without=True)
    node, snapshot, _ = observe_settled(loaded, no_progress)
    return Look(node, snapshot, audit(snapshot, inputs.checks), sources)


class Watch:
    """Watches a node; *waker* is a descriptor that becomes readable when it is time to stop.

    *silence* is the number of seconds after which it signals that it is alive, although there is nothing to
    report. It also stops when the pipe *output* is no longer read (``unread``); None if this is not a pipe.
    """

    def __init__(
        self, inputs: WatchInputs, waker: int, *, silence: float = math.inf, output: int | None = None
    ) -> None:
        root = Path(inputs.node.root or "/")
        tree = DirectoryTree(root)
        self._inputs = inputs
        self._waker = waker
        self._silence = max(silence, _LEAST_PAUSE)
        self._output = output
        self.unread = False
        self._sampler = Sampler(tree, live=root.resolve() == Path("/"))
        self._places = Places(root, tree.followed)
        self._ledger = Ledger()
        self._pace = Pace(inputs.full, inputs.share)
        self._interest, self._sample = Interest(), Sample()
        self._next_sample = 0.0
        self._pods_file = _mark_of(inputs.node.pods)
        self._texts: Mapping[str, str] = {}
        self._written = 0.0
        self._failure = self._problem = ""
        self._retry = math.inf

    def begin(self) -> Observation:
        """Inspect the node for the first time; raise CpuctlError if that is not possible."""
        started = time.process_time()
        look = inspect(self._inputs)
        self._texts = _checksums(look)
        self._written = time.monotonic() - _age_of_state(look, self._inputs.node.root)
        known = (each for each in self._things(look) if each.kind in _KNOWN_FROM_THE_START)
        self._ledger.begin(known)
        return self._taken_in(look, started)

    def wait(self, until: float) -> Observation | None:
        """Wait for something to report; return None at the moment *until*, or when it is time to stop.

        The result is usually empty: it shows that the watch is alive.
        """
        spoken = time.monotonic()
        while (now := time.monotonic()) < until:
            look = self._pace.next_inspection(min(self._ledger.due, self._retry))
            if now >= look:
                return self._inspect_again()
            if now >= spoken + self._silence:
                return Observation()
            if self._paused(min(until, look, self._next_sample, spoken + self._silence) - now):
                return None
            now = time.monotonic()
            if self._places.read():
                self._pace.noticed(now)
            if now >= self._next_sample:
                if self._sample_differs(now):
                    self._pace.noticed(now)
                return Observation()
        return None

    def close(self) -> None:
        """Release the kernel's resources."""
        self._places.close()

    def _paused(self, seconds: float) -> bool:
        """Wait for notices or the end of a pause; return whether it is time to stop."""
        if self._leaves(_readable(self._waker, seconds=min(seconds, _LEAST_PAUSE), output=self._output)):
            return True  # notices of a burst have been collected meanwhile
        more = [] if (notices := self._places.fileno()) is None else [notices]
        seconds -= _LEAST_PAUSE
        return self._leaves(_readable(self._waker, *more, seconds=seconds, output=self._output))

    def _leaves(self, ready: list[int]) -> bool:
        self.unread = self._output is not None and self._output in ready
        return self.unread or self._waker in ready

    def _sample_differs(self, now: float) -> bool:
        before, pods, started = self._sample, self._pods_file, time.process_time()
        self._sample = self._sampler.take(self._interest)
        self._pods_file = _mark_of(self._inputs.node.pods)
        self._next_sample = now + self._pace.pause(self._inputs.every, time.process_time() - started)
        return (before, pods) != (self._sample, self._pods_file)

    def _inspect_again(self) -> Observation:
        started = time.process_time()
        # Sampled first, so that changes during the inspection cause another one.
        self._sample_differs(time.monotonic())
        try:
            return self._taken_in(inspect(self._inputs), started)
        except CpuctlError as error:
            self._pace.looked(time.monotonic(), time.process_time() - started)
            self._retry = time.monotonic() + self._inputs.settle
            stated, self._failure = self._failure, str(error)
            return Observation(failure=self._failure if self._failure != stated else "")

    def _taken_in(self, look: Look, started: float) -> Observation:
        now = time.monotonic()
        if (texts := _checksums(look)) != self._texts:
            self._texts, self._written = texts, now
        changes = self._ledger.see(self._things(look), now)
        files = _files_of(look)
        groups, above = followed_groups(look.snapshot)
        unwatched = self._places.follow(Followed(files, (CONTAINER_LOGS,), groups, above))
        sampled = topmost_groups(look.snapshot) if self._places.problem else ()
        interest = Interest(look.snapshot.exclusive, files, sampled)
        if interest != self._interest:
            self._interest, unwatched = interest, True
            self._sample_differs(now)
        self._failure, self._retry = "", math.inf
        note = _note(self._problem, self._places.problem)
        self._problem = self._places.problem
        self._pace.looked(time.monotonic(), time.process_time() - started)
        if unwatched:
            # Changes there since the node was inspected have not been reported.
            self._pace.noticed(time.monotonic())
        return Observation(changes, look, note=note)

    def _things(self, look: Look) -> list[Thing]:
        period = look.node.kubelet.config.cpu_manager_reconcile_period / 1e9
        timing = Timing(self._inputs.settle, period, self._written)
        return [
            *kubelet_things(_kubelets(look.snapshot), timing),
            *file_things(look.snapshot, self._texts),
            *pod_things(look.snapshot, timing),
            *finding_things(look.findings, timing),
            *gap_things(unchecked(look.snapshot, self._inputs.checks), timing),
        ]


def _readable(*handles: int, seconds: float, output: int | None) -> list[int]:
    """Wait until a handle can be read, or *output* is no longer read; return those handles."""
    poll = select.poll()
    for handle in handles:
        poll.register(handle, select.POLLIN)
    if output is not None:
        poll.register(output, 0)  # a missing reader is always reported
    return [handle for handle, _ in poll.poll(max(0.0, min(seconds, _LONGEST_PAUSE)) * 1000)]


def _note(before: str, now: str) -> str:
    if now == before:
        return ""
    if now:
        return f"inotify cannot watch everything ({now}): cgroups are sampled, too"
    return "inotify watches everything again: cgroups are no longer sampled"


def _checksums(look: Look) -> dict[str, str]:
    return {file.path: file.sha256 for file in look.node.state_files}


def _age_of_state(look: Look, root: str) -> float:
    """Return for how many seconds the CPU Manager's state has been unchanged."""
    try:
        written = Path(f"{root}{look.node.kubelet.config.root_dir}/{CPU_FILE}").stat().st_mtime
    except OSError:
        return math.inf
    return max(0.0, time.time() - written)


def _mark_of(path: str) -> tuple[int, int, int] | None:
    """Return the metadata of a file that change when it is written; None if no file is named."""
    try:
        found = Path(path).stat() if path else None
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino) if found else None


def _files_of(look: Look) -> tuple[str, ...]:
    """Return the files with the kubelet's state, and the others that an audit uses."""
    root = look.node.kubelet.config.root_dir.strip("/")
    config = look.sources.entries["kubeletConfiguration"]["value"].removeprefix("/")
    states = (f"{root}/{STATE_FILES[name]}" for name in _STATES)
    return tuple(dict.fromkeys((*states, CONFIG, config, *IRQBALANCE_FILES, *CDI_FILES)))


_STATES: tuple[StateFileName, ...] = (CPU_FILE, MEMORY_FILE, DEVICES_FILE, CLAIMS_FILE)


def _kubelets(snapshot: NodeSnapshot) -> set[int]:
    return {task.pid for task in snapshot.others if task.comm in PROGRAMS and task.tid == task.pid}
