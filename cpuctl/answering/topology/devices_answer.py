"""Devices in answers: what a container gets, what is left, what is uncertain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from cpuctl.cpuset import CPUSet
from cpuctl.engine.admission import Admission
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.devices.provider import DeviceProvider
from cpuctl.engine.masks import NO_CPUS, NO_NODES, NodeMask
from cpuctl.engine.placement import Placement

if TYPE_CHECKING:
    from cpuctl.answers.decisions import DevicesLeft, DevicesLeftPart, DevicesPart
    from cpuctl.answers.plan import PlanWarning

NO_NODE = "none"


def container_devices(topology: CPUTopology, placement: Placement) -> DevicesPart:
    """Describe the plugin devices that a container gets; return nothing if it gets none."""
    if not placement.devices:
        return {}

    from cpuctl.engine.alignment import devices_aligned

    answer: DevicesPart = {
        "devices": [
            {
                "resource": grant.resource,
                "count": grant.total,
                "numaNodes": {nodes_key(nodes): count for nodes, count in sorted(grant.by_nodes.items())},
                "reused": grant.reused,
                "numaNodesUncertain": grant.by_chance,
            }
            for grant in placement.devices
        ]
    }
    aligned = devices_aligned(topology, placement.devices, placement.cpus if placement.exclusive else NO_CPUS)
    return answer if aligned is None else {**answer, "devicesAligned": aligned}


def devices_left(provider: DeviceProvider) -> DevicesLeftPart:
    """Describe all registered devices and the free ones; return nothing if none are known."""
    if not provider.pools:
        return {}
    return {"devices": [entry for resource in provider.pools for entry in _left(provider, resource)]}


def _left(provider: DeviceProvider, resource: str) -> Iterator[DevicesLeft]:
    pool = provider.pools[resource]
    free, healthy = (pool.counts(devices) for devices in (provider.free(resource), pool.healthy))
    for nodes, total in sorted(pool.counts().items()) or [(NO_NODES, 0)]:
        yield {
            "resource": resource,
            "numaNodes": nodes_key(nodes),
            "total": total,
            "healthy": healthy.get(nodes, 0),
            "free": free.get(nodes, 0),
        }


def device_warnings(admissions: Iterable[Admission]) -> Iterator[PlanWarning]:
    """Warn of pods for which a kubelet might choose other devices: later decisions depend on that choice."""
    for admission in admissions:
        resources = {
            grant.resource: None
            for placement in admission.placements
            for grant in placement.devices
            if grant.by_chance
        }
        if resources and admission.hint_rounds:
            message = (
                f"pod {admission.pod.full_name} may get different devices of {', '.join(resources)} than "
                "shown here: the device plugin (or chance) decides; this plan takes them from the NUMA "
                "node with the fewest free"
            )
            yield {"pod": admission.pod.full_name, "message": message}


def nodes_key(nodes: NodeMask) -> str:
    """Write the NUMA nodes near devices, "none" if the plugin reports none."""
    return str(CPUSet(nodes)) or NO_NODE
