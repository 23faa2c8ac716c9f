"""PCI devices with their NUMA nodes, from sysfs: a first draft of what device plugins offer.

Files: *Documentation/ABI/testing/sysfs-bus-pci*. What a plugin registers, and under which name, is up to the
plugin: only resources of well-known plugins are drafted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cpuctl.errors import InputError
from cpuctl.machine.kernel_files import KernelFiles
from cpuctl.machine.kernel_text import parse_number
from cpuctl.machine.tree import Tree

_DEVICES = "sys/devices"
PCI_BUS = "sys/bus/pci/devices"
PCI_CLASS = "class"
PCI_FILES = frozenset({"device", "numa_node", "vendor"})
"""The files of a device that are read, apart from its class."""
PHYSICAL_FUNCTION = "physfn"
"""The link that only SR-IOV functions have."""
_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", re.ASCII)
_HEX = re.compile(r"0x([0-9a-f]{4,6})", re.ASCII)
MOST_DEVICES = 20_000

_KINDS = {
    "0300": "VGA controller", "0302": "3D controller", "0380": "display controller",
    "0200": "Ethernet controller", "0207": "InfiniBand controller", "0280": "network controller",
    "0108": "NVMe controller", "0b40": "co-processor", "1200": "accelerator",
}  # fmt: skip
"""The classes of devices that are assigned to pods, by their first four digits (PCI Code ID)."""
_GPUS = ("0300", "0302", "0380", "1200")
_NETWORK = ("0200", "0207", "0280")
_GPU_PLUGINS = {"10de": "nvidia.com/gpu", "1002": "amd.com/gpu", "8086": "gpu.intel.com/i915"}


class PCIDevice(NamedTuple):
    """One device; ``numa_node`` is None if firmware does not report it, ``virtual`` is an SR-IOV function."""

    address: str
    class_code: str
    vendor: str
    device: str
    numa_node: int | None
    virtual: bool

    @property
    def kind(self) -> str:
        """The usual name of such a device."""
        return _KINDS[self.class_code]

    @property
    def resource(self) -> str:
        """The resource under which common plugins offer it; empty if there is no common one."""
        if self.class_code in _GPUS:
            return _GPU_PLUGINS.get(self.vendor, "")
        return f"example.com/sriov-{self.vendor}-{self.device}" if self._is_network_function else ""

    @property
    def _is_network_function(self) -> bool:
        return self.virtual and self.class_code in _NETWORK


def read_pci_devices(tree: Tree) -> tuple[PCIDevice, ...]:
    """Read the devices that are usually assigned to pods, by address; raise InputError for invalid files."""
    files = KernelFiles(tree)
    found = {path.rpartition("/")[2]: path for path in pci_paths(tree)}
    if len(found) > MOST_DEVICES:
        raise InputError(f"found {len(found)} PCI devices, expected at most {MOST_DEVICES}", where=_DEVICES)
    devices = (_device(files, address, path) for address, path in sorted(found.items()))
    return tuple(device for device in devices if device is not None)


def drafted(devices: Iterable[PCIDevice]) -> dict[str, dict[str, int]]:
    """Count the devices that plugins would offer, by resource and NUMA node as ``--devices`` takes it."""
    counts: dict[str, dict[str, int]] = {}
    for device in devices:
        if device.resource:
            node = "none" if device.numa_node is None else str(device.numa_node)
            by_node = counts.setdefault(device.resource, {})
            by_node[node] = by_node.get(node, 0) + 1
    return {name: dict(sorted(counts[name].items())) for name in sorted(counts)}


def is_for_pods(class_text: str) -> bool:
    """Return whether devices with this ``class`` file are usually assigned to pods."""
    found = _HEX.fullmatch(class_text.strip().lower())
    return found is not None and found[1][:4] in _KINDS


def are_recorded(tree: Tree) -> bool:
    """Return whether a tree would have such devices if the machine has any."""
    return bool(tree.names(PCI_BUS.rpartition("/")[0])) or any(pci_paths(tree))


def pci_paths(tree: Tree) -> Iterator[str]:
    """Yield the directories of all devices, including those behind bridges; else what the bus lists."""
    roots = [f"{_DEVICES}/{name}" for name in tree.names(_DEVICES) if name.startswith("pci")]
    seen: set[str] = set()
    found = [path for root in roots for path in _below(tree, root, seen)]
    yield from found or (f"{PCI_BUS}/{name}" for name in tree.names(PCI_BUS) if _ADDRESS.fullmatch(name))


def _below(tree: Tree, directory: str, seen: set[str]) -> Iterator[str]:
    """Yield devices, each once: links in a mounted image may lead back."""
    for name in tree.names(directory):
        if _ADDRESS.fullmatch(name) and name not in seen:
            seen.add(name)
            yield f"{directory}/{name}"
            yield from _below(tree, f"{directory}/{name}", seen)


def _device(files: KernelFiles, address: str, path: str) -> PCIDevice | None:
    code = files.value(f"{path}/{PCI_CLASS}", _hexadecimal)
    if code is None or code[:4] not in _KINDS:
        return None
    node = files.value(f"{path}/numa_node", parse_number)
    return PCIDevice(
        address=address,
        class_code=code[:4],
        vendor=files.value(f"{path}/vendor", _hexadecimal) or "",
        device=files.value(f"{path}/device", _hexadecimal) or "",
        numa_node=node if node is not None and node >= 0 else None,
        virtual=PHYSICAL_FUNCTION in files.tree.names(path),
    )


def _hexadecimal(text: str) -> str:
    found = _HEX.fullmatch(text.strip().lower())
    if found is None:
        raise ValueError(f"found {text.strip()[:40]!r}, expected a number such as 0x10de")
    return found[1]
