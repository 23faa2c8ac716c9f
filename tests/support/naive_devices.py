"""The device manager as it is: devices one by one, every set of NUMA nodes tried.

Rule: kubelet v1.36 ``pkg/kubelet/cm/devicemanager``. All of the kubelet's random choices are returned.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from cpuctl.engine.hints.hints import Hint
from cpuctl.engine.masks import NodeMask


@dataclass(frozen=True, slots=True)
class Device:
    """One device: its name, the mask of the NUMA nodes next to it, its health."""

    name: str
    nodes: int
    healthy: bool = True


def hints(
    nodes: Sequence[int],
    devices: Collection[Device],
    available: Collection[Device],
    reusable: Collection[Device],
    request: int,
) -> list[Hint]:
    """Make the hints for a request on a machine with these NUMA nodes."""
    narrowest = len(nodes)
    found = []
    for size in range(1, len(nodes) + 1):
        for chosen in combinations(nodes, size):
            mask = sum(1 << node for node in chosen)
            if sum(1 for device in devices if device.nodes & mask) >= request:
                narrowest = min(narrowest, size)
            if any(device.nodes and not device.nodes & mask for device in reusable):
                continue
            near = sum(1 for device in (*available, *reusable) if device.nodes & mask)
            if near >= request:
                found.append(mask)
    return [Hint(NodeMask(mask), mask.bit_count() == narrowest) for mask in found]


def choices(
    available: Collection[Device], reusable: Collection[Device], request: int, affinity: int | None
) -> set[frozenset[str]]:
    """Return every set of devices that the kubelet may allocate; it only orders them by tier."""
    tiers = [reusable, *_tiers(available, affinity)]
    taken: set[frozenset[str]] = {frozenset()}
    for tier in tiers:
        names = {device.name for device in tier}
        taken = {
            so_far | frozenset(more)
            for so_far in taken
            for more in combinations(sorted(names), min(len(names), request - len(so_far)))
        }
    return {each for each in taken if len(each) == request}


def _tiers(available: Collection[Device], affinity: int | None) -> Iterator[list[Device]]:
    aligned = [device for device in available if affinity is not None and device.nodes & affinity]
    yield aligned
    yield [device for device in available if affinity is not None and device.nodes and device not in aligned]
    yield [device for device in available if affinity is None or not device.nodes]
