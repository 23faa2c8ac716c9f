"""Memory of containers on NUMA nodes that are not theirs (/proc/PID/numa_maps, *numa(7)*)."""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.audit.commands import for_each
from cpuctl.audit.finding import Finding, NodePart
from cpuctl.audit.picture import Picture, Seen
from cpuctl.cpuset import CPUSet
from cpuctl.diagnostics import Severity
from cpuctl.machine.wording import named

TOLERANCE = 1 << 20
"""Bytes elsewhere that are nobody's fault: what a process had before it was put into its group."""


def check_memory(picture: Picture) -> Iterator[Finding]:
    """Tell containers that have memory of their own outside of their NUMA nodes."""
    for seen in picture.containers:
        allowed = seen.expected.mems or seen.group.cpuset.effective_mems or seen.group.cpuset.mems
        if allowed:
            yield from _spilled(seen, allowed)


def _spilled(seen: Seen, allowed: CPUSet) -> Iterator[Finding]:
    amounts: dict[int, int] = {}
    pids = []
    for leader in seen.leaders:
        outside = {node: size for node, size in (leader.memory or {}).items() if node not in allowed}
        if sum(outside.values()):
            pids.append(leader.pid)
        for node, size in (leader.memory or {}).items():
            amounts[node] = amounts.get(node, 0) + size
    nodes = CPUSet.of(node for node, size in amounts.items() if node not in allowed and size)
    spilled = sum(amounts[node] for node in nodes)
    if spilled <= TOLERANCE:
        return
    yield Finding(
        severity=Severity.WARNING,
        code="memory-spill",
        place=NodePart.of(seen),
        message=f"{spilled >> 20} of its {sum(amounts.values()) >> 20} MiB of own memory have come from "
        f"{named(nodes, 'NUMA node')}",
        expected=f"node {allowed}",
        detected=", ".join(f"node {node}: {size >> 20} MiB" for node, size in sorted(amounts.items())),
        fix=for_each(pids, f"migratepages {{}} {nodes} {allowed}"),
    )
