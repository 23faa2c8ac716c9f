"""The devices of the driver ``dra.cpu`` for people, each with the CPUs it stands for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from cpuctl.dra.slices import driver_devices, most_devices

if TYPE_CHECKING:
    from cpuctl.answers.dra import DeviceRow, DriverDevices
    from cpuctl.answers.sources import Source
    from cpuctl.dra.slices import DriverDevice
    from cpuctl.inputs.dra import LoadedDriver


def devices_document(driver: LoadedDriver, sources: Mapping[str, Source]) -> DriverDevices:
    """Describe the devices in the order of their slices."""
    settings, most = driver.settings, most_devices(driver.settings)
    devices = driver_devices(driver.machine, settings)
    return {
        "sources": dict(sources),
        "node": driver.node,
        "devices": [_row(each, index // most, driver) for index, each in enumerate(devices)],
        "available": str(driver.machine.all_cpus - settings.reserved),
        "reserved": str(settings.reserved),
    }


def _row(device: DriverDevice, number: int, driver: LoadedDriver) -> DeviceRow:
    cpu = device.cpu
    exposed = driver.settings.expose_pcie_roots
    return {
        "name": device.name,
        "slice": number,
        "cpus": str(device.cpus),
        "count": len(device.cpus),
        "socket": device.socket,
        "numaNode": device.numa_node,
        "core": cpu.core if cpu else None,
        "l3": cpu.cache if cpu else None,
        "coreType": cpu.core_type if cpu else None,
        "pcieRoots": list(driver.machine.roots_near(device.cpus)) if exposed else [],
    }
