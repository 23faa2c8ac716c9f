"""The kubelet's own static policy, written with the steps of a plugin: proof that these are sufficient.

Rule: kubelet v1.36 ``cpu_assignment.go``. It chooses the same CPUs as the engine's faster pickers: packed,
spread or distributed over NUMA nodes, aligned to uncore caches or not. Only the number of CPUs from each NUMA
node, if they are distributed, is computed by shared code. It is also a starting point for a policy that
differs from the kubelet's in one detail.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.picking.balance import (
    MOST_TRIED,
    RepeatedSearch,
    Search,
    Split,
    TooManyError,
    endless_loop,
)
from cpuctl.engine.cpu.picking.packed import PickerRules, picker_rules
from cpuctl.engine.outcome import KubeletFault
from cpuctl.kubelet.releases.behaviours import behaviours
from cpuctl.policies.model import Failure, Policy, Rejection, Topology, View

NOTHING = CPUSet()
_TOO_FEW = "failed to allocate cpus"


class Rules(NamedTuple):
    """How CPUs are picked: the options of the policy, and the differences of the kubelet's release.

    ``group`` is the number of CPUs that are distributed together.
    """

    distribute: bool
    uncore: bool
    spread: bool
    group: int
    release: PickerRules


class Static(Policy):
    """Choose as the kubelet does, with the options of its configuration."""

    source = "kubelet pkg/kubelet/cm/cpumanager/cpu_assignment.go (v1.36)"

    def rules(self, view: View) -> Rules:
        """Read the options of the kubelet."""
        on = {name for name, value in view.settings.items() if value == "true"}
        return Rules(
            distribute="distribute-cpus-across-numa" in on,
            uncore="prefer-align-cpus-by-uncorecache" in on,
            spread="distribute-cpus-across-cores" in on,
            group=view.topology.cpus_per_core if "full-pcpus-only" in on else 1,
            release=picker_rules(behaviours(*view.release), align_by_socket="align-by-socket" in on),
        )

    def select(self, scores: Mapping[int, float], view: View) -> Iterator[CPUSet]:
        """Name one set: whole elements first, or equal shares of as few NUMA nodes as possible.

        Raise Rejection or Failure with the kubelet's words if it has no CPUs, or loops forever.
        """
        rules, free = self.rules(view), CPUSet.of(scores) & CPUSet.of(view.topology.cpus)
        if not rules.distribute:
            yield packed(view.topology, free, view.need, rules)
            return
        if not rules.group:
            raise Failure("runtime error: integer divide by zero", crash=True)
        if view.need % rules.group == 0 and (split := _split(view, free, rules)):
            yield _dealt(view, free, rules, *split)
        else:
            yield packed(view.topology, free, view.need, rules._replace(uncore=False))


class Order(NamedTuple):
    """The sort orders at one moment, by the CPUs that are free."""

    topology: Topology
    free: CPUSet

    def by_free(self, elements: Mapping[int, CPUSet], inside: CPUSet | None = None) -> list[int]:
        """List the elements that have a free CPU (*inside* another one): fewest free first, then by id."""
        here = self.free if inside is None else self.free & inside
        met = [element for element, cpus in elements.items() if cpus & here]
        return sorted(met, key=lambda element: (len(elements[element] & self.free), element))

    def within(self, elements: Mapping[int, CPUSet], parents: list[CPUSet]) -> list[int]:
        """List elements parent by parent; one that spans parents is listed more than once."""
        return [element for parent in parents for element in self.by_free(elements, parent)]

    @property
    def numa_nodes(self) -> list[int]:
        """All NUMA nodes with a free CPU."""
        nodes, sockets = self.topology.numa_nodes, self.topology.sockets
        if self.topology.numa_first:
            return self.by_free(nodes)
        return self.within(nodes, [sockets[each] for each in self.by_free(sockets)])

    @property
    def sockets(self) -> list[int]:
        """All sockets with a free CPU."""
        nodes, sockets = self.topology.numa_nodes, self.topology.sockets
        if not self.topology.numa_first:
            return self.by_free(sockets)
        return self.within(sockets, [nodes[each] for each in self.by_free(nodes)])

    @property
    def cores(self) -> list[int]:
        """All cores with a free CPU, inside the smaller of NUMA nodes and sockets."""
        nodes, sockets = self.topology.numa_nodes, self.topology.sockets
        parents = (
            [sockets[each] for each in self.sockets]
            if self.topology.numa_first
            else [nodes[each] for each in self.numa_nodes]
        )
        return self.within(self.topology.cores, parents)

    @property
    def uncore_caches(self) -> list[int]:
        """All uncore caches with a free CPU."""
        nodes = self.topology.numa_nodes
        return self.within(self.topology.uncore_caches, [nodes[each] for each in self.numa_nodes])


class Basket:
    """The CPUs taken so far, and the number still needed, as the kubelet counts them."""

    def __init__(self, topology: Topology, free: CPUSet, need: int) -> None:
        self.topology = topology
        self.free = free
        self.need = need
        self.taken = NOTHING

    @property
    def order(self) -> Order:
        """The sort orders at this moment."""
        return Order(self.topology, self.free)

    def take(self, cpus: CPUSet) -> None:
        """Take CPUs, even if others have them."""
        self.taken |= cpus
        self.free -= cpus
        self.need -= len(cpus)

    def take_whole(self, elements: Mapping[int, CPUSet], order: list[int], full: int | None = None) -> None:
        """Take elements that are not too large and have *full* free CPUs, or (None) all of their own."""
        free = self.free
        for element in order:
            cpus = elements[element]
            whole = len(cpus & free) == (len(cpus) if full is None else full)
            if whole and 0 < self.need >= len(cpus):
                self.take(cpus)

    def take_caches(self, release: PickerRules) -> None:
        """Take whole uncore caches, then the rest from whole cores of one cache.

        Raise Failure if a kubelet would divide by zero CPUs per core.
        """
        caches, per_core = self.topology.uncore_caches, self.topology.cpus_per_core
        for cache in self.order.uncore_caches:
            if self.need >= self.topology.cpus_per_uncore_cache:
                self.take_whole(caches, self.order.uncore_caches)
            if self.need <= 0:
                return
            if not per_core:
                raise Failure("runtime error: integer divide by zero", crash=True)
            cores = self.topology.cores
            inside = self.free & caches[cache]
            odd = release.odd_requests_fit_caches
            number = -(-self.need // per_core) if odd else self.need // per_core
            part = CPUSet.of(
                cpu
                for core in [c for c in cores if cores[c] & inside][:number]
                for cpu in cores[core] & self.free
            )
            if odd and self.need % 2 and per_core > 1 and len(part) > self.need:
                part -= CPUSet.of([max(part)])
            if len(part) == self.need:
                self.take(part)

    def take_singles(self, cpus: list[int]) -> None:
        """Take one CPU after another, as long as some are needed."""
        for cpu in cpus:
            if self.need <= 0:
                return
            self.take(CPUSet.of([cpu]))

    def singles(self, rules: Rules) -> list[int]:
        """List the free CPUs: core by core, or socket by socket by number, or round its cores."""
        cores, sockets = self.topology.cores, self.topology.sockets
        if not rules.spread:
            return [cpu for core in self.order.cores for cpu in cores[core] & self.free]
        if not rules.release.spreads_over_cores:
            return [cpu for socket in self.order.sockets for cpu in sockets[socket] & self.free]
        rounds: list[int] = []
        for socket in self.order.sockets:
            inside = [list(cores[core] & self.free) for core in self.order.by_free(cores, sockets[socket])]
            for place in range(max(map(len, inside), default=0)):
                rounds += [cpus[place] for cpus in inside if place < len(cpus)]
        return rounds


def packed(topology: Topology, free: CPUSet, count: int, rules: Rules) -> CPUSet:
    """Take whole NUMA nodes and sockets (the larger first), perhaps caches, whole cores, then single CPUs.

    Raise Rejection if these are not enough: a CPU may have been counted more than once.
    """
    basket = Basket(topology, free, count)

    def nodes() -> None:
        basket.take_whole(topology.numa_nodes, basket.order.numa_nodes)

    def sockets() -> None:
        basket.take_whole(topology.sockets, basket.order.sockets, topology.cpus_per_socket)

    steps = [nodes, sockets] if topology.numa_first else [sockets, nodes]
    if rules.uncore:
        steps.append(lambda: basket.take_caches(rules.release))
    if not rules.spread:
        steps.append(lambda: basket.take_whole(topology.cores, basket.order.cores, topology.cpus_per_core))
    for step in steps:
        step()
        if basket.need <= 0:
            return basket.taken
    basket.take_singles(basket.singles(rules))
    if basket.need > 0:
        raise Rejection(_TOO_FEW)
    return basket.taken


def _split(view: View, free: CPUSet, rules: Rules) -> tuple[Split, list[int]] | None:
    """Find how many CPUs each NUMA node gives, with the nodes in order; None if no number of nodes can."""
    topology, order = view.topology, Order(view.topology, free).numa_nodes
    inside = [topology.numa_nodes[node] for node in order]
    sockets = [
        frozenset(socket for socket, cpus in topology.sockets.items() if cpus & node) for node in inside
    ]
    wanted = Search(
        free=tuple(len(free & cpus) for cpus in inside),
        sockets=tuple(sockets) if rules.release.align_by_socket else (),
        need=view.need,
        group=rules.group,
        rules=rules.release,
    )
    groups = -(-len(topology.cpus) // rules.group)
    fewest = -(-(view.need // rules.group) // -(-groups // len(topology.numa_nodes)))
    most = min(view.need // rules.group, len(set(order)))
    floor = len(view.nodes) if view.nodes is not None and rules.release.hint_floor else 0
    fewest = floor if fewest < floor <= most else fewest
    if len(set(order)) < len(order):
        wanted = RepeatedSearch(*wanted._replace(listed=tuple(order)))
    try:
        found = wanted.run(fewest, most)
    except TooManyError:
        raise Rejection(f"the kubelet tries more than {MOST_TRIED} combinations of NUMA nodes here") from None
    if isinstance(found, KubeletFault):
        raise _endless(found)
    return (found, order) if found else None


def _dealt(view: View, free: CPUSet, rules: Rules, split: Split, order: list[int]) -> CPUSet:
    """Take the share of every node, then distribute the remainder group by group."""
    topology, basket = view.topology, Basket(view.topology, free, view.need)

    def take_from(node: int, count: int) -> None:
        inside = basket.free & topology.numa_nodes[node]
        if 0 < count <= len(inside):
            try:
                basket.take(packed(topology, inside, count, rules._replace(uncore=False)))
            except Rejection:  # the kubelet checks the sum at the end
                return

    for position in split.positions:
        take_from(order[position], split.share)
    left = split.remainder
    while left > 0:
        before = left
        for position in split.extra:
            node = order[position]
            if left > 0 and len(basket.free & topology.numa_nodes[node]) >= rules.group:
                take_from(node, rules.group)
                left -= rules.group
        if left == before:
            raise _endless(
                endless_loop("no NUMA node of the remainder set has a whole group of free CPUs left")
            )
    if basket.need:
        raise Rejection(f"accounting error, not enough CPUs allocated, remaining: {basket.need}")
    return basket.taken


def _endless(fault: KubeletFault) -> Failure:
    return Failure(fault.why, where=fault.where)
