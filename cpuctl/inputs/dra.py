"""The driver ``dra.cpu``, as described on the command line, on a machine."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from cpuctl import option_names
from cpuctl.cpuset import CPUSet
from cpuctl.dra.driver import DeviceMode, DriverMachine, DriverSettings, GroupBy
from cpuctl.errors import InputError, UsageError

if TYPE_CHECKING:
    from cpuctl.inputs.configuration import KubeletInputs
    from cpuctl.inputs.sources import Sources
    from cpuctl.kubelet.config import KubeletConfiguration
    from cpuctl.kubelet.gates.feature_gates import FeatureGates
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.machine.model import Machine
    from cpuctl.machine.sources import MachineSource
    from cpuctl.pods.reading.manifests import DRAObject

_NODE = "node"
"""The node's name if nothing specifies it."""
_FEW_IDS = 5
_FLAGS: Mapping[str, tuple[str, ...]] = {
    "--cpu-device-mode": tuple(DeviceMode),
    "--group-by": tuple(GroupBy),
    "--reserved-cpus": (),
    "--expose-pcie-roots": (),
    "--publish-node-allocatable-resource-mapping": (),
    "--hostname-override": (),
}
"""The driver's flags, and a configuration setting that has no flag, with the values they take."""
_SWITCHES = ("--expose-pcie-roots", "--publish-node-allocatable-resource-mapping")


class DriverFlags(NamedTuple):
    """The driver's settings, as in its flags; ``reserved`` is a list of CPUs, or names of sets."""

    mode: DeviceMode = DeviceMode.GROUPED
    group_by: GroupBy = GroupBy.NUMA_NODE
    reserved: str = ""
    expose_pcie_roots: bool = False
    node_allocatable_mapping: bool = False
    node: str = ""


class LoadedDriver(NamedTuple):
    """The driver on a machine: its settings, its view of the machine, and its node's name.

    ``prepared`` are the CPUs of claims by UID, from the driver's own file. ``gates`` are those of the
    cluster, None for the default release's.
    """

    settings: DriverSettings
    machine: DriverMachine
    node: str
    prepared: Mapping[str, CPUSet] = {}
    gates: FeatureGates | None = None


def read_driver_arguments(text: str) -> DriverFlags:
    """Read the driver's command line; raise UsageError for flags that do not affect devices."""
    try:
        arguments = shlex.split(text)
    except ValueError as error:
        raise _bad_arguments(f"expected the flags of the driver: {error}") from None
    values: dict[str, str] = {}
    while arguments:
        name, equals, value = arguments.pop(0).partition("=")
        if name not in _FLAGS:
            from cpuctl.spelling import did_you_mean

            hint = did_you_mean(name, _FLAGS, f"known flags: {', '.join(_FLAGS)}", likeness=0.8)
            raise _bad_arguments(f"unknown flag {name}", hint=hint)
        if not equals and name not in _SWITCHES:
            if not arguments:
                raise _bad_arguments(f"flag needs an argument: {name}")
            value = arguments.pop(0)
        values[name] = value if equals or name not in _SWITCHES else "true"
    for name, allowed in _FLAGS.items():
        if allowed and values.get(name, allowed[0]) not in allowed:
            raise _bad_arguments(f"{name}: expected {' or '.join(allowed)}, found {values[name]!r}")
    switched = {name: _switch(name, values.get(name, "false")) for name in _SWITCHES}
    return DriverFlags(
        mode=DeviceMode(values.get("--cpu-device-mode", DeviceMode.GROUPED)),
        group_by=GroupBy(values.get("--group-by", GroupBy.NUMA_NODE)),
        reserved=values.get("--reserved-cpus", ""),
        expose_pcie_roots=switched["--expose-pcie-roots"],
        node_allocatable_mapping=switched["--publish-node-allocatable-resource-mapping"],
        node=values.get("--hostname-override", ""),
    )


