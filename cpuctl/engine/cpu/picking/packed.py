"""The packed picker: fewest, fullest NUMA nodes, sockets and cores first.

Rule: kubelet v1.36 ``cpu_assignment.go``, packed and spread ordering, with the uncore cache steps of
``prefer-align-cpus-by-uncorecache``. An order lists elements by (free CPUs, id) inside their parents,
parents in their own order. If elements do not nest (a socket across NUMA nodes that span sockets), an
element is listed, and then counted, more than once, as in the kubelet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import Enum, auto
from functools import cached_property
from itertools import islice

from cpuctl.engine.cpu.topology import CPUTopology, Masks, no_cpus_per_core
from cpuctl.engine.masks import CPU_0, NO_CPUS, CPUMask
from cpuctl.engine.outcome import AllocationError, KubeletFault, Picked, PickStep
from cpuctl.kubelet.releases.behaviours import Behaviours
from cpuctl.records import Record


class PickerRules(Record):
    """One field per difference; the defaults are v1.36. Numbers are kubernetes pull requests.

    ``align_by_socket``: distribution prefers node combinations inside one socket (139778, from 1.37, with
    the policy option of that name); ``limits_share``: a node never gives more than its whole groups (139778,
    from 1.37); ``hint_floor``: the topology hint's width is the fewest nodes to distribute over (139456,
    from 1.38); ``spreads_over_cores``: spread ordering cycles through the real cores (140766, from 1.38);
    ``counts_whole_groups``: a remainder set must have enough whole groups (140730, from 1.38);
    ``copies_combinations``: the best combination is not overwritten by later ones (141238, from 1.38);
    ``odd_requests_fit_caches``: an odd number of CPUs is rounded up to whole cores (131850, from 1.34);
    ``reports_figures``: the error about too few CPUs has the numbers (from 1.29).
    """

    align_by_socket: bool = False
    limits_share: bool = False
    hint_floor: bool = False
    spreads_over_cores: bool = False
    counts_whole_groups: bool = False
    copies_combinations: bool = False
    odd_requests_fit_caches: bool = True
    reports_figures: bool = True


V1_36 = PickerRules()


def picker_rules(release: Behaviours, *, align_by_socket: bool = False) -> PickerRules:
    """Return the rules of a release; *align_by_socket* is whether that policy option is on."""
    return PickerRules(
        align_by_socket=align_by_socket and release.aligns_distribution_to_sockets,
        limits_share=release.limits_shares_to_whole_groups,
        hint_floor=release.floors_distribution_by_hint,
        spreads_over_cores=release.spreads_over_real_cores,
        counts_whole_groups=release.counts_whole_groups,
        copies_combinations=release.copies_combinations,
        odd_requests_fit_caches=release.odd_requests_fit_caches,
        reports_figures=release.reports_missing_cpu_count,
    )


class Orders:
    """The orders of elements at one point: computed from the free CPUs a step starts with.

    Elements with some of the CPUs that a resized container already has (``own``) come first.
    """

    def __init__(self, topology: CPUTopology, free: CPUMask, own: CPUMask = NO_CPUS) -> None:
        self.topology = topology
        self.free = free
        self.own = own

    @cached_property
    def numa_nodes(self) -> list[int]:
        """All NUMA nodes with a free CPU."""
        nodes = self.topology.numa_nodes
        if self.topology.numa_first:
            return self._by_free(nodes, self.free, self.own)
        return [
            node for socket in self.sockets for node in self._within(nodes, self.topology.sockets[socket])
        ]

    @cached_property
    def sockets(self) -> list[int]:
        """All sockets with a free CPU."""
        sockets = self.topology.sockets
        if not self.topology.numa_first:
            return self._by_free(sockets, self.free, self.own)
        return [
            socket
            for node in self.numa_nodes
            for socket in self._within(sockets, self.topology.numa_nodes[node])
        ]

    @property
    def core_parents(self) -> Iterator[CPUMask]:
        """Masks of the elements inside which cores are sorted: the lower of socket and NUMA node."""
        if self.topology.numa_first:
            return (self.topology.sockets[socket] for socket in self.sockets)
        return (self.topology.numa_nodes[node] for node in self.numa_nodes)

    def cores_within(self, parent: CPUMask) -> list[int]:
        """List the cores with a free CPU in a parent's mask."""
        return self._within(self.topology.cores_inside(parent), parent)

    @property
    def cores(self) -> list[int]:
        """All cores with a free CPU."""
        return [core for parent in self.core_parents for core in self.cores_within(parent)]

    @property
    def uncore_caches(self) -> Iterator[int]:
        """All uncore caches with a free CPU; usually the first few are enough."""
        caches, nodes = self.topology.uncore_caches, self.topology.numa_nodes
        return (cache for node in self.numa_nodes for cache in self._within(caches, nodes[node]))

    def _within(self, elements: Masks, parent: CPUMask) -> list[int]:
        return self._by_free(elements, self.free & parent, self.own & parent)

    def _by_free(self, elements: Masks, inside: CPUMask, own: CPUMask) -> list[int]:
        """List the elements that overlap *inside*: with *own* CPUs first, by all their free CPUs, then id."""
        free = self.free
        met = [
            (not mask & own, (free & mask).bit_count(), element)
            for element, mask in elements.items()
            if mask & inside
        ]
        met.sort()
        return [element for _, _, element in met]


