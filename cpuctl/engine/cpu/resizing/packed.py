"""The packed picker for a container that has CPUs: what it holds is kept and completed first.

Rule: KEP-5554 and its reference implementation. It differs from ``picking.packed`` in two ways: an element is
whole if its free CPUs and those that the container holds make up all of it, and elements that the container
is on come before others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from cpuctl.engine.cpu.picking.packed import Orders, Spread, lowest_bits, not_enough, part_of_cache
from cpuctl.engine.cpu.topology import CPUTopology, Masks, no_cpus_per_core
from cpuctl.engine.masks import CPUMask
from cpuctl.engine.outcome import AllocationError, KubeletFault, Picked, PickStep

KEPT = "CPUs it keeps"


def complete_packed(
    topology: CPUTopology,
    offered: CPUMask,
    count: int,
    kept: CPUMask,
    *,
    spread: Spread = Spread.OFF,
    prefer_uncore: bool = False,
) -> Picked | AllocationError | KubeletFault:
    """Complete the *kept* CPUs to *count* out of the *offered* ones; both are masks."""
    picker = _Grower(topology, offered & topology.cpus & ~kept, count, kept)
    if picker.need > picker.free.bit_count():
        return not_enough(count, offered)
    for rule, take in _steps(picker, spread, prefer_uncore=prefer_uncore):
        if picker.need <= 0:
            break
        before = picker.own
        take()
        if picker.fault is not None:
            return picker.fault
        if before != picker.own:
            picker.steps.append(PickStep(rule, picker.own & ~before))
    return Picked(picker.own, tuple(picker.steps))


def _steps(
    picker: _Grower, spread: Spread, *, prefer_uncore: bool
) -> Iterator[tuple[str, Callable[[], None]]]:
    numa = ("whole NUMA nodes", picker.take_numa_nodes)
    sockets = ("whole sockets", picker.take_sockets)
    yield from (numa, sockets) if picker.topology.numa_first else (sockets, numa)
    if prefer_uncore:
        yield "uncore caches", picker.take_uncore_caches
    if spread is Spread.OFF:
        yield "whole cores", picker.take_cores
        yield "single CPUs, packed", picker.take_packed
    else:
        yield "single CPUs, by number in each socket", picker.take_by_number


class _Grower:
    """The state of one pick: CPUs that the container owns, CPUs still free, CPUs still needed."""

    def __init__(self, topology: CPUTopology, free: CPUMask, count: int, own: CPUMask) -> None:
        self.topology = topology
        self.free = free
        self.own = own
        self.need = count - own.bit_count()
        self.steps = [PickStep(KEPT, own)] if own else []
        self.fault: KubeletFault | None = None

    def take_numa_nodes(self) -> None:
        self._complete(self.topology.numa_nodes, self._orders().numa_nodes)

    def take_sockets(self) -> None:
        self._complete(self.topology.sockets, self._orders().sockets, self.topology.cpus_per_socket)

    def take_cores(self) -> None:
        self._complete(self.topology.cores, self._orders().cores, self.topology.cpus_per_core)

    def take_packed(self) -> None:
        self._take_singles(self.topology.cores, self._orders().cores)

    def take_by_number(self) -> None:
        self._take_singles(self.topology.sockets, self._orders().sockets)

    def take_uncore_caches(self) -> None:
        caches = self.topology.uncore_caches
        self._complete(caches, self._orders().uncore_caches)
        for cache in self._orders().uncore_caches:
            if self.need <= 0:
                return
            if not self.topology.cpus_per_core:
                self.fault = no_cpus_per_core(self.topology, "aligning CPUs to uncore caches")
                return
            self._take(part_of_cache(self.topology, self.free, self.need, caches[cache]))

    def _complete(self, elements: Masks, order: Iterable[int], average: int | None = None) -> None:
        """Take the missing CPUs of elements that can be whole, unless more are missing than needed."""
        for element in order:
            mask = elements[element]
            missing = mask & self.free
            if self._whole(mask, average) and self.need >= missing.bit_count():
                self._take(missing)

    def _whole(self, mask: CPUMask, average: int | None) -> bool:
        """Return whether all CPUs are free or owned; cores and sockets are compared with the average."""
        size = mask.bit_count() if average is None else average
        return ((self.free | self.own) & mask).bit_count() == size

    def _take_singles(self, elements: Masks, order: list[int]) -> None:
        for element in order:
            self._take(lowest_bits(self.free & elements[element], self.need))

    def _take(self, cpus: CPUMask) -> None:
        self.own |= cpus
        self.free &= ~cpus
        self.need -= cpus.bit_count()

    def _orders(self) -> Orders:
        return Orders(self.topology, self.free, self.own)
