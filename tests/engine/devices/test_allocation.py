"""Choosing devices for a container: first reusable ones, then near ones, others, and those without a node."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpuctl.cpuset import CPUSet
from cpuctl.engine.devices.allocation import Chosen, choose
from cpuctl.engine.devices.state import DevicePool
from cpuctl.engine.masks import NO_NODES, NodeMask


def mask(text: str) -> int:
    return CPUSet.parse(text).mask


def pool(words: str) -> DevicePool:
    """Parse ``0:0-2 0-1:3 :4``: the nodes next to devices, and the devices."""
    pairs = (word.split(":") for word in words.split())
    by_nodes = {NodeMask(mask(nodes)): mask(devices) for nodes, devices in pairs}
    return DevicePool(by_nodes=by_nodes, healthy=sum(by_nodes.values()))


def chosen(devices: DevicePool, count: int, free: str, again: str = "", near: str | None = None) -> str:
    """Format the chosen devices, with a question mark if others would have been as good."""
    affinity = None if near is None else NodeMask(mask(near))
    found = choose(devices, count, free=mask(free), reusable=mask(again), affinity=affinity)
    return "too few" if found is None else f"{CPUSet(found.devices)}{'?' * found.by_chance}"


SPREAD = pool("0:0-2 1:3-6 2:7 :8-9")


@pytest.mark.parametrize(
    ("count", "free", "again", "near", "wanted"),
    [
        # Without an affinity, any device is allowed; nodes with the fewest devices come first.
        (1, "0-9", "", None, "7?"),
        (3, "0-9", "", None, "7-9?"),
        (5, "0-9", "", None, "0-1,7-9?"),
        (10, "0-9", "", None, "0-9"),
        (2, "0-3", "", None, "0,3?"),
        (2, "0-2", "", None, "0-1"),
        (3, "0,2,4-6", "", None, "0,2,4?"),
        (2, "0,2,5", "", None, "0,5?"),
        (11, "0-9", "", None, "too few"),
        # The affinity comes first, then devices of other nodes, then devices without a node.
        (2, "0-9", "", "1", "3-4"),
        (4, "0-9", "", "1", "3-6"),
        (5, "0-9", "", "1", "3-7?"),
        (5, "0-6", "", "1", "0,3-6"),
        (5, "3-9", "", "1", "3-7?"),
        (6, "3-6,8-9", "", "1", "3-6,8-9"),
        (9, "0-9", "", "1", "0-8?"),
        (3, "0,2,4-6", "", "0", "0,2,4"),
        (3, "0-9", "", "0-1", "0-2?"),
        (4, "1-6", "", "0-1", "1-4?"),
        # Reusable devices come before all others.
        (1, "0-6", "7", "1", "7"),
        (2, "0-6", "7", "1", "3,7"),
        (2, "0-6", "2,7", "1", "2,7"),
        (1, "", "2,7", "1", "2?"),
        (2, "", "7", "2", "too few"),
    ],
)
def test_order(count: int, free: str, again: str, near: str | None, wanted: str) -> None:
    assert chosen(SPREAD, count, free, again, near) == wanted


def test_with_equal_numbers_the_lower_nodes_come_first() -> None:
    assert chosen(pool("1:0-1 0:2-3"), 1, "0-3") == "2?"


def test_an_affinity_is_ignored_if_no_device_has_a_node() -> None:
    assert chosen(pool(":0-3"), 2, "0-3", near="0") == "0-1"


@st.composite
def requests(draw: st.DrawFn) -> tuple[DevicePool, int, int, int, NodeMask | None]:
    places = draw(st.lists(st.integers(0, 7).map(NodeMask), min_size=1, max_size=12))
    by_nodes: dict[NodeMask, int] = {}
    for device, nodes in enumerate(places):
        by_nodes[nodes] = by_nodes.get(nodes, 0) | 1 << device
    everything = (1 << len(places)) - 1
    free = draw(st.integers(0, everything))
    again = draw(st.integers(0, everything)) & ~free
    count = draw(st.integers(0, len(places)))
    affinity = draw(st.none() | st.integers(1, 7).map(NodeMask))
    return DevicePool(by_nodes=by_nodes, healthy=everything), count, free, again, affinity


@given(requests())
def test_all_devices_of_one_kind_are_used_before_the_next(
    request: tuple[DevicePool, int, int, int, NodeMask | None],
) -> None:
    devices, count, free, again, affinity = request
    found = choose(devices, count, free=free, reusable=again, affinity=affinity)
    if (free | again).bit_count() < count:
        assert found is None
        return
    assert isinstance(found, Chosen)
    assert found.devices.bit_count() == count
    near = sum(mask for nodes, mask in devices.by_nodes.items() if nodes & (affinity or -1)) & free
    nowhere = free & devices.by_nodes.get(NO_NODES, 0)
    kinds = [again, near, free & ~near & ~nowhere, nowhere] if affinity else [again, free]
    first = 0
    for kind in kinds:
        first += (found.devices & kind).bit_count()
        everything_before = found.devices & kind == kind
        assert everything_before or first == count
    assert first == count
