"""The declared list of what is not covered yet; it only ever shrinks.

A case on the list that passes all the same fails the run, so nothing stays on it by accident.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.conformance.corpus import Recorded


@dataclass(frozen=True, slots=True)
class Gap:
    """One kind of case that is not covered, and why."""

    why: str
    applies: Callable[[Recorded], bool]


def _operation(*names: str) -> Callable[[Recorded], bool]:
    return lambda recorded: recorded.operation in names


GAPS = (
    Gap("whole-node scenarios", _operation("node")),
    Gap("topology hints", _operation("mergeHints", "cpuHints")),
    Gap("state files", _operation("checkpointWrite", "checkpointRead")),
    Gap("derived pod values", _operation("qos", "podRequests", "podDefaults", "oomScoreAdj")),
    Gap("cgroup values", _operation("cgroupValues", "podCgroup")),
)
