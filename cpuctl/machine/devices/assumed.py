"""Devices that nobody described: a file to fill in, or enough of them everywhere for granted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cpuctl.cpuset import CPUSet
from cpuctl.machine.devices.inventory import MAX_DEVICES, DeviceGroup, DeviceInventory

if TYPE_CHECKING:
    from cpuctl.machine.cadvisor.machine_info import MachineInfo

_ENOUGH = 1024
"""Devices next to one NUMA node: more than pods of one node ask for."""


def with_assumed(
    told: DeviceInventory | None, resources: Sequence[str], info: MachineInfo
) -> DeviceInventory:
    """Add resources with enough free devices next to every NUMA node."""
    nodes = [CPUSet.of([number]) for number in _numa_nodes(info)] or [CPUSet()]
    known = dict(told.resources) if told is not None else {}
    taken = sum(group.total for groups in known.values() for group in groups)
    each = min(_ENOUGH, max(MAX_DEVICES - taken, 0) // (len(nodes) * len(resources)))
    groups = tuple(DeviceGroup(numa_nodes=node, total=each, healthy=each, free=each) for node in nodes)
    return DeviceInventory(resources={**known, **dict.fromkeys(resources, groups)})


def draft(counts: dict[str, dict[str, int]]) -> dict[str, Any]:
    """Make the file that ``--devices`` takes, of devices by resource and NUMA node."""
    return {"apiVersion": "cpuctl/v1alpha1", "kind": "Devices", "resources": counts}


def draft_text(resources: Sequence[str], info: MachineInfo) -> str:
    """Write the file for some resources in one line, zeros to be filled in."""
    nodes = {str(number): 0 for number in _numa_nodes(info)} or {"none": 0}
    return json.dumps(draft({name: dict(nodes) for name in resources}))


def _numa_nodes(info: MachineInfo) -> list[int]:
    """List the nodes that devices can lie next to; a package of unknown number (-1) is none."""
    return sorted(node.id for node in info.nodes if node.id >= 0)
