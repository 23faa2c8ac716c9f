"""What-if: with ``best-effort``, rather have the CPUs on one NUMA node than near a device that is elsewhere.

Source: kubernetes issue 106270 (open) and pull request 106308 (closed). Where CPUs are free on one NUMA
node and the device is next to another, a kubelet of today aims at the device's node and takes the CPUs that
are missing from the other. Maintainers found that useful, and no longer best effort.
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
