"""What-if: CPUs as Katalyst's QoS resource manager chooses them for dedicated cores on NUMA nodes.

Source: katalyst-core ``pkg/agent/qrm-plugins/cpu/dynamicpolicy`` (``hintoptimizer/policy/canonical``,
``calculator/cpu_assignment.go``). There it depends on each pod's annotations and pools; here all pods with
exclusive CPUs are treated the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from cpuctl.cpuset import CPUSet
from cpuctl.policies.model import Policy, Rejection, View

STRATEGIES = ("packing", "spreading", "dynamic-packing", "balance")
_PACKS = 1_000_000
"""More CPUs than exist: packing sorts before spreading."""


class Katalyst(Policy):
    """Pack or spread over NUMA nodes, by the CPUs that would remain free.

    CPUs on a node are taken in whole sockets, caches and cores. ``packing`` leaves the fewest
    free, ``spreading`` the most; ``dynamic-packing`` packs nodes until ``threshold`` (a share) is left
    free, then spreads; ``balance`` takes from all NUMA nodes in turn. ``caches`` also considers L3 caches.
    """

    alignment = "equal"
    choices = MappingProxyType({"strategy": STRATEGIES})
    source = "katalyst-core pkg/agent/qrm-plugins/cpu/dynamicpolicy"

    def __init__(self, strategy: str = "spreading", threshold: float = 0.5, *, caches: bool = False) -> None:
        self.strategy = strategy
        self.threshold = threshold
        self.caches = caches

    def select(self, scores: Mapping[int, float], view: View) -> Iterator[CPUSet]:
        """Name a set for every NUMA node that has enough CPUs, otherwise one from all nodes.

        Raise Rejection for an unknown strategy.
        """
        if self.strategy not in STRATEGIES:
            raise Rejection(f"strategy: expected one of {', '.join(STRATEGIES)}, found {self.strategy}")
        free = CPUSet.of(scores)
        if self.strategy == "balance":
            yield _balanced(view, free)
            return
        enough = [cpus & free for cpus in view.topology.numa_nodes.values() if len(cpus & free) >= view.need]
        for inside in enough or [free]:
            yield self._by_topology(view, inside)

    def score(self, cpus: CPUSet, view: View) -> float:
        """Score the CPUs that remain on the NUMA nodes."""
        nodes = {view.topology.cpus[cpu].numa_node for cpu in cpus}
        usage = [view.usage[node]["cpu"] for node in nodes]
        allocatable = sum(each.allocatable for each in usage)
        left = allocatable - sum(each.assigned for each in usage) - len(cpus)
        match self.strategy:
            case "packing":
                return -left
            case "dynamic-packing":
                return _PACKS - left if left >= self.threshold * allocatable else left
            case _:
                return left

    def _by_topology(self, view: View, free: CPUSet) -> CPUSet:
        """Take whole free sockets, L3 caches if set, whole cores, then single CPUs."""
        topology, taken = view.topology, CPUSet()
        for socket in topology.sockets.values():
            if socket <= free and len(socket) <= view.need - len(taken):
                taken |= socket
        if self.caches:
            taken |= _caches(view, free - taken, view.need - len(taken))
        return taken | _cores(view, free - taken, view.need - len(taken))


def _caches(view: View, free: CPUSet, need: int) -> CPUSet:
    """Take from the smallest L3 cache that has enough; else from the largest, then from the others."""
    offers = sorted((cache & free for cache in view.topology.uncore_caches.values()), key=len)
    enough = [cpus for cpus in offers if len(cpus) >= need]
    if enough:
        return _cores(view, enough[0], need)
    largest = max(offers, key=len)
    return largest | _caches(view, free - largest, need - len(largest)) if free else CPUSet()


def _cores(view: View, free: CPUSet, need: int) -> CPUSet:
    """Take whole cores, then single CPUs."""
    taken = CPUSet()
    for core in view.topology.cores.values():
        if core <= free and len(core) <= need - len(taken):
            taken |= core
    return taken | _first(free - taken, need - len(taken))


def _balanced(view: View, free: CPUSet) -> CPUSet:
    """Take one whole core of each NUMA node in turn, then single CPUs in turn."""
    topology, taken = view.topology, CPUSet()
    for whole in (True, False):
        before = -1
        while before != len(taken) < view.need:
            before = len(taken)
            for node in topology.numa_nodes.values():
                left = free & node - taken
                cores = [core for core in topology.cores.values() if core <= left]
                part = (cores[0] if cores else CPUSet()) if whole else _first(left, 1)
                if len(part) <= view.need - len(taken):
                    taken |= part
    return taken


def _first(cpus: CPUSet, count: int) -> CPUSet:
    return CPUSet.of(sorted(cpus)[: max(count, 0)])
