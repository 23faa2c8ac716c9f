"""What-if: with ``best-effort``, prefer CPUs on one NUMA node to CPUs near a device on another.

Source: kubernetes issue 106270 (open) and pull request 106308 (closed). If CPUs are free on one NUMA node and
the device is on another, current kubelets choose the device's node and take the missing CPUs from the other.
Maintainers considered this policy useful, but no longer best effort.
"""

from __future__ import annotations

from cpuctl.policies.model import Policy


class FavourCPUs(Policy):
    """Prefer CPUs on one NUMA node to CPUs near a device on another.

    If no NUMA nodes are preferred by all managers, those that the CPU Manager prefers are used, first
    those that the Memory Manager also prefers; devices may be on any node.
    """

    alignment = "cpu"
    source = "kubernetes issue 106270, pull request 106308"
