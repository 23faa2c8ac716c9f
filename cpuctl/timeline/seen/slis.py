"""The three service level indicators that KEP-6122 names, of all scale-downs of a replay."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from cpuctl.timeline.world.scale_downs import ScaleDown


class Latency(NamedTuple):
    """How often something was measured, and its bounds in nanoseconds; None where it never was."""

    measured: int
    shortest: int | None
    longest: int | None

    @classmethod
    def of(cls, times: Iterable[int]) -> Latency:
        """Sum up."""
        values = sorted(times)
        return cls(len(values), values[0] if values else None, values[-1] if values else None)


class Slis(NamedTuple):
    """The three of them.

    ``notification``: from the decision until the volume tells it. ``application``: from the end of the delay
    until the CPU set is applied. ``late``: scale-downs told only after they were applied, or never.
    """

    notification: Latency
    application: Latency
    late: int


def slis_of(scale_downs: Iterable[ScaleDown]) -> Slis:
    """Compute the indicators; containers that expose nothing cannot be told anything."""
    found = list(scale_downs)
    return Slis(
        notification=Latency.of(
            each.told - each.decided for each in found if each.exposed and each.told is not None
        ),
        application=Latency.of(each.applied - each.due for each in found if each.applied is not None),
        late=sum(each.late for each in found),
    )
