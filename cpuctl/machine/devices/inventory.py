"""The devices that device plugins have on a node: frozen values, no reading.

A device lies next to one NUMA node, next to several, or the plugin does not say. Devices of one resource
next to the same nodes are alike for a kubelet, so they are counted, not listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cpuctl.cpuset import CPUSet

MAX_DEVICES = 1_000_000
"""Devices that are accepted in all: plugins that stand for a mere permission offer thousands."""


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
    """The devices of a resource next to the same NUMA nodes; no nodes where the plugin names none.

    ``free`` are healthy and in nobody's use. What is in use without a holder in ``held`` belongs to pods
    that nobody named. Raise ValueError where the counts contradict each other.
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
            raise ValueError(f"{held} devices are held, {unhealthy} of them unhealthy: more than are in use")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceInventory:
    """What device plugins have registered, by resource; one without groups has no device at all.

    Raise ValueError beyond ``MAX_DEVICES``.
    """

    resources: Mapping[str, tuple[DeviceGroup, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        total = sum(group.total for groups in self.resources.values() for group in groups)
        if total > MAX_DEVICES:
            raise ValueError(f"found {total} devices: more than {MAX_DEVICES}")

    @property
    def numa_nodes(self) -> CPUSet:
        """All NUMA nodes that are named."""
        return CPUSet.of(
            node for groups in self.resources.values() for group in groups for node in group.numa_nodes
        )
