"""Which containers hold which devices: the inventory, what is lent, and what is released."""

from __future__ import annotations

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.devices.state import DevicePool, DeviceState, device_pools
from cpuctl.engine.masks import NodeMask
from cpuctl.machine.devices.inventory import DeviceGroup, DeviceInventory, HeldDevices
from cpuctl.pods.model import Container, ContainerKind, Pod
from tests.support.changed import changed
from tests.support.devices import GPU
from tests.support.pods import stored
from tests.support.topologies import mask

NIC = "x.com/nic"
APP, INIT, SIDECAR = ContainerKind.APP, ContainerKind.INIT, ContainerKind.SIDECAR


def holder(name: str, count: int, unhealthy: int = 0, pod: str = "p") -> HeldDevices:
    return HeldDevices(namespace="default", pod=pod, container=name, count=count, unhealthy=unhealthy)


def test_the_devices_of_an_inventory_are_numbered_group_by_group() -> None:
    """Free devices come first, then those in use, then unhealthy ones, of which held ones come first."""
    first = DeviceGroup(
        numa_nodes=CPUSet.parse("0"),
        total=9,
        healthy=6,
        free=2,
        held=(holder("a", 2, 1), holder("b", 3, 1), holder("a", 0, pod="q")),
    )
    second = DeviceGroup(numa_nodes=CPUSet.parse("1"), total=2, healthy=2, free=0, held=(holder("a", 2),))
    third = DeviceGroup(numa_nodes=CPUSet.parse("0"), total=1, healthy=1, free=1)
    pools, state = device_pools(DeviceInventory(resources={GPU: (first, second, third), NIC: ()}))
    assert pools == {
        GPU: DevicePool(
            by_nodes={NodeMask(1): mask("0-8,11"), NodeMask(2): mask("9-10")}, healthy=mask("0-5,9-11")
        ),
        NIC: DevicePool(by_nodes={}, healthy=0),
    }
    assert state == changed(
        DeviceState(),
        in_use={GPU: mask("2-7,9-10"), NIC: 0},
        unclaimed={
            "default/p": {"a": {GPU: mask("2,6,9-10")}, "b": {GPU: mask("3-4,7")}},
            "default/q": {"a": {GPU: 0}},
        },
    )


def test_devices_are_counted_by_the_nodes_next_to_them() -> None:
    pool = DevicePool(by_nodes={NodeMask(1): 0b0011, NodeMask(2): 0b1100, NodeMask(4): 0}, healthy=0b1111)
    assert pool.counts() == {1: 2, 2: 2}
    assert pool.counts(0b0111) == {1: 2, 2: 1}
    assert pool.counts(0b0011) == {1: 2}
    assert pool.has_topology
    assert not DevicePool(by_nodes={NodeMask(0): 0b11, NodeMask(2): 0}, healthy=0b11).has_topology


def complete() -> DeviceState:
    """Return a state with all fields set."""
    return changed(
        DeviceState(),
        in_use={GPU: 0b1111, NIC: 0b1},
        held={"p": {"a": {GPU: 0b0001, NIC: 0b1}, "b": {GPU: 0b0010}}, "q": {"a": {GPU: 0b0100}}},
        unclaimed={"default/r": {"a": {GPU: 0b1000}}},
        reusable_by="p",
        reusable={GPU: 0b0001},
    )


def test_a_copy_is_equal_and_independent() -> None:
    state = complete()
    other = state.copy()
    assert other == state
    other.claim(stored(Pod(name="r", uid="uid-of-r", containers=(Container(name="a"),))))
    other.assign("uid-of-r", "a", NIC, 0b10)
    other.assign("p", "a", GPU, 0b1_0000)
    other.remember_reuse("p", "a", INIT)
    other.keep_only(["p"])
    assert state == complete()


def test_an_unknown_pod_holds_nothing() -> None:
    state = complete()
    assert [state.of_pod("p", GPU), state.of_pod("p", NIC), state.of_pod("s", GPU)] == [0b11, 0b1, 0]
    assert [state.assigned("p", "b", GPU), state.assigned("p", "b", NIC)] == [0b10, None]
    assert [state.assigned("p", "c", GPU), state.assigned("s", "a", GPU)] == [None, None]
    assert [state.reusable_for("p", GPU), state.reusable_for("p", NIC)] == [0b1, 0]
    assert state.reusable_for("q", GPU) == 0


def test_an_unclaimed_pod_keeps_its_devices_in_use() -> None:
    state = complete()
    state.claim(stored(Pod(name="other", uid="other", containers=())))
    state.keep_only(["p"])
    assert state == changed(
        DeviceState(),
        in_use={GPU: 0b1011, NIC: 0b1},
        held={"p": complete().held["p"]},
        unclaimed=complete().unclaimed,
        reusable_by="p",
        reusable={GPU: 0b0001},
    )


@pytest.mark.parametrize(
    ("steps", "lent"),
    [
        ([(INIT, 0b011)], 0b011),
        ([(INIT, 0b011), (INIT, 0b110)], 0b111),
        ([(INIT, 0b011), (APP, 0b001)], 0b010),
        ([(INIT, 0b011), (SIDECAR, 0b110)], 0b001),
        ([(APP, 0b011)], 0),
    ],
)
def test_what_init_containers_lend(steps: list[tuple[ContainerKind, int]], lent: int) -> None:
    state = changed(DeviceState(), in_use={GPU: 0})
    for number, (kind, devices) in enumerate(steps):
        state.assign("p", f"c{number}", GPU, devices)
        state.remember_reuse("p", f"c{number}", kind)
    assert state.reusable_for("p", GPU) == lent
    state.remember_reuse("q", "c0", APP)
    assert state.reusable_for("p", GPU) == 0
