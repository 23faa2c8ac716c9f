"""Machine, devices and runtime as specified, with the facts missing from recordings: memory, storage."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cpuctl import option_names
from cpuctl.errors import CpuctlError, UsageError
from cpuctl.inputs.configuration import LIVE_MACHINE
from cpuctl.inputs.user_defaults import machine_default
from cpuctl.records import replace

if TYPE_CHECKING:
    from cpuctl.inputs.sources import Sources
    from cpuctl.machine.devices.inventory import DeviceInventory
    from cpuctl.machine.machine_info import MachineInfo
    from cpuctl.machine.sources import MachineSource
    from cpuctl.pods.cgroups.files import WeightFormula

ROOT_DIRECTORY = "/var/lib/kubelet"
_PAGE = 4096


def load_machine(spec: str, sources: Sources, *, shows_findings: bool = False) -> MachineSource:
    """Read the machine from the source that ``-m`` names.

    Warn if its NUMA nodes are guessed, unless the answer *shows findings* of machines.
    Raise CpuctlError for an unreadable source, with the variable or file that names it.
    """
    from cpuctl.machine.sources import read_machine

    default = machine_default(spec)
    sources.add("machine", spec, default.origin if default else "live" if spec == LIVE_MACHINE else "given")
    try:
        source = read_machine(spec)
    except CpuctlError as error:
        raise (error.within(default.where) if default else error) from None
    if not (source.machine.numa_known or shows_findings):
        taken = ": packages are used instead, as on a kernel without NUMA nodes"
        if not source.info.nodes:
            taken = ", nor are packages: the kubelet view has none"
        sources.warnings.append(f"NUMA nodes are not recorded{taken}")
    if source.content and not shows_findings:
        sources.warnings.extend(f"{source.content.form.name}: {each}" for each in source.content.assumed)
    return source


def load_devices(name: str, sources: Sources, *, info: MachineInfo | None = None) -> DeviceInventory | None:
    """Read the devices of the node's device plugins; None (unknown) if no file is named.

    Warn if the file is incomplete, or names NUMA nodes that the machine does not have.
    """
    if not name:
        return None

    from cpuctl.cpuset import CPUSet
    from cpuctl.documents.files import read_input, source_name
    from cpuctl.machine.devices.reading import read_devices

    source = source_name(name)
    sources.add("devices", source, "given")
    read = read_devices(read_input(name), source)
    if not read.in_use_known:
        sources.warnings.append(
            f"{source} does not include what pods hold (List): all its devices are assumed to be free"
        )
    known = CPUSet.of(node.id for node in info.nodes if node.id >= 0) if info else read.inventory.numa_nodes
    if unknown := read.inventory.numa_nodes - known:
        sources.warnings.append(
            f"{source} names NUMA nodes that the machine does not have: {unknown}; devices there are "
            "not aligned"
        )
    return read.inventory


def with_storage(source: MachineSource, text: str, sources: Sources) -> MachineSource:
    """Add the size of the kubelet's file system to a machine; without it, storage is not checked.

    Raise UsageError for a *text* that is not an amount.
    """
    from cpuctl.machine.sources import LIVE

    size = (
        _amount(text, option_names.STORAGE, "100Gi")
        if text
        else _live_storage()
        if source.origin == LIVE
        else None
    )
    if size is None:
        return source
    sources.add("ephemeralStorage", text or str(size), "given" if text else "live")
    return replace(source, info=replace(source.info, ephemeral_storage=size))


def with_memory(source: MachineSource, text: str, sources: Sources) -> MachineSource:
    """Add memory to a machine that was recorded without it, in equal parts on the NUMA nodes without memory.

    Raise UsageError for an invalid quantity *text*, and for a machine that has its own memory.
    """
    if not text:
        return source
    info, size = source.info, _amount(text, option_names.MEMORY, "64Gi")
    unrecorded = [node for node in info.nodes if not node.memory_known] or (
        [] if any(node.memory_bytes for node in info.nodes) else list(info.nodes)
    )
    if info.memory_bytes and all(node.memory_known for node in info.nodes):
        hint = "leave it out"
        message = "the machine description already includes memory"
        raise UsageError(message, where=option_names.MEMORY, hint=hint)
    left = size - sum(node.memory_bytes for node in info.nodes)
    if unrecorded and left < 0:
        message = (
            f"the NUMA nodes whose memory is known have more than {text}: expected the memory "
            "of all NUMA nodes"
        )
        raise UsageError(message, where=option_names.MEMORY)
    sources.add("memory", text, "given")
    if len(unrecorded) > 1:
        sources.warnings.append(
            f"{option_names.MEMORY}: {text} is assumed to be spread evenly over {len(unrecorded)} NUMA nodes"
        )
    share = left // max(len(unrecorded), 1) // _PAGE * _PAGE
    filled = {node.id for node in unrecorded}
    nodes = tuple(
        replace(node, memory_bytes=share, memory_known=True) if node.id in filled else node
        for node in info.nodes
    )
    return replace(source, info=replace(info, memory_bytes=info.memory_bytes or size, nodes=nodes))


def load_memory(text: str, sources: Sources) -> int | None:
    """Read the memory of an otherwise unknown node, in bytes; None if not specified.

    Raise UsageError for an invalid quantity, and for zero.
    """
    if not text:
        return None
    sources.add("memory", text, "given")
    return _amount(text, option_names.MEMORY, "64Gi", least=1)


def load_runtime(text: str, sources: Sources) -> WeightFormula | None:
    """Return how the specified runtime converts shares to weights; None if none is specified.

    Raise UsageError for an unknown one.
    """
    from cpuctl.pods.cgroups.files import formula_of_runtime

    if not text:
        return None
    sources.add("ociRuntime", text, "given")
    try:
        return formula_of_runtime(text)
    except ValueError as error:
        raise UsageError(str(error), where=option_names.OCI_RUNTIME) from None


def _amount(text: str, option: str, example: str, *, least: int = 0) -> int:
    from cpuctl.quantity import Quantity

    try:
        amount = Quantity.parse(text)
    except ValueError as error:
        problem = f"expected a quantity, found {text!r}: {error}"
        raise UsageError(problem, where=option, hint=f"write a quantity such as {example}") from None
    if not least * 10**9 <= amount.nano < 10**9 << 63:
        raise UsageError(f"expected a quantity from {least} to 8Ei, found {text!r}", where=option)
    return amount.value


def _live_storage() -> int | None:
    try:
        found = os.statvfs(ROOT_DIRECTORY)
    except OSError:
        return None
    return found.f_blocks * found.f_frsize
