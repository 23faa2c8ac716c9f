"""Sets of CPUs, many at once."""

from __future__ import annotations

from collections.abc import Iterable

from cpuctl.cpuset import CPUSet


def union(sets: Iterable[CPUSet]) -> CPUSet:
    """Return the CPUs that are in any of the sets."""
    mask = 0
    for each in sets:
        mask |= each.mask
    return CPUSet(mask)
