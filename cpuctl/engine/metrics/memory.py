"""The Memory Manager's metrics.

Rule: kubelet v1.36 ``memorymanager/policy_static.go``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace


@dataclass(slots=True)
class MemoryMetrics:
    """Counters since the kubelet's start.

    ``allocations``, ``errors`` and ``assignments`` exist with the gate PodLevelResourceManagers only.
    """

    pinning_requests: int = 0
    pinning_errors: int = 0
    allocations: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    assignments: Counter[str] = field(default_factory=Counter)

    def copy(self) -> MemoryMetrics:
        """Return metrics of their own with the same figures."""
        return replace(
            self,
            allocations=self.allocations.copy(),
            errors=self.errors.copy(),
            assignments=self.assignments.copy(),
        )

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