def driver_options(text: str) -> Iterator[str]:
    """Yield a driver's command line as options of ``cpuctl dra``, except those with their defaults."""
    flags, default = read_driver_arguments(text), DriverFlags()
    values = {
        "--cpu-device-mode": (flags.mode, default.mode),
        "--group-by": (flags.group_by, default.group_by),
        "--reserved-cpus": (flags.reserved, default.reserved),
        "--hostname-override": (flags.node, default.node),
    }
    for name, (value, usual) in values.items():
        yield from (name, str(value)) if value != usual else ()
    switches = (flags.expose_pcie_roots, flags.node_allocatable_mapping)
    yield from (name for name, on in zip(_SWITCHES, switches, strict=True) if on)


def _switch(name: str, text: str) -> bool:
    from cpuctl.golang.conversions import parse_bool
    from cpuctl.golang.text import GoError

    try:
        return parse_bool(text)
    except GoError:
        raise _bad_arguments(f"{name}: expected true or false, found {text!r}") from None


def _bad_arguments(message: str, hint: str = "") -> UsageError:
    return UsageError(message, where=option_names.DRIVER_ARGS, hint=hint)


def load_driver(
    flags: DriverFlags,
    source: MachineSource,
    sources: Sources,
    kubelet: KubeletInputs,
    dra: Iterable[DRAObject] = (),
) -> LoadedDriver:
    """Start the driver on a machine; raise UsageError for invalid CPUs.

    Warn about CPUs that it would skip, about unrecorded facts that it needs, and about a kubelet next to it
    whose known configuration conflicts with it.
    """
    loaded = _kubelet(kubelet, source, sources)
    config = None if loaded is None or not loaded.is_known else loaded.kubelet.config
    driver = driver_for_kubelet(flags, source, sources, config, dra)
    return driver if loaded is None else driver._replace(gates=loaded.kubelet.gates)


def driver_for_kubelet(
    flags: DriverFlags,
    source: MachineSource,
    sources: Sources,
    kubelet: KubeletConfiguration | None,
    dra: Iterable[DRAObject] = (),
) -> LoadedDriver:
    """Start the driver on a machine next to a kubelet; None is an unknown one.

    The objects that decide on claims (*dra*) may name the node if nothing else does.
    """
    from cpuctl.dra.cdi import read_cdi
    from cpuctl.dra.conflicts import conflicts
    from cpuctl.dra.discovery import discover

    node = _node_name(flags, source, dra, sources)
    settings = DriverSettings(
        mode=flags.mode,
        group_by=flags.group_by,
        reserved=_reserved(flags.reserved, source.machine),
        expose_pcie_roots=flags.expose_pcie_roots,
        node_allocatable_mapping=flags.node_allocatable_mapping,
    )
    if (
        flags._replace(node="") == DriverFlags()
        and (published := _published_settings(dra, node, source.machine)) is not None
    ):
        settings = published
        sources.add("driverArguments", f"{flags_of(published)} (from its ResourceSlices)", "given")
    machine = discover(source.machine, source.files, pcie_roots=settings.expose_pcie_roots)
    sources.warnings += _doubts(machine, settings, source.machine)
    sources.warnings += (each.text for each in conflicts(machine, settings, kubelet))
    cdi = read_cdi(source.files)
    if cdi is not None:
        sources.add("preparedClaims", f"{len(cdi.claims)} in {cdi.path}", "capture")
    return LoadedDriver(settings, machine, node, cdi.claims if cdi else {})


def _published_settings(dra: Iterable[DRAObject], node: str, machine: Machine) -> DriverSettings | None:
    """Return the settings of the driver whose slices for the node are given; None without such slices."""
    from cpuctl.dra.driver import DRIVER
    from cpuctl.dra.published import published_settings
    from cpuctl.dra.reading import decode_slices

    own = (
        cursor
        for kind, cursor in dra
        if kind == "ResourceSlice" and cursor.required("spec").required("driver").text() == DRIVER
    )
    return published_settings(decode_slices(own, node).devices, machine.online)


