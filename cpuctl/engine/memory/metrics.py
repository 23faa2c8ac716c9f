"""The Memory Manager's metrics.

Rule: kubelet v1.36 ``memorymanager/policy_static.go``.
"""

from __future__ import annotations

from collections import Counter

from cpuctl.engine.changeable import Changeable


class MemoryMetrics(Changeable):
    """Counters since the kubelet's start.

    ``allocations``, ``errors`` and ``assignments`` exist with the gate PodLevelResourceManagers only.
    """

    def __init__(self) -> None:
        self.pinning_requests = 0
        self.pinning_errors = 0
        self.allocations: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.assignments: Counter[str] = Counter()

    def container(self, *, known: bool, failed: bool) -> None:
        """Count one container that asks for memory; *known* when it had it already."""
        self.pinning_requests += 1
        if failed:
            self.pinning_errors += 1
            self.errors["node"] += 1
        elif not known:
            self.allocations["node"] += 1
            self.assignments["node_exclusive"] += 1

    def pod(self, exclusive: list[bool], *, failed: bool) -> None:
        """Count a pod that asks for memory as a whole; *exclusive* tells which containers have their own."""
        if failed:
            self.pinning_errors += 1
            self.errors["pod"] += 1
            return
        for own in exclusive:
            self.allocations["pod"] += 1
            self.pinning_requests += own
            self.assignments["pod_exclusive" if own else "pod_shared"] += 1
