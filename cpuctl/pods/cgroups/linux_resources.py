"""CPU and huge pages in the kernel's units: shares, weights, quotas, page size names.

Rule: ``pkg/kubelet/cm/helpers_linux.go`` and ``opencontainers/cgroups``. Integers, division truncates.
"""

from __future__ import annotations

from math import ceil, log2

from cpuctl.quantity import Quantity

DEFAULT_PERIOD = 100_000
"""The default CFS period of kernel and kubelet, in microseconds."""
NO_QUOTA = -1
"""The value that a kubelet writes for "no limit"; 0 means that it writes nothing."""

_MIN_SHARES, _MAX_SHARES = 2, 262_144
_MAX_WEIGHT = 10_000
_MIN_QUOTA = 1000
_PAGE_UNITS = ("B", "KB", "MB", "GB", "TB", "PB")


def shares_of(milli_cpu: int) -> int:
    """Convert milli-CPUs to ``cpu.shares`` of cgroup v1, clamped to the kernel's bounds."""
    return min(max(milli_cpu * 1024 // 1000, _MIN_SHARES), _MAX_SHARES) if milli_cpu else _MIN_SHARES


def quota_of(milli_cpu: int, period: int = DEFAULT_PERIOD) -> int:
    """Convert milli-CPUs to microseconds in each *period*, at least 1000; 0 means no limit."""
    return max(milli_cpu * period // 1000, _MIN_QUOTA) if milli_cpu else 0


def linear_weight(shares: int) -> int:
    """Convert shares to ``cpu.weight`` as kubelets do, and runtimes up to runc 1.3.1 and crun 1.22."""
    if shares >= _MAX_SHARES:
        return _MAX_WEIGHT
    return 1 + (shares - _MIN_SHARES) * (_MAX_WEIGHT - 1) // (_MAX_SHARES - _MIN_SHARES)


def curved_weight(shares: int) -> int:
    """Convert shares to ``cpu.weight`` as runc does from 1.3.2 on, crun from 1.23: 1024 becomes 100."""
    if shares <= _MIN_SHARES:
        return min(shares, 1)
    if shares >= _MAX_SHARES:
        return _MAX_WEIGHT
    power = log2(shares)
    return ceil(10 ** ((power * power + 125 * power) / 612 - 7 / 34))


def shares_of_weight(weight: int) -> int:
    """Convert ``cpu.weight`` back as kubelets do; even a linear weight does not round-trip exactly."""
    return (weight - 1) * (_MAX_SHARES - _MIN_SHARES) // (_MAX_WEIGHT - 1) + _MIN_SHARES


def systemd_quota(quota: int, period: int) -> int:
    """Round a quota (us in each *period*) up to systemd's granularity: whole hundredths of a CPU."""
    if quota <= 0 or period <= 0:
        return quota
    per_second = quota * 1_000_000 // period
    return -(-per_second // 10_000) * 10_000 * period // 1_000_000


def page_size(resource: str) -> int | None:
    """Return the page size of ``hugepages-2Mi`` in bytes; None if the name contains no size."""
    try:
        size = Quantity.parse(resource.removeprefix("hugepages-")).value
    except ValueError:
        return None
    return size if size > 0 else None


def page_size_name(size: int) -> str:
    """Return a page size as in the names of hugetlb files: 2097152 is ``2MB``."""
    unit = 0
    while size % 1024 == 0 and unit < len(_PAGE_UNITS) - 1:
        size, unit = size // 1024, unit + 1
    return f"{size}{_PAGE_UNITS[unit]}"
