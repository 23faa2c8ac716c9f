"""Every scale-down with its times: decided, visible inside, due, applied; and the timers of pending ones.

KEP-6122's SLIs are computed from these. The CPUs that a container will keep are in the CPU Manager's state
(``CPUManagerState.pending``); the delay is decided by one function, ``cpu.state.delay_of``.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import TypeAlias

from cpuctl.engine.cpu.state import CPUManagerState


class ScaleDownEnd(StrEnum):
    """How a scale-down ended."""

    OPEN = "open"
    APPLIED = "applied"
    REPLACED = "replaced"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    GONE = "gone"


Key: TypeAlias = tuple[str, str]
"""A container: its pod's UID, and its name."""


class ScaleDown:
    """One container that loses CPUs (masks). ``exposed``: its ``assigned.cpuset`` is readable inside.

    ``due`` is when its delay expires, ``notified`` when the volume showed the change, ``applied`` when its
    cgroup did; in nanoseconds, like ``decided``.
    """

    def __init__(  # noqa: PLR0913  # everything known at the decision
        self,
        *,
        pod: str,
        container: str,
        before: int,
        after: int,
        decided: int,
        due: int,
        exposed: bool,
        notified: int | None,
    ) -> None:
        self.pod = pod
        self.container = container
        self.before = before
        self.after = after
        self.decided = decided
        self.due = due
        self.exposed = exposed
        self.notified = notified
        self.applied: int | None = None
        self.end = ScaleDownEnd.OPEN

    @property
    def late(self) -> bool:
        """Whether the application was notified only after the CPUs were removed, or never."""
        return (
            self.exposed
            and self.applied is not None
            and (self.notified is None or self.notified > self.applied)
        )


class ScaleDowns:
    """All scale-downs, and the last one of each container by UID and name."""

    def __init__(self) -> None:
        self.all: list[ScaleDown] = []
        self.last: dict[Key, ScaleDown] = {}

    def begin(self, key: Key, scale_down: ScaleDown) -> None:
        """Start one; it replaces the container's open one."""
        self.finish(key, ScaleDownEnd.REPLACED)
        self.last[key] = scale_down
        self.all.append(scale_down)

    def finish(self, key: Key, end: ScaleDownEnd) -> None:
        """End a container's open one, if any."""
        found = self.last.get(key)
        if found is not None and found.end is ScaleDownEnd.OPEN:
            found.end = end

    def notified(self, key: Key, cpus: int, now: int) -> None:
        """Record that the volume shows these CPUs; if they are applied already, it does so too late."""
        found = self.last.get(key)
        if found is not None and found.notified is None and found.after == cpus:
            found.notified = now

    def applied(self, key: Key, cpus: int, now: int) -> None:
        """Record that the container's cgroup has these CPUs."""
        found = self.last.get(key)
        if found is not None and found.end is ScaleDownEnd.OPEN and found.after == cpus:
            found.applied = now
            found.end = ScaleDownEnd.APPLIED


class Timers:
    """The expiry of each waiting container's delay (nanoseconds, on a monotonic clock)."""

    def __init__(self) -> None:
        self.due: dict[Key, int] = {}

    def restart(self, state: CPUManagerState, uid: str, containers: Iterable[str], due: int) -> None:
        """Restart the timers of a pod's waiting containers, and drop those of others.

        Every resize processes all containers of its pod, so it restarts the delay of all that wait.
        """
        for name in containers:
            if state.awaited(uid, name) is None:
                self.due.pop((uid, name), None)
            else:
                self.due[uid, name] = due

    def next(self) -> int | None:
        """Return when the first timer is due."""
        return min(self.due.values(), default=None)

    def take_due(self, now: int) -> list[Key]:
        """Remove and return those whose delay has passed."""
        passed = [key for key, due in self.due.items() if due <= now]
        for key in passed:
            del self.due[key]
        return passed

    def waits(self, key: Key) -> bool:
        """Return whether a container's delay is running."""
        return key in self.due

    def forget(self, uid: str) -> None:
        """Forget a removed pod."""
        for key in [key for key in self.due if key[0] == uid]:
            del self.due[key]
