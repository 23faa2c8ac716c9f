"""The devices that device plugins have on a node, described or assumed, as frozen values.

A device is next to one or several NUMA nodes, or its plugin does not report any. Devices of one resource next
to the same nodes are equivalent for a kubelet, so they are counted, not listed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cpuctl.cpuset import CPUSet

if TYPE_CHECKING:
    from cpuctl.machine.machine_info import MachineInfo


_ENOUGH = 1024
"""Devices next to one NUMA node: more than the pods of one node request."""


def with_assumed(
    known_devices: DeviceInventory | None, resources: Sequence[str], info: MachineInfo
) -> DeviceInventory:
    """Add resources with enough free devices next to every NUMA node."""
    nodes = [CPUSet.of([number]) for number in _numa_nodes(info)] or [CPUSet()]
    known = dict(known_devices.resources) if known_devices is not None else {}
    taken = sum(group.total for groups in known.values() for group in groups)
    each = min(_ENOUGH, max(MAX_DEVICES - taken, 0) // (len(nodes) * len(resources)))
    groups = tuple(DeviceGroup(numa_nodes=node, total=each, healthy=each, free=each) for node in nodes)
    return DeviceInventory(resources={**known, **dict.fromkeys(resources, groups)})


def with_unplaced(
    known_devices: DeviceInventory | None, resources: Sequence[str], count: int
) -> DeviceInventory:
    """Add resources with *count* free devices each, whose plugin does not report a NUMA node."""
    group = DeviceGroup(numa_nodes=CPUSet(), total=count, healthy=count, free=count)
    known = dict(known_devices.resources) if known_devices is not None else {}
    return DeviceInventory(resources={**known, **dict.fromkeys(resources, (group,))})


def draft(counts: dict[str, dict[str, int]]) -> dict[str, Any]:
    """Return the content of a ``--devices`` file, from devices by resource and NUMA node."""
    return {"apiVersion": "cpuctl/v1alpha1", "kind": "Devices", "resources": counts}


def draft_text(resources: Sequence[str], info: MachineInfo) -> str:
    """Write the file for some resources in one line, with zeros to be replaced."""
    nodes = {str(number): 0 for number in _numa_nodes(info)} or {"none": 0}
    return json.dumps(draft({name: dict(nodes) for name in resources}))


def _numa_nodes(info: MachineInfo) -> list[int]:
    """List the nodes that devices can be next to, without the package of unknown number (-1)."""
    return sorted(node.id for node in info.nodes if node.id >= 0)


MAX_DEVICES = 1_000_000
"""The most devices accepted in total: plugins whose devices are mere permissions offer thousands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldDevices:
    """Devices that a container of a running pod holds; the ``unhealthy`` are among the ``count``."""

    namespace: str
    pod: str
    container: str
    count: int
    unhealthy: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceGroup:
    """The devices of a resource next to the same NUMA nodes; no nodes if the plugin does not report any.

    ``free`` devices are healthy and unused. Devices in use without a holder in ``held`` belong to pods that
    were not named. Raise ValueError if the counts contradict each other.
    """

    numa_nodes: CPUSet
    total: int
    healthy: int
    free: int
    held: tuple[HeldDevices, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.free <= self.healthy <= self.total:
            raise ValueError(
                f"expected free <= healthy <= total, found {self.free}, {self.healthy} and {self.total}"
            )
        held = sum(each.count for each in self.held)
        unhealthy = sum(each.unhealthy for each in self.held)
        if held - unhealthy > self.healthy - self.free or unhealthy > self.total - self.healthy:
            raise ValueError(
                f"{held} devices are listed as held ({unhealthy} unhealthy): more than are in use"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceInventory:
    """What device plugins have registered, by resource; a resource without groups has no devices.

    Raise ValueError beyond ``MAX_DEVICES``.
    """

    resources: Mapping[str, tuple[DeviceGroup, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        total = sum(group.total for groups in self.resources.values() for group in groups)
        if total > MAX_DEVICES:
            raise ValueError(f"found {total} devices: more than {MAX_DEVICES}")

    @property
    def numa_nodes(self) -> CPUSet:
        """All NUMA nodes that the plugins report."""
        return CPUSet.of(
            node for groups in self.resources.values() for group in groups for node in group.numa_nodes
        )
