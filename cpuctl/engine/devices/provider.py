"""The device manager as a hint provider: the devices of one node, and its hints.

Rule: kubelet v1.36 ``pkg/kubelet/cm/devicemanager``, ``topology_hints.go`` and ``manager.go``. It uses the
limits, which equal the requests for extended resources.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from cpuctl.cpuset import CPUSet
from cpuctl.engine.changeable import Copied
from cpuctl.engine.devices.state import DevicePool, DeviceState, device_pools
from cpuctl.engine.hints.node_sets import DEVICES, endless_walk
from cpuctl.engine.hints.topology_manager import ProviderName
from cpuctl.engine.masks import NO_NODES, NodeMask
from cpuctl.engine.outcome import KubeletFault, Rejected, RejectionReason
from cpuctl.engine.placement import DeviceGrant, Placement
from cpuctl.engine.provider import Candidate
from cpuctl.pods.model import Container, ContainerKind, StoredPod
from cpuctl.pods.requests import pod_limits
from cpuctl.quantity import Quantity
from cpuctl.records import replace

if TYPE_CHECKING:
    from cpuctl.engine.hints.hints import Hint, HintList
    from cpuctl.engine.hints.topology_manager import Answer
    from cpuctl.machine.devices.inventory import DeviceInventory
    from cpuctl.machine.machine_info import MachineInfo

_UNREGISTERED = DevicePool(by_nodes={}, healthy=0)


class DeviceProvider(Copied):
    """The device manager of a node, initially without devices; ``nodes`` is the mask of all NUMA nodes.

    ``registered`` is False right after a kubelet's start: it knows the resources from its checkpoint, but
    no device until the plugins register again, and admits running pods before. ``walks_only_own_nodes``:
    hints for a resource are searched only among the nodes that have its devices.
    """

    def __init__(self) -> None:
        self.nodes = NO_NODES
        self.pools: Mapping[str, DevicePool] = {}
        self.state = DeviceState()
        self.registered = True
        self.walks_only_own_nodes = True

    @classmethod
    def of(cls, inventory: DeviceInventory, info: MachineInfo) -> DeviceProvider:
        """Return the manager with all plugins registered."""
        manager = cls()
        # If the kernel shows no NUMA nodes, cAdvisor may list a package under -1.
        manager.nodes = NodeMask(CPUSet.of(node.id for node in info.nodes if node.id >= 0).mask)
        manager.pools, manager.state = device_pools(inventory)
        return manager

    def learn(self, inventory: DeviceInventory, info: MachineInfo) -> None:
        """Add the resources of an inventory that are not known yet; known ones do not change."""
        other = DeviceProvider.of(inventory, info)
        self.nodes = other.nodes
        self.pools = {**other.pools, **self.pools}
        self.state.in_use = {**other.state.in_use, **self.state.in_use}

    @property
    def name(self) -> ProviderName:
        """The provider's name in a trace."""
        return "devices"

    def unknown(self, pod: StoredPod, *, claims_served: bool = False) -> list[str]:
        """List what a pod requests that is unknown here: claims, and resources of other plugins.

        With *claims_served*, only those claims are listed that the pod does not have.
        """
        served = {claim.name for claim in pod.resource_claims} if claims_served else set()
        names: dict[str, None] = {}
        for container in pod.all_containers:
            resources = container.resources
            requested = (*resources.requests, *resources.limits)
            names |= dict.fromkeys(name for name in requested if "/" in name and name not in self.pools)
            names |= dict.fromkeys(f"claim {claim}" for claim in resources.claims if claim not in served)
        return list(names)

    def claim(self, pods: Iterable[StoredPod]) -> None:
        """Learn the UIDs of pods: devices held under their names become theirs."""
        for pod in pods:
            self.state.claim(pod)

    def hints(self, candidate: Candidate, container: Container | None) -> Answer | KubeletFault:
        """Return the hints for a container, or for the pod if that is None."""
        pod = candidate.pod
        limits = pod_limits(pod, overhead=False) if container is None else container.resources.limits
        answer: dict[str, HintList | None] = {}
        for resource, count in self._requested(limits):
            hints = self._hints(pod, container, resource, count)
            if isinstance(hints, KubeletFault):
                return hints
            answer[resource] = hints
        return answer

    def allocate(self, candidate: Candidate, hint: Hint, placed: Placement) -> Placement | Rejected:
        """Allocate for the container that is placed, near the hint; add the result to the placement."""
        pod, container = candidate.pod, placed.container
        grants = []
        for resource, count in self._requested(container.resources.limits):
            grant = self._allocate(pod, container, (resource, count), hint.nodes)
            if isinstance(grant, Rejected):
                return grant
            if grant is not None:
                grants.append(grant)
        self.state.remember_reuse(pod.uid, container.name, container.kind)
        return replace(placed, devices=tuple(grants))

    def allocate_pod(
        self, candidate: Candidate, hint: Hint, placed: Sequence[Placement]
    ) -> Sequence[Placement]:
        """Add the devices that containers of a divided pod get when they are created, not at admission.

        A shortage then fails the container; it is not a reason to refuse the pod.
        """
        granted = ((each, self.allocate(candidate, hint, each)) for each in placed)
        return [more if isinstance(more, Placement) else each for each, more in granted]

    def allocatable(self, pod: StoredPod) -> dict[str, int]:
        """Count the node's healthy devices by resource; for a pod that holds any, at least all in use."""
        holds = pod.uid in self.state.held
        return {
            resource: max(pool.healthy.bit_count(), self._in_use(resource).bit_count() if holds else 0)
            for resource, pool in self.pools.items()
        }

    def free(self, resource: str) -> int:
        """Return the healthy devices that are not in use (a mask)."""
        return self._pool(resource).healthy & ~self._in_use(resource)

    def keep_only(
        self,
        containers: Mapping[str, Collection[str]],
        gone: Collection[str] | None = None,  # noqa: ARG002  # few hold devices: all are checked
    ) -> None:
        """Release everything that is not held by one of these pods."""
        self.state.keep_only(containers)

    def remove_container(self, uid: str, container: str) -> None:
        """Do nothing: a pod's devices are released when it has ended."""

    def _requested(self, limits: Mapping[str, Quantity]) -> Iterator[tuple[str, int]]:
        # The kubelet iterates over a map, so the first resource to fail is random. Here they are sorted.
        return ((name, limits[name].value) for name in sorted(limits.keys() & self.pools.keys()))

    def _pool(self, resource: str) -> DevicePool:
        return self.pools[resource] if self.registered else _UNREGISTERED

    def _in_use(self, resource: str) -> int:
        return self.state.in_use[resource]

    def _hints(
        self, pod: StoredPod, container: Container | None, resource: str, count: int
    ) -> HintList | KubeletFault | None:
        """Make the hints for a container, or for the pod if that is None."""
        from cpuctl.engine.devices.allocation import DeviceHints

        pool = self._pool(resource)
        if not pool.has_topology:
            return None
        if container is None:
            held, reusable = self.state.of_pod(pod.uid, resource), 0
        else:
            held = self.state.assigned(pod.uid, container.name, resource) or 0
            reusable = self.state.reusable_for(pod.uid, resource)
        if held.bit_count() not in (0, count):
            return []
        if fault := endless_walk(DEVICES, self._walked(pool), f"a request for {resource}"):
            return fault
        available, again = (held, 0) if held else (self.free(resource), reusable)
        return DeviceHints.generate(
            self.nodes, pool.counts(), pool.counts(available), pool.counts(again), count
        )

    def _walked(self, pool: DevicePool) -> int:
        """Count the NUMA nodes whose sets are all tried for a resource."""
        own = reduce(or_, pool.counts(), NO_NODES) if self.walks_only_own_nodes else NO_NODES
        return (own or self.nodes).bit_count()

    def _allocate(
        self, pod: StoredPod, container: Container, requested: tuple[str, int], affinity: NodeMask | None
    ) -> DeviceGrant | Rejected | None:
        """Give a container the devices of one resource that it requests; None if it needs nothing."""
        from cpuctl.engine.devices.allocation import choose

        resource, count = requested
        held = self.state.assigned(pod.uid, container.name, resource)
        if held is not None and held.bit_count() != count:
            return _rejected(
                f'pod "{pod.uid}" container "{container.name}" changed request for resource "{resource}" '
                f"from {held.bit_count()} to {count}",
                container,
            )
        if not self.registered and container.kind is not ContainerKind.INIT:
            return self._as_before(resource, held)  # it is running: it has what it needs
        if error := self._unhealthy(resource, held or 0):
            return _rejected(error, container)
        if held is not None or not count:
            return self._as_before(resource, held)
        reusable, free = self.state.reusable_for(pod.uid, resource), self.free(resource)
        chosen = choose(self.pools[resource], count, free=free, reusable=reusable, affinity=affinity)
        if chosen is None:
            missing, available = count - reusable.bit_count(), free.bit_count()
            return _rejected(
                f"requested number of devices unavailable for {resource}. "
                f"Requested: {missing}, Available: {available}",
                container,
                {"requested": missing, "available": available},
            )
        self.state.assign(pod.uid, container.name, resource, chosen.devices)
        return DeviceGrant(
            resource=resource,
            by_nodes=self.pools[resource].counts(chosen.devices),
            reused=(chosen.devices & reusable).bit_count(),
            by_chance=chosen.by_chance,
        )

    def _as_before(self, resource: str, held: int | None) -> DeviceGrant | None:
        return DeviceGrant(resource=resource, by_nodes=self.pools[resource].counts(held)) if held else None

    def _unhealthy(self, resource: str, held: int) -> str:
        """Return the kubelet's error if health forbids the allocation, otherwise nothing."""
        healthy = self._pool(resource).healthy
        if not healthy:
            return f"no healthy devices present; cannot allocate unhealthy devices {resource}"
        if held & ~healthy:
            return (
                "previously allocated devices are no longer healthy; "
                f"cannot allocate unhealthy devices {resource}"
            )
        return ""


def _rejected(error: str, container: Container, details: Mapping[str, int] | None = None) -> Rejected:
    return Rejected(
        reason=RejectionReason.UNEXPECTED_ADMISSION,
        message=f"Allocate failed due to {error}, which is unexpected",
        container=container.name,
        details=details or {},
    )
