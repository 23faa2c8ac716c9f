"""Choosing devices for one container: first those it may use again, then near its NUMA nodes, then others.

Rule: kubelet v1.36 ``pkg/kubelet/cm/devicemanager/manager.go``, ``devicesToAllocate``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from cpuctl.cpuset import CPUSet
from cpuctl.engine.devices.state import DevicePool
from cpuctl.engine.masks import NodeMask


class Chosen(NamedTuple):
    """Some devices (a mask), and whether others would have done as well that lie elsewhere."""

    devices: int
    by_chance: bool


def choose(
    pool: DevicePool, count: int, *, free: int, reusable: int, affinity: NodeMask | None
) -> Chosen | None:
    """Choose *count* of the *free* and *reusable* devices (masks), None where there are too few.

    *affinity* is the mask of NUMA nodes that the Topology Manager chose, None without one.
    """
    taken, by_chance = 0, False
    for tier, alternatives in ((reusable, reusable), *_tiers(pool, free, affinity)):
        missing = count - taken.bit_count()
        if alternatives.bit_count() > missing > 0:
            by_chance = by_chance or len(pool.counts(alternatives)) > 1
        taken |= _first(pool, tier, missing)
    return Chosen(taken, by_chance) if taken.bit_count() == count else None


def _tiers(pool: DevicePool, free: int, affinity: NodeMask | None) -> Iterator[tuple[int, int]]:
    """Yield free devices: near the affinity, elsewhere, nowhere; all at once without an affinity.

    With them comes what a plugin may prefer instead: of those that are not near all are the same to it.
    """
    if affinity is None or not pool.has_topology:
        yield free, free
        return
    near = nowhere = 0
    for nodes, devices in pool.by_nodes.items():
        if nodes & affinity:
            near |= free & devices
        elif not nodes:
            nowhere = free & devices
    yield near, near
    yield free & ~near & ~nowhere, free & ~near
    yield nowhere, nowhere


def _first(pool: DevicePool, devices: int, count: int) -> int:
    """Take some devices, those first that lie where there are the fewest: one choice of many."""
    taken = 0
    for nodes, _ in sorted(pool.counts(devices).items(), key=lambda item: item[::-1]):
        taken |= _lowest(devices & pool.by_nodes[nodes], count - taken.bit_count())
    return taken


def _lowest(devices: int, count: int) -> int:
    taken = 0
    for first, last in CPUSet(devices).runs():
        length = min(last + 1 - first, count)
        if length <= 0:
            break
        taken |= (1 << length) - 1 << first
        count -= length
    return taken
