"""How much storage and memory a node has where its files do not say: as given, or as the live host has it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cpuctl.errors import UsageError

if TYPE_CHECKING:
    from cpuctl.inputs.sources import Sources
    from cpuctl.machine.sources import MachineSource

ROOT_DIRECTORY = "/var/lib/kubelet"
OPTION = "--ephemeral-storage"
MEMORY_OPTION = "--memory"
_PAGE = 4096


def with_storage(source: MachineSource, text: str, sources: Sources) -> MachineSource:
    """Add the size of the kubelet's file system to a machine; without one, storage is not looked at.

    Raise UsageError for a *text* that is no amount.
    """
    from cpuctl.machine.sources import LIVE

    size = _given(text, OPTION, "100Gi") if text else _found() if source.origin == LIVE else None
    if size is None:
        return source
    sources.add("ephemeralStorage", text or str(size), "given" if text else "live")
    return source._replace(info=source.info._replace(ephemeral_storage=size))


def with_memory(source: MachineSource, text: str, sources: Sources) -> MachineSource:
    """Add memory to a machine that was recorded without it, in equal parts on the NUMA nodes without.

    Raise UsageError for a *text* that is no amount, and for a machine that has its own memory.
    """
    if not text:
        return source
    info, size = source.info, _given(text, MEMORY_OPTION, "64Gi")
    untold = [node for node in info.nodes if not node.memory_told] or (
        [] if any(node.memory_bytes for node in info.nodes) else list(info.nodes)
    )
    if info.memory_bytes and all(node.memory_told for node in info.nodes):
        raise UsageError("the machine tells how much memory it has", where=MEMORY_OPTION)
    left = size - sum(node.memory_bytes for node in info.nodes)
    if untold and left < 0:
        raise UsageError(f"the NUMA nodes that tell have more than {text}", where=MEMORY_OPTION)
    sources.add("memory", text, "given")
    if len(untold) > 1:
        sources.warnings.append(
            f"{MEMORY_OPTION}: {text} is taken to be spread evenly over {len(untold)} NUMA nodes"
        )
    share = left // max(len(untold), 1) // _PAGE * _PAGE
    filled = {node.id for node in untold}
    nodes = tuple(
        node._replace(memory_bytes=share, memory_told=True) if node.id in filled else node
        for node in info.nodes
    )
    return source._replace(info=info._replace(memory_bytes=info.memory_bytes or size, nodes=nodes))


def _given(text: str, option: str, example: str) -> int:
    from cpuctl.quantity import Quantity

    try:
        amount = Quantity.parse(text)
    except ValueError as error:
        problem = f"expected an amount, found {text!r}: {error}"
        raise UsageError(problem, where=option, hint=f"write an amount such as {example}") from None
    if not 0 <= amount.nano < 10**9 << 63:
        raise UsageError(f"expected an amount from 0 to 8Ei, found {text!r}", where=option)
    return amount.value


def _found() -> int | None:
    try:
        found = os.statvfs(ROOT_DIRECTORY)
    except OSError:
        return None
    return found.f_blocks * found.f_frsize
