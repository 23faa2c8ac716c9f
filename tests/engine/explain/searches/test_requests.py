"""Requests far above what a node has: the search begins with what it could give."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from cpuctl.cpuset import CPUSet
from cpuctl.engine.explain.explanation import explain
from cpuctl.engine.explain.searches.changes import RequestChange
from cpuctl.engine.explain.searches.searches import Search
from cpuctl.engine.start import start_node
from cpuctl.machine.devices.inventory import DeviceGroup, DeviceInventory
from tests.engine.explain.stories import EIGHT, TWO_NODES, explained, found, named, story, told, whole

_SOME = 10
"""More trials than the sizes of these nodes call for are needless."""


def _asked_instead(search: Search) -> list[dict[str, str]]:
    changes = [each.change for each in search.found]
    return [
        {each.container: str(each.after) for each in change.amounts}
        for change in changes
        if isinstance(change, RequestChange)
    ]


def test_devices_far_beyond_the_pool() -> None:
    group = DeviceGroup(numa_nodes=CPUSet.parse("0"), total=5, healthy=3, free=3)
    one = story(
        TWO_NODES,
        named("a", whole(2, more="example.com/card=5000")),
        topology_manager_policy="restricted",
    )
    devices = DeviceInventory(resources={"example.com/card": (group,)})
    search = found(
        explain(told(replace(one, start=partial(start_node, TWO_NODES, devices=devices)))), "request"
    )
    assert _asked_instead(search) == [{"main": "3"}]
    assert search.runs < _SOME


def test_cpus_of_several_containers_far_beyond_the_node() -> None:
    search = found(explained(EIGHT, named("a", whole(5000, "one"), whole(5000, "two"))), "request")
    assert _asked_instead(search) == [{"one": "3", "two": "3"}]
    assert search.runs < 2 * _SOME
