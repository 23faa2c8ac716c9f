"""How far a container's CPUs are its own, and what that means for CFS quotas.

Rule: KEP-5526 and kubelet v1.36 ``pkg/kubelet/cm``; quotas of exclusive CPUs are lifted since 1.33 (gate
DisableCPUQuotaWithExclusiveCPUs).
"""

from __future__ import annotations

from enum import StrEnum

from cpuctl.engine.pod_level import guaranteed_equivalent
from cpuctl.pods.model import Container


class Isolation(StrEnum):
    """Whom a container shares its CPUs with: nobody, its own pod, or the whole node."""

    CONTAINER = "container"
    POD = "pod"
    HOST = "host"


def isolation_of(container: Container, *, assigned: bool, divided: bool) -> Isolation:
    """Tell a container's level; *divided* is whether its pod has CPUs as a whole (KEP-5526)."""
    if not assigned:
        return Isolation.HOST
    if not divided:
        return Isolation.CONTAINER
    own = guaranteed_equivalent(container) and container.resources.limits["cpu"].is_integral_cpu
    return Isolation.CONTAINER if own else Isolation.POD
