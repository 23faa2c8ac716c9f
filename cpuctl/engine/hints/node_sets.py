"""How many sets of NUMA nodes a kubelet walks and combines for one request, and how long that takes.

Rule: kubelet v1.36 ``topologymanager/bitmask``, ``IterateBitMasks``: every manager goes through all 2^n - 1
sets of the nodes that it knows, for each container (or pod) that needs hints. cpuctl does without that;
a kubelet with many nodes does not answer in any practical time (kubernetes issue 135541). Then
``topologymanager/policy.go``, ``iterateAllProviderTopologyHints``: one hint of every list is combined with
one of every other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from cpuctl.engine.masks import NO_NODES
from cpuctl.engine.outcome import FaultKind, KubeletFault
from cpuctl.phrases import counted
from cpuctl.records import Record

if TYPE_CHECKING:
    from cpuctl.engine.hints.hints import HintList, HintRule
    from cpuctl.kubelet.config import KubeletConfiguration
    from cpuctl.kubelet.gates.feature_gates import FeatureGates
    from cpuctl.machine.machine_info import MachineInfo

CPU, MEMORY, DEVICES = "CPU Manager", "Memory Manager", "Device Manager"
_NANOSECONDS = {CPU: 16_000, MEMORY: 1_200, DEVICES: 1_000}
"""Per set: measured with 16 nodes of 128 CPUs on a kubelet 1.36.2; devices from kubernetes issue 135541."""
_LONGEST_SECONDS = 60
"""A kubelet that is busy with one request for longer than this answers no others meanwhile."""
_MOST_NODES = {
    who: (-(-_LONGEST_SECONDS * 10**9 // each)).bit_length() - 1 for who, each in _NANOSECONDS.items()
}
"""With up to this many nodes it still answers: checked at each request; times are computed only beyond it."""
_NANOSECONDS_TO_COMBINE = 81
"""Per combination: measured with two lists of 255 hints, and confirmed by a merge of 65535 times 65535."""
_LONGEST_MERGE_SECONDS = 600
"""That merge of 16 nodes took a kubelet 349 seconds, and it answered."""
_MOST_COMBINATIONS = _LONGEST_MERGE_SECONDS * 10**9 // _NANOSECONDS_TO_COMBINE
_SURE_BITS = _MOST_COMBINATIONS.bit_length() - 1
"""Nodes times lists: up to this product, not even all sets of nodes in each list are too many."""
_UNITS = (("year", 365 * 86_400), ("day", 86_400), ("hour", 3600), ("minute", 60), ("second", 1))


class Walk(Record):
    """One manager's walk over all sets of ``nodes`` NUMA nodes, made for each request of a kind."""

    who: str
    nodes: int
    request: str

    @property
    def sets(self) -> int:
        """The number of sets, without the empty one."""
        return (1 << self.nodes) - 1

    @property
    def seconds(self) -> int:
        """The approximate duration in whole seconds."""
        return self.sets * _NANOSECONDS[self.who] // 10**9

    @property
    def endless(self) -> bool:
        """Whether it takes so long that the kubelet effectively never answers."""
        return self.nodes > _MOST_NODES[self.who]

    @property
    def text(self) -> str:
        """A sentence on what is walked, and that it takes too long."""
        return (
            f"would take longer than {_duration(self.seconds)}: it tries 2^{self.nodes} sets of NUMA nodes "
            f"({self.sets}) for {self.request}"
        )


def endless_walk(who: str, nodes: int, request: str) -> KubeletFault | None:
    """Return the fault of a request for which a manager walks all sets of nodes; None if it answers."""
    if nodes <= _MOST_NODES[who]:
        return None
    text = Walk(who, nodes, request).text
    return KubeletFault(kind=FaultKind.NO_ANSWER, where=f"{who}, making hints", why=text)


def endless_merge(lists: Sequence[HintList], nodes: int) -> KubeletFault | None:
    """Return the fault of a request whose hints take too long to combine; None if the kubelet answers.

    The lists are over sets of *nodes* NUMA nodes.
    A list given as a rule counts with its minimum number of hints.
    """
    if nodes * len(lists) <= _SURE_BITS:
        return None
    number = 1
    for hints in lists:
        number *= len(hints) if isinstance(hints, Sequence) else _fewest(hints)
    if number <= _MOST_COMBINATIONS:
        return None
    why = (
        f"would take longer than {_combining(number)}: it tries at least {number} combinations of hints "
        f"from {len(lists)} lists"
    )
    return KubeletFault(kind=FaultKind.NO_ANSWER, where="Topology Manager, merging hints", why=why)


def _combining(number: int) -> str:
    return _duration(number * _NANOSECONDS_TO_COMBINE // 10**9)


def _fewest(rule: HintRule) -> int:
    """Return the minimum number of hints of a rule: a sufficient set stays sufficient if nodes are added."""
    if rule.others or not rule.coverages or not rule.narrowest:
        return 1
    nodes = reduce(or_, rule.coverages[0].amounts, NO_NODES)
    return 1 << max(nodes.bit_count() - rule.narrowest, 0)


def endless_combining(
    info: MachineInfo, config: KubeletConfiguration, gates: FeatureGates
) -> tuple[int, str] | None:
    """Return the number of hint combinations for a pod's CPUs and memory, and the time, if it is too long."""
    if config.topology_manager_policy not in ("best-effort", "restricted"):
        return None
    both = {walk.who: walk.sets for walk in walks(info, config, gates) if walk.who in (CPU, MEMORY)}
    number = both.get(CPU, 0) * both.get(MEMORY, 0)
    return (number, _combining(number)) if number > _MOST_COMBINATIONS else None


def walks(info: MachineInfo, config: KubeletConfiguration, gates: FeatureGates) -> Iterator[Walk]:
    """Yield the walks that a kubelet's managers would make on a machine, for pods that require them."""
    nodes = len(info.nodes)
    aligns = config.topology_manager_policy != "none"
    if aligns and config.cpu_manager_policy == "static":
        yield Walk(CPU, sum(bool(node.cores) for node in info.nodes), "a request for exclusive CPUs")
    if config.memory_manager_policy == "Static" and gates.enabled("MemoryManager"):
        yield Walk(MEMORY, nodes, "the memory of a Guaranteed pod")
    if aligns and not gates.release.walks_only_nodes_with_devices:
        yield Walk(DEVICES, nodes, "a request for devices that have NUMA nodes")


def _duration(seconds: int) -> str:
    """Format a duration in its largest whole unit: ``4 hours``."""
    name, size = next(each for each in _UNITS if seconds >= each[1] or each[1] == 1)
    return counted(seconds // size, name)
