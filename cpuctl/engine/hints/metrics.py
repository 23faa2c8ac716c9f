"""The Topology Manager's metrics.

Rule: kubelet v1.36 ``pkg/kubelet/cm/topologymanager``. How long an admission takes is not among them: a
dry run cannot know.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from cpuctl.engine.changeable import Changeable
from cpuctl.engine.hints.topology_manager import Asked, Merged, TopologyManager


class TopologyMetrics(Changeable):
    """Counters since the kubelet's start; ``aligned`` and ``unaligned`` go by scope."""

    def __init__(self) -> None:
        self.requests = 0
        self.errors = 0
        self.aligned: Counter[str] = Counter()
        self.unaligned: Counter[str] = Counter()

    def count(self, manager: TopologyManager, *, admitted: bool, placed: int, asked: Sequence[Asked]) -> None:
        """Count one admission of a pod, of which so many containers were *placed* after what was *asked*."""
        self.requests += 1
        self.errors += not admitted and manager.policy != "none"
        if manager.policy != "single-numa-node":
            # Only this policy's containers are known to be aligned.
            return
        self.aligned[manager.scope] += placed if manager.scope == "container" else admitted
        self.unaligned[manager.scope] += any(
            isinstance(each.merged, Merged) and not each.merged.admit for each in asked
        )
