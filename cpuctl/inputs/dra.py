"""The driver ``dra.cpu`` as it is described on the command line, on a machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.cpuset import CPUSet
from cpuctl.dra.driver import DeviceMode, DriverMachine, DriverSettings, GroupBy
from cpuctl.errors import InputError, UsageError
from cpuctl.inputs import option_names

if TYPE_CHECKING:
    from cpuctl.inputs.configuration import KubeletInputs
    from cpuctl.inputs.sources import Sources
    from cpuctl.kubelet.config import KubeletConfiguration
    from cpuctl.machine.model import Machine
    from cpuctl.machine.sources import MachineSource

_NODE = "node"
"""The node's name where nothing tells it."""
_FEW_IDS = 5


class DriverWords(NamedTuple):
    """What the driver is told, as its flags say it; ``reserved`` is a list of CPUs, or names of sets."""

    mode: DeviceMode = DeviceMode.GROUPED
    group_by: GroupBy = GroupBy.NUMA_NODE
    reserved: str = ""
    expose_pcie_roots: bool = False
    node_allocatable_mapping: bool = False
    node: str = ""


class LoadedDriver(NamedTuple):
    """The driver on a machine: its settings, its view of the machine, and its node's name."""

    settings: DriverSettings
    machine: DriverMachine
    node: str


def load_driver(
    words: DriverWords, source: MachineSource, sources: Sources, kubelet: KubeletInputs
) -> LoadedDriver:
    """Start the driver on a machine; raise UsageError for CPUs that make no sense.

    Warn of CPUs that it would skip, of what it looks for and nobody has recorded, and of a kubelet beside it
    that does not go with it, where its configuration is known.
    """
    from cpuctl.dra.conflicts import conflicts
    from cpuctl.dra.discovery import discover, node_name

    settings = DriverSettings(
        mode=words.mode,
        group_by=words.group_by,
        reserved=_reserved(words.reserved, source.machine),
        expose_pcie_roots=words.expose_pcie_roots,
        node_allocatable_mapping=words.node_allocatable_mapping,
    )
    machine = discover(source.machine, source.files, pcie_roots=settings.expose_pcie_roots)
    node = words.node or node_name(source.files)
    sources.add("nodeName", node or _NODE, "given" if words.node else "capture" if node else "default")
    sources.warnings += _doubts(machine, settings, source.machine)
    sources.warnings += conflicts(machine, settings, _configuration(kubelet, source, sources))
    return LoadedDriver(settings, machine, node or _NODE)


def _configuration(
    words: KubeletInputs, source: MachineSource, sources: Sources
) -> KubeletConfiguration | None:
    """Return what the node's kubelet is told; None where only its defaults are assumed."""
    from cpuctl.inputs.kubelet import load_kubelet
    from cpuctl.inputs.sources import Sources
    from cpuctl.kubelet.configuration.refusal import ConfigRefusedError

    own = Sources()
    try:
        loaded = load_kubelet(words, own, machine=source)
    except ConfigRefusedError:
        sources.warnings.append("the kubelet does not start with its configuration (cpuctl config check)")
        return None
    if own.assumed_configuration or own.origin("kubeletConfiguration") == "default":
        return None
    sources.entries.update(own.entries)
    sources.warnings += own.warnings
    return loaded.kubelet.config


def _reserved(text: str, machine: Machine) -> CPUSet:
    from cpuctl.machine.set_names import parse_cpu_names

    if not text:
        return CPUSet()
    try:
        return parse_cpu_names(text, machine)
    except InputError as error:
        raise UsageError(error.message, where=option_names.RESERVED_CPUS, hint=error.hint) from None


def _doubts(driver: DriverMachine, settings: DriverSettings, machine: Machine) -> Iterator[str]:
    if driver.skipped:
        told = "lack a socket, core, NUMA node or directory of caches"
        if not machine.numa_nodes:
            told = "have no NUMA node"
        yield f"the driver skips CPUs {driver.skipped}: they {told}"
    if unknown := settings.reserved - driver.online:
        yield f"{option_names.RESERVED_CPUS} names CPUs that are not online: {unknown}"
    if not machine.caches_known and settings.mode is DeviceMode.INDIVIDUAL:
        yield "nothing is recorded of caches: cacheL3ID is -1, as where there is no L3 cache"
    if settings.expose_pcie_roots and not driver.pcie_roots:
        yield "no PCIe roots are recorded (sys/devices/pci*/pci_bus), or this is no x86_64: none are exposed"
    if settings.mode is DeviceMode.GROUPED and settings.group_by is not GroupBy.MACHINE:
        yield from _repeats(driver)


def _repeats(driver: DriverMachine) -> Iterator[str]:
    ids = driver.repeated_core_ids
    if ids and len(driver.sockets) > 1:
        named = ", ".join(map(str, ids[:_FEW_IDS])) + (", ..." if len(ids) > _FEW_IDS else "")
        yield (
            f"core ids repeat across sockets ({named}), and the driver takes such cores for one: a claim may "
            "get CPUs of another socket than its device's"
        )
