"""The facts of two readings of one machine, from the forms of output, that must be equal."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cpuctl.machine.foreign.form import FormContent, MachineFact
from cpuctl.machine.model import Machine

FACTS: Mapping[MachineFact, Callable[[Machine], object]] = {
    MachineFact.OFFLINE: lambda machine: machine.offline,
    MachineFact.NUMA: lambda machine: {(node.id, node.cpus) for node in machine.numa_nodes if node.cpus},
    MachineFact.BARE_NODES: lambda machine: {node.id for node in machine.numa_nodes if not node.cpus},
    MachineFact.SOCKETS: lambda machine: set(machine.sockets.values()),
    MachineFact.CORES: lambda machine: set(machine.cores),
    MachineFact.CACHES: lambda machine: {(cache.level, cache.kind, cache.cpus) for cache in machine.caches},
    MachineFact.CACHE_IDS: lambda machine: {(cache.level, cache.kind, cache.id) for cache in machine.caches},
    MachineFact.CACHE_SIZES: lambda machine: {
        (cache.level, cache.cpus, cache.size_bytes) for cache in machine.caches
    },
    MachineFact.DISTANCES: lambda machine: {(node.id, node.distances) for node in machine.numa_nodes},
    MachineFact.NODE_MEMORY: lambda machine: {
        (node.id, (node.memory_bytes or 0) >> 20) for node in machine.numa_nodes
    },
    MachineFact.MEMORY: lambda machine: machine.memory_bytes,
    MachineFact.HUGE_PAGES: lambda machine: {
        (node.id, size, count) for node in machine.numa_nodes for size, count in node.hugepages.items()
    },
    MachineFact.CORE_KINDS: lambda machine: (machine.core_kinds.performance, machine.core_kinds.efficiency),
    MachineFact.ISOLATED: lambda machine: (machine.isolated, machine.nohz_full),
    MachineFact.MODEL: lambda machine: machine.model_name,
}
"""Memory in MiB, as numactl rounds it down."""


def differences(
    one: Machine, other: Machine, reported: FormContent
) -> dict[MachineFact, tuple[object, object]]:
    """Return the facts that both contain, but with different values."""
    assert reported.facts <= reported.form.recorded
    pairs = {fact: (FACTS[fact](one), FACTS[fact](other)) for fact in reported.facts}
    return {fact: pair for fact, pair in pairs.items() if pair[0] != pair[1]}
