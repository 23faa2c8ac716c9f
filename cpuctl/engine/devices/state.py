"""The registered devices of a node, their holders, and how devices are allocated and released.

Rule: kubelet v1.36 ``pkg/kubelet/cm/devicemanager`` (``manager.go``, ``pod_devices.go``). Devices are bits:
each resource numbers its own. Only the NUMA nodes near a device and its health distinguish it here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Self

from cpuctl.engine.changeable import Changeable
from cpuctl.engine.masks import NodeMask
from cpuctl.pods.model import ContainerKind, StoredPod
from cpuctl.records import Record

if TYPE_CHECKING:
    from cpuctl.machine.devices.inventory import DeviceGroup, DeviceInventory, HeldDevices

Held = dict[str, dict[str, int]]
"""The devices of one pod: by container, by resource."""


class DevicePool(Record):
    """The devices of one resource, by the mask of the NUMA nodes near them, and the ``healthy`` ones."""

    by_nodes: Mapping[NodeMask, int]
    healthy: int

    @property
    def has_topology(self) -> bool:
        """Whether the plugin reports the NUMA nodes of any device; otherwise they do not matter."""
        return any(nodes and devices for nodes, devices in self.by_nodes.items())

    def counts(self, devices: int = -1) -> dict[NodeMask, int]:
        """Count some devices (by default all) by the nodes near them."""
        counts = {nodes: (inside & devices).bit_count() for nodes, inside in self.by_nodes.items()}
        return {nodes: count for nodes, count in counts.items() if count}


class DeviceState(Changeable):
    """The devices that pods hold, by UID, and all that are ``in_use``, by resource.

    The devices of an ordinary init container may go to later containers of its pod (``reusable``); they are
    remembered only for the pod that was last allocated to. ``unclaimed`` are the devices of pods whose UIDs
    are not known yet, by ``namespace/name``.
    """

    def __init__(self) -> None:
        self.in_use: dict[str, int] = {}
        self.held: dict[str, Held] = {}
        self.unclaimed: dict[str, Held] = {}
        self.reusable_by = ""
        self.reusable: dict[str, int] = {}

    def copy(self) -> Self:
        """Return an independent state with the same content."""
        copied = super().copy()
        copied.held = {uid: _copied(containers) for uid, containers in self.held.items()}
        return copied

    def assigned(self, uid: str, container: str, resource: str) -> int | None:
        """Return the devices of a container; None if it was never allocated any."""
        return self.held.get(uid, {}).get(container, {}).get(resource)

    def of_pod(self, uid: str, resource: str) -> int:
        """Return the devices of all containers of a pod."""
        devices = 0
        for container in self.held.get(uid, {}).values():
            devices |= container.get(resource, 0)
        return devices

    def assign(self, uid: str, container: str, resource: str, devices: int) -> None:
        """Record the devices that a container gets."""
        self.held.setdefault(uid, {}).setdefault(container, {})[resource] = devices
        self.in_use[resource] |= devices

    def reusable_for(self, uid: str, resource: str) -> int:
        """Return the devices that a container of this pod may use although they are in use."""
        return self.reusable.get(resource, 0) if self.reusable_by == uid else 0

    def remember_reuse(self, uid: str, container: str, kind: ContainerKind) -> None:
        """Lend an ordinary init container's devices to its successors; others keep what they take."""
        if self.reusable_by != uid:
            self.reusable_by, self.reusable = uid, {}
        for resource, devices in self.held.get(uid, {}).get(container, {}).items():
            lent = self.reusable.get(resource, 0)
            self.reusable[resource] = lent | devices if kind is ContainerKind.INIT else lent & ~devices

    def claim(self, pod: StoredPod) -> None:
        """Learn a pod's UID: devices held under its namespace and name become its own."""
        containers = self.unclaimed.pop(pod.full_name, None)
        if containers is not None:
            self.held[pod.uid] = _copied(containers)

    def keep_only(self, uids: Collection[str]) -> None:
        """Release what pods other than these hold."""
        for uid in self.held.keys() - set(uids):
            for container in self.held.pop(uid).values():
                for resource, devices in container.items():
                    self.in_use[resource] &= ~devices


def _copied(held: Mapping[str, Mapping[str, int]]) -> Held:
    return {container: dict(devices) for container, devices in held.items()}


def device_pools(inventory: DeviceInventory) -> tuple[dict[str, DevicePool], DeviceState]:
    """Assign bits to the devices of an inventory, and return the pools and what pods hold."""
    pools: dict[str, DevicePool] = {}
    state = DeviceState()
    for resource, groups in inventory.resources.items():
        by_nodes: dict[NodeMask, int] = {}
        healthy = first = state.in_use[resource] = 0
        for group in groups:
            nodes = NodeMask(group.numa_nodes.mask)
            by_nodes[nodes] = by_nodes.get(nodes, 0) | _run(first, group.total)
            healthy |= _run(first, group.healthy)
            state.in_use[resource] |= _in_use(group, first)
            _hold(state, resource, group, first)
            first += group.total
        pools[resource] = DevicePool(by_nodes=by_nodes, healthy=healthy)
    return pools, state


def _run(first: int, count: int) -> int:
    return (1 << count) - 1 << first


def _in_use(group: DeviceGroup, first: int) -> int:
    """Return the devices in use; the order is healthy free ones, healthy ones in use, unhealthy held ones."""
    unhealthy = sum(each.unhealthy for each in group.held)
    return _run(first + group.free, group.healthy - group.free + unhealthy)


def _hold(state: DeviceState, resource: str, group: DeviceGroup, first: int) -> None:
    healthy, unhealthy = first + group.free, first + group.healthy
    for each in group.held:
        devices = _run(healthy, each.count - each.unhealthy) | _run(unhealthy, each.unhealthy)
        healthy += each.count - each.unhealthy
        unhealthy += each.unhealthy
        container = state.unclaimed.setdefault(_pod_name(each), {}).setdefault(each.container, {})
        container[resource] = container.get(resource, 0) | devices


def _pod_name(held: HeldDevices) -> str:
    return f"{held.namespace}/{held.pod}"