class Spread(Enum):
    """How ``distribute-cpus-across-cores`` works: not at all (off), as in v1.36, or as in v1.38."""

    OFF = auto()
    BY_NUMBER = auto()
    OVER_CORES = auto()

    @classmethod
    def by(cls, rules: PickerRules) -> Spread:
        """Return how a release spreads CPUs when the option is on."""
        return cls.OVER_CORES if rules.spreads_over_cores else cls.BY_NUMBER


def take_packed(
    topology: CPUTopology,
    offered: CPUMask,
    count: int,
    *,
    spread: Spread = Spread.OFF,
    prefer_uncore: bool = False,
    rules: PickerRules = V1_36,
) -> Picked | AllocationError | KubeletFault:
    """Pick *count* CPUs from the *offered* mask, best fit first.

    ``prefer_uncore`` is the policy option ``prefer-align-cpus-by-uncorecache``.
    """
    if count < 1:
        return Picked(NO_CPUS)
    free = offered & topology.cpus
    if count > free.bit_count():
        return not_enough(count, offered, rules)
    picker = _Picker(topology, free, count, rules)
    for rule, take in _steps(picker, spread, prefer_uncore=prefer_uncore):
        before = picker.taken
        take()
        if picker.fault is not None:
            return picker.fault
        if before != picker.taken:
            picker.steps.append(PickStep(rule, picker.taken & ~before))
        if picker.need <= 0:
            return Picked(picker.taken, tuple(picker.steps))
    return AllocationError("failed to allocate cpus")


def not_enough(count: int, offered: CPUMask, rules: PickerRules = V1_36) -> AllocationError:
    """Return the error that fewer CPUs are offered than requested; unknown CPUs count as offered."""
    figures = f": requested={count}, available={offered.bit_count()}" if rules.reports_figures else ""
    return AllocationError(f"not enough cpus available to satisfy request{figures}")


def numa_order(topology: CPUTopology, free: CPUMask) -> list[int]:
    """List the NUMA nodes that have a free CPU in the kubelet's order, including repeats."""
    return list(Orders(topology, free).numa_nodes)


def _steps(
    picker: _Picker, spread: Spread, *, prefer_uncore: bool
) -> Iterator[tuple[str, Callable[[], None]]]:
    numa = ("whole NUMA nodes", picker.take_numa_nodes)
    sockets = ("whole sockets", picker.take_sockets)
    yield from (numa, sockets) if picker.topology.numa_first else (sockets, numa)
    if prefer_uncore:
        yield "uncore caches", picker.take_uncore_caches
    match spread:
        case Spread.OFF:
            yield "whole cores", picker.take_cores
            yield "single CPUs, packed", picker.take_packed
        case Spread.BY_NUMBER:
            yield "single CPUs, by number in each socket", picker.take_by_number
        case Spread.OVER_CORES:
            yield "single CPUs, from the cores of each socket in turn", picker.take_over_cores