def flags_of(settings: DriverSettings) -> str:
    """Write the flags that produce these settings."""
    flags = [f"--cpu-device-mode {settings.mode}"]
    if settings.mode is DeviceMode.GROUPED:
        flags.append(f"--group-by {settings.group_by}")
    if settings.reserved:
        flags.append(f"--reserved-cpus {settings.reserved}")
    flags += ["--expose-pcie-roots"] if settings.expose_pcie_roots else []
    flags += ["--publish-node-allocatable-resource-mapping"] if settings.node_allocatable_mapping else []
    return " ".join(flags)


def _node_name(flags: DriverFlags, source: MachineSource, dra: Iterable[DRAObject], sources: Sources) -> str:
    from cpuctl.dra.discovery import node_name
    from cpuctl.dra.reading import node_names
    from cpuctl.machine.sources import LIVE

    if flags.node:
        sources.add("nodeName", flags.node, "given")
        return flags.node
    if name := node_name(source.files):
        sources.add("nodeName", name, "live" if source.origin == LIVE else "capture")
        return name
    named = node_names(dra)
    name = named.pop() if len(named) == 1 else ""
    sources.add("nodeName", name or _of_recording(source), "given" if name else "default")
    return name or _of_recording(source)


def _of_recording(source: MachineSource) -> str:
    """Return a name for the node of a recording without a host name: that of its file."""
    from cpuctl.machine.sources import LIVE, STDIN_NAME, short_name
    from cpuctl.object_names import as_object_name

    named = source.files is not None and source.origin not in (LIVE, STDIN_NAME)
    return (as_object_name(short_name(source.origin)) if named else "") or _NODE


class _NodeKubelet(NamedTuple):
    """The kubelet, and whether its settings are given, not assumed defaults."""

    kubelet: Kubelet
    is_known: bool


def _kubelet(inputs: KubeletInputs, source: MachineSource, sources: Sources) -> _NodeKubelet | None:
    """Return the node's kubelet; None if it does not load its configuration."""
    from cpuctl.inputs.kubelet import load_kubelet
    from cpuctl.inputs.sources import Sources
    from cpuctl.kubelet.configuration.refusal import ConfigRefusedError

    own = Sources()
    try:
        loaded = load_kubelet(inputs, own, machine=source)
    except ConfigRefusedError:
        sources.warnings.append("the kubelet does not start with its configuration (see cpuctl config check)")
        return None
    if not own.names_kubelet:
        return _NodeKubelet(loaded.kubelet, is_known=False)
    sources.entries.update(own.entries)
    sources.warnings += own.warnings
    return _NodeKubelet(loaded.kubelet, is_known=True)


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
        missing = "have no socket, core, NUMA node or cache directory"
        if not machine.numa_nodes:
            missing = "have no NUMA node"
        yield f"the driver skips CPUs {driver.skipped}: they {missing}"
    if unknown := settings.reserved - driver.online:
        yield f"{option_names.RESERVED_CPUS} names CPUs that are not online: {unknown}"
    if not machine.caches_known and settings.mode is DeviceMode.INDIVIDUAL:
        yield "caches are not recorded: cacheL3ID is -1, as without an L3 cache"
    if settings.expose_pcie_roots and not driver.pcie_roots:
        yield (
            "no PCIe roots are recorded (sys/devices/pci*/pci_bus), or this is not x86_64: none are published"
        )
    if settings.mode is DeviceMode.GROUPED and settings.group_by is not GroupBy.MACHINE:
        yield from _repeats(driver)


def _repeats(driver: DriverMachine) -> Iterator[str]:
    ids = driver.repeated_core_ids
    if ids and len(driver.sockets) > 1:
        named = ", ".join(map(str, ids[:_FEW_IDS])) + (", ..." if len(ids) > _FEW_IDS else "")
        yield (
            f"core IDs repeat across sockets ({named}), and the driver treats these cores as one: a claim "
            "may get CPUs on a different socket from its device"
        )
