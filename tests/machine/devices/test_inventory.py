"""Inventories of devices: what contradicts itself is none."""

from __future__ import annotations

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.machine.devices.inventory import DeviceGroup, HeldDevices
from tests.support.devices import group, inventory


@pytest.mark.parametrize(("total", "healthy", "free"), [(1, 2, 0), (2, 1, 2), (1, 1, -1)])
def test_counts_that_contradict_each_other_are_no_group(total: int, healthy: int, free: int) -> None:
    with pytest.raises(ValueError, match="expected free <= healthy <= total"):
        DeviceGroup(numa_nodes=CPUSet(), total=total, healthy=healthy, free=free)


def test_nobody_holds_more_than_is_in_use() -> None:
    holder = HeldDevices(namespace="d", pod="p", container="c", count=2)
    with pytest.raises(ValueError, match="more than are in use"):
        DeviceGroup(numa_nodes=CPUSet(), total=2, healthy=2, free=1, held=(holder,))


def test_an_inventory_is_bounded() -> None:
    with pytest.raises(ValueError, match="more than 1000000"):
        inventory(gpu=[group("0", 600_000), group("1", 600_000)])
