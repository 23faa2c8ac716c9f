"""The ResourceSlices of the driver ``dra.cpu``: its devices as Kubernetes objects, in their order.

Rule: kubernetes-sigs/dra-driver-cpu at de98098, ``pkg/device``; names and pool by kubernetes
``dynamic-resource-allocation/resourceslice``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from cpuctl.cpuset import CPUSet
from cpuctl.dra.driver import DRIVER, DeviceMode, DriverCPU, DriverMachine, DriverSettings, GroupBy

Object: TypeAlias = dict[str, Any]
"""A Kubernetes object or a part of one, as in JSON."""

CPU_CAPACITY = f"{DRIVER}/cpu"
NUMA_NODE = "resource.kubernetes.io/numaNode"
PCIE_ROOT = "resource.kubernetes.io/pcieRoot"
MACHINE_DEVICE = "cpudevmachine"

MAX_DEVICES = 128
"""The maximum number of devices of one slice (resource/v1, ResourceSliceMaxDevices)."""
MAX_ADVANCED_DEVICES = 64
"""The maximum number of devices if one of them has a list attribute, such as PCIe roots."""
FIRST_GENERATION = 1


class DriverDevice(NamedTuple):
    """A device and the CPUs it represents, without reserved ones; ``cpu`` is None for a group."""

    name: str
    cpus: CPUSet
    cpu: DriverCPU | None = None
    numa_node: int | None = None
    socket: int | None = None


def driver_devices(machine: DriverMachine, settings: DriverSettings) -> tuple[DriverDevice, ...]:
    """Return the devices in order of publication."""
    if settings.mode is DeviceMode.INDIVIDUAL:
        return tuple(
            DriverDevice(f"cpudev{number:03d}", CPUSet.of((cpu.number,)), cpu, cpu.numa_node, cpu.socket)
            for number, cpu in enumerate(_by_core(machine, settings.reserved))
        )
    return tuple(_groups(machine, settings))


def _by_core(machine: DriverMachine, reserved: CPUSet) -> Iterator[DriverCPU]:
    """Yield the CPUs that are not reserved, each followed by its sibling, the order of allocation."""
    seen: set[int] = set()
    for number, cpu in machine.cpus.items():
        if number in reserved or number in seen:
            continue
        yield cpu
        if cpu.sibling is not None and cpu.sibling not in reserved:
            seen.add(cpu.sibling)
            yield machine.cpus[cpu.sibling]


def _groups(machine: DriverMachine, settings: DriverSettings) -> Iterator[DriverDevice]:
    """Yield the groups with remaining CPUs; the machine, with all online CPUs, always counts as one."""
    reserved = settings.reserved
    match settings.group_by:
        case GroupBy.NUMA_NODE:
            for node, cpus in machine.numa_nodes.items():
                if left := cpus - reserved:
                    # The socket of any CPU, as in the driver: arbitrary if nodes span sockets.
                    socket = machine.cpus[left.lowest].socket
                    yield DriverDevice(f"cpudevnuma{node:03d}", left, numa_node=node, socket=socket)
        case GroupBy.SOCKET:
            for socket, cpus in machine.sockets.items():
                if left := cpus - reserved:
                    yield DriverDevice(f"cpudevsocket{socket:03d}", left, socket=socket)
        case GroupBy.MACHINE:
            yield DriverDevice(MACHINE_DEVICE, machine.online - reserved)


def resource_slices(
    machine: DriverMachine, settings: DriverSettings, node: str, *, generate_names: bool = False
) -> tuple[Object, ...]:
    """Return the slices of a *node*; with *generate_names*, as the driver sends them to the API server.

    The server then appends five generated characters to each name. The owner, the Node object with its UID,
    is omitted.
    """
    devices = [device_object(each, machine, settings) for each in driver_devices(machine, settings)]
    most = most_devices(settings)
    chunks = [devices[start : start + most] for start in range(0, len(devices), most)]
    return tuple(
        _slice(chunk, _metadata(number, node, generated=generate_names), node, len(chunks))
        for number, chunk in enumerate(chunks)
    )


def most_devices(settings: DriverSettings) -> int:
    """Return the maximum number of devices of a slice."""
    return MAX_ADVANCED_DEVICES if settings.expose_pcie_roots else MAX_DEVICES


def _metadata(number: int, node: str, *, generated: bool) -> Object:
    name = f"{number:05x}-{DRIVER}-{node}"
    return {"generateName": f"{name}-"} if generated else {"name": name}


def _slice(devices: Sequence[Object], metadata: Object, node: str, count: int) -> Object:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": metadata,
        "spec": {
            "driver": DRIVER,
            "nodeName": node,
            "pool": {"name": node, "generation": FIRST_GENERATION, "resourceSliceCount": count},
            "devices": list(devices),
        },
    }


def device_object(device: DriverDevice, machine: DriverMachine, settings: DriverSettings) -> Object:
    """Return a device as it appears in a slice."""
    attributes = dict(sorted(_attributes(device, machine, settings)))
    if device.cpu is not None:
        return {"name": device.name, "attributes": attributes} | _mapping(settings, {"deviceMultiplier": "1"})
    return {
        "name": device.name,
        "attributes": attributes,
        "capacity": {CPU_CAPACITY: {"value": str(len(device.cpus))}},
        "allowMultipleAllocations": True,
    } | _mapping(settings, {"capacityKey": CPU_CAPACITY, "capacityMultiplier": "1"})


def _mapping(settings: DriverSettings, mapping: Mapping[str, str]) -> Object:
    """Return the mapping of a device to node CPUs (KEP-5517), if the driver is configured to publish it."""
    if not settings.node_allocatable_mapping:
        return {}
    return {"nodeAllocatableResources": {"cpu": {"mapping": dict(mapping)}}}


def _attributes(
    device: DriverDevice, machine: DriverMachine, settings: DriverSettings
) -> Iterator[tuple[str, Object]]:
    yield f"{DRIVER}/smtEnabled", {"bool": machine.smt_enabled}
    if device.socket is not None:
        yield f"{DRIVER}/socketID", {"int": device.socket}
    if device.numa_node is not None:
        for name in (NUMA_NODE, "dra.net/numaNode", f"{DRIVER}/numaNodeID"):
            yield name, {"int": device.numa_node}
    if device.cpu is None:
        yield f"{DRIVER}/numCPUs", {"int": len(device.cpus)}
    else:
        yield f"{DRIVER}/cacheL3ID", {"int": device.cpu.cache}
        yield f"{DRIVER}/coreType", {"string": device.cpu.core_type}
        yield f"{DRIVER}/coreID", {"int": device.cpu.core}
        yield f"{DRIVER}/cpuID", {"int": device.cpu.number}
    roots = machine.roots_near(device.cpus) if settings.expose_pcie_roots else ()
    if roots:
        yield PCIE_ROOT, {"strings": list(roots)}
