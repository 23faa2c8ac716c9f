"""What-if: of NUMA nodes that are equally good, take those that are used most, or least.

Source: KEP-6007, ``numa-allocation-strategy`` and ``numa-score-weights`` (enhancements pull request 6332,
open in 2026-09). The Topology Manager compares preferred, then narrowest or closest, then this score; current
kubelets take the lowest IDs instead. Scores only decide between sets of equally many NUMA nodes.
"""

from __future__ import annotations

from types import MappingProxyType

from cpuctl.cpuset import CPUSet
from cpuctl.policies.model import Policy, Rejection, View

STRATEGIES = ("none", "most-allocated", "least-allocated")


class NUMAAllocation(Policy):
    """Pack or spread over NUMA nodes that are equally good.

    ``strategy`` is ``most-allocated``, ``least-allocated`` or ``none``. Each resource that is counted by
    NUMA node scores 1 to 100: how much of it is allocated on the nodes. ``weights`` are 0 to 100 by
    resource, ``cpu=3;nvidia.com/gpu=6``; the default is 1, and 0 ignores the resource.
    """

    alignment = "equal"
    choices = MappingProxyType({"strategy": STRATEGIES})
    source = "KEP-6007 (kubernetes/enhancements#6332), newest draft"

    def __init__(self, strategy: str = "most-allocated", weights: str = "") -> None:
        self.strategy = strategy
        self.weights = dict(each.split("=", 1) for each in weights.split(";") if each)

    def score(self, cpus: CPUSet, view: View) -> float:
        """Average what is allocated on the NUMA nodes, by weight; raise Rejection for bad options."""
        if self.strategy not in STRATEGIES:
            raise Rejection(f"strategy: expected one of {', '.join(STRATEGIES)}, found {self.strategy}")
        nodes = view.nodes or {view.topology.cpus[cpu].numa_node for cpu in cpus}
        resources = sorted({name for node in nodes for name in view.usage.get(node, {})})
        total = weights = 0
        for name in resources:
            used = [view.usage[node][name] for node in nodes if name in view.usage.get(node, {})]
            allocatable = sum(each.allocatable for each in used)
            weight = int(self.weights.get(name, "1"))
            if not 0 <= weight <= 100:
                raise Rejection(f"the weight of {name}: expected 0 to 100, found {weight}")
            if allocatable and weight:
                total += weight * max(1, sum(each.assigned for each in used) * 100 // allocatable)
                weights += weight
        if self.strategy == "none" or not weights:
            return 0
        return total / weights if self.strategy == "most-allocated" else -total / weights
