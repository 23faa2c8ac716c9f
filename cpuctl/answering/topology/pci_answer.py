"""PCI devices as plain data, for people: what else is printed of them is a file for ``--devices``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from cpuctl.machine.devices.pci import PCIDevice

if TYPE_CHECKING:
    from cpuctl.answers.topology import PCIDevices


def pci_document(devices: Iterable[PCIDevice]) -> PCIDevices:
    """Describe devices one by one."""
    return {
        "pci": [
            {
                "address": each.address,
                "kind": each.kind,
                "vendor": each.vendor,
                "device": each.device,
                "numaNode": each.numa_node,
                "virtual": each.virtual,
                "resource": each.resource,
            }
            for each in devices
        ]
    }