class _Picker:
    """The state of one pick: CPUs still free, CPUs still needed, CPUs taken."""

    def __init__(self, topology: CPUTopology, free: CPUMask, need: int, rules: PickerRules) -> None:
        self.topology = topology
        self.rules = rules
        self.free = free
        self.need = need
        self.taken = NO_CPUS
        self.steps: list[PickStep] = []
        self.fault: KubeletFault | None = None
        self._last_orders = Orders(topology, free)

    def take(self, cpus: CPUMask) -> None:
        # Counted by size even if a CPU was already taken: the kubelet does so, and may pick too few.
        self.taken |= cpus
        self.free &= ~cpus
        self.need -= cpus.bit_count()

    def take_numa_nodes(self) -> None:
        nodes = self.topology.numa_nodes
        self._take_free(nodes, lambda orders: orders.numa_nodes)

    def take_sockets(self) -> None:
        free, sockets, average = self.free, self.topology.sockets, self.topology.cpus_per_socket
        # The kubelet compares with the average, so a socket of another size never counts as free.
        if any((free & mask).bit_count() == average for mask in sockets.values()):
            order = self._orders().sockets
            self._take_whole(mask for s in order if (free & (mask := sockets[s])).bit_count() == average)

    def take_uncore_caches(self) -> None:
        for cache in self._orders().uncore_caches:
            if self.need >= self.topology.cpus_per_uncore:
                self._take_free(self.topology.uncore_caches, lambda orders: orders.uncore_caches)
            if self.need <= 0:
                return
            if not self.topology.cpus_per_core:
                self.fault = no_cpus_per_core(self.topology, "aligning CPUs to uncore caches")
                return
            inside = self.topology.uncore_caches[cache]
            odd = self.rules.odd_requests_fit_caches
            self.take(part_of_cache(self.topology, self.free, self.need, inside, odd_fits=odd))

    def take_cores(self) -> None:
        free, per_core = self.free, self.topology.cpus_per_core
        whole: Iterable[CPUMask] = self._cores_with(per_core, free)
        for number, parent in enumerate(self._orders().core_parents):
            if self.need < per_core:
                return
            if number == 1:
                # Usually a few cores of the first parent are enough: only now checking all pays off.
                whole = tuple(self._cores_with(per_core, free))
            inside = free & parent
            # All have equally many free CPUs, so the order by (free CPUs, id) is the order by id.
            self._take_whole(mask for mask in whole if mask & inside)

    def _cores_with(self, count: int, free: CPUMask) -> Iterator[CPUMask]:
        return (mask for mask in self.topology.cores.values() if (free & mask).bit_count() == count)

    def take_packed(self) -> None:
        cores, free, orders = self.topology.cores, self.free, self._orders()
        self._take_singles(
            free & cores[core] for parent in orders.core_parents for core in orders.cores_within(parent)
        )

    def take_by_number(self) -> None:
        free, sockets = self.free, self.topology.sockets
        self._take_singles(free & sockets[socket] for socket in self._orders().sockets)

    def take_over_cores(self) -> None:
        free, orders, cores = self.free, self._orders(), self.topology.cores
        for socket in orders.sockets:
            # All cores of the socket, even if it is not the lower element.
            inside = [free & cores[core] for core in orders.cores_within(self.topology.sockets[socket])]
            while any(inside) and self.need > 0:
                self._take_singles(mask & -mask for mask in inside)
                inside = [mask ^ mask & -mask for mask in inside]

    def _take_free(self, elements: Masks, order: Callable[[Orders], Iterable[int]]) -> None:
        """Take elements that are completely free, in order, unless they are too large."""
        free, need = self.free, self.need
        # Sorting is expensive, and usually nothing qualifies.
        if any(free & mask == mask and mask.bit_count() <= need for mask in elements.values()):
            in_order = order(self._orders())
            self._take_whole(mask for element in in_order if free & (mask := elements[element]) == mask)

    def _take_whole(self, elements: Iterable[CPUMask]) -> None:
        for mask in elements:
            size = mask.bit_count()
            if self.need >= size:
                self.taken |= mask
                self.free &= ~mask
                self.need -= size
            if self.need <= 0:
                return

    def _take_singles(self, groups: Iterable[CPUMask]) -> None:
        for group in groups:
            if self.need <= 0:
                return
            self.take(lowest_bits(group, self.need))

    def _orders(self) -> Orders:
        """Return the orders for the current free CPUs; they are kept while a step takes nothing."""
        if self._last_orders.free != self.free:
            self._last_orders = Orders(self.topology, self.free)
        return self._last_orders


def part_of_cache(
    topology: CPUTopology, free: CPUMask, need: int, cache: CPUMask, *, odd_fits: bool = True
) -> CPUMask:
    """Return the free CPUs of the lowest-numbered cores in one cache, all that are needed or none.

    Unless *odd_fits*, the number of cores for an odd number of CPUs is rounded down, which rarely fits.
    """
    per_core = topology.cpus_per_core
    part, inside = NO_CPUS, free & cache
    cores = (mask for mask in topology.cores.values() if mask & inside)
    for mask in islice(cores, -(-need // per_core) if odd_fits else need // per_core):
        part |= mask & free
    if odd_fits and need % 2 == 1 and per_core > 1 and part.bit_count() > need:
        part ^= CPU_0 << part.bit_length() - 1
    return part if part.bit_count() == need else NO_CPUS


def lowest_bits(mask: CPUMask, count: int) -> CPUMask:
    """Return the *count* lowest set bits of *mask*, or all if there are fewer."""
    if mask.bit_count() <= count:
        return mask
    taken = NO_CPUS
    for _ in range(count):
        bit = mask & -mask
        taken |= bit
        mask ^= bit
    return taken
