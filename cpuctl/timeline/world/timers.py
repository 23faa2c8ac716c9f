"""Timers of containers that are to give up CPUs: KEP-6122, on a clock that only goes forward.

What a container will have left is the CPU Manager's to know (``CPUManagerState.pending``); how long that
takes is told by one function, ``cpuctl.engine.resize.delay.delay_of``.
"""

from __future__ import annotations

from collections.abc import Iterable

from cpuctl.engine.cpu.state import CPUManagerState
from cpuctl.timeline.world.scale_downs import Key


class Timers:
    """When each waiting container's delay has passed (nanoseconds), by UID and name."""

    def __init__(self) -> None:
        self.due: dict[Key, int] = {}

    def restart(self, state: CPUManagerState, uid: str, containers: Iterable[str], due: int) -> None:
        """Start over for the containers of a pod that wait now, and forget about those that do not.

        Every resize goes through all containers of its pod: so does the delay of all that wait.
        """
        for name in containers:
            if state.awaited(uid, name) is None:
                self.due.pop((uid, name), None)
            else:
                self.due[uid, name] = due

    def next(self) -> int | None:
        """Tell when the first of them is due."""
        return min(self.due.values(), default=None)

    def take_due(self, now: int) -> list[Key]:
        """Remove and return those whose delay has passed."""
        passed = [key for key, due in self.due.items() if due <= now]
        for key in passed:
            del self.due[key]
        return passed

    def waits(self, key: Key) -> bool:
        """Tell whether a container's delay goes on."""
        return key in self.due

    def forget(self, uid: str) -> None:
        """Forget a pod that is gone."""
        for key in [key for key in self.due if key[0] == uid]:
            del self.due[key]
