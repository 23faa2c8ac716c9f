"""The distributed picker: equal shares from as few NUMA nodes as can give them.

Rule: kubelet v1.36 ``cpu_assignment.go`` for ``distribute-cpus-across-numa``. CPUs are dealt in groups
(whole cores with ``full-pcpus-only``). Of all node combinations the first with the best balance of free
CPUs wins; two of the kubelet's defects are reproduced because they affect results: the stored combination
is partly overwritten by later ones (``effective_combination``, kubernetes issue 141237), and dealing a
remainder can loop forever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpuctl.engine.cpu.picking.packed import V1_36, PickerRules, Spread, not_enough, numa_order, take_packed
from cpuctl.engine.cpu.topology import CPUTopology, no_cpus_per_core
from cpuctl.engine.masks import NO_CPUS, CPUMask
from cpuctl.engine.outcome import AllocationError, KubeletFault, Picked, PickResult, PickStep, Undetermined
from cpuctl.phrases import counted
from cpuctl.records import Record

if TYPE_CHECKING:
    from cpuctl.engine.cpu.picking.balance import Split


class Dealing(Record):
    """How to deal: groups of ``group_size`` CPUs, spread inside a node or not, by the rules of a release.

    ``hint_width`` is the number of NUMA nodes in the topology hint of the request, 0 without one.
    """

    group_size: int = 1
    spread: Spread = Spread.OFF
    rules: PickerRules = V1_36
    hint_width: int = 0


def take_distributed(topology: CPUTopology, offered: CPUMask, count: int, dealing: Dealing) -> PickResult:
    """Pick *count* CPUs from the *offered* mask in equal shares from as few NUMA nodes as can give them."""
    if not dealing.group_size:
        return no_cpus_per_core(topology, "distributing whole cores across NUMA nodes")
    if count % dealing.group_size:
        return take_packed(topology, offered, count, spread=dealing.spread, rules=dealing.rules)
    if count < 1:
        return Picked(NO_CPUS)
    free = offered & topology.cpus
    if count > free.bit_count():
        return not_enough(count, offered, dealing.rules)
    nodes = numa_order(topology, free)
    split = _split(topology, free, count, nodes, dealing)
    if isinstance(split, KubeletFault | Undetermined):
        return split
    if split is None:
        return take_packed(topology, offered, count, spread=dealing.spread, rules=dealing.rules)
    return _Dealer(topology, free, count, dealing).deal(split, nodes)


def _split(
    topology: CPUTopology, free: CPUMask, count: int, nodes: list[int], dealing: Dealing
) -> Split | KubeletFault | Undetermined | None:
    """Choose the split over the nodes that have free CPUs, listed in the kubelet's order."""
    from cpuctl.engine.cpu.picking.balance import Search

    masks = [topology.numa_nodes[node] for node in nodes]
    aligned = dealing.rules.align_by_socket
    wanted = Search(
        free=tuple((free & mask).bit_count() for mask in masks),
        sockets=tuple(topology.sockets_of(mask) for mask in masks) if aligned else (),
        need=count,
        group=dealing.group_size,
        rules=dealing.rules,
    )
    candidates = len(set(nodes))
    widths = _widths(topology, count, candidates, dealing)
    if candidates == len(nodes):
        return wanted.run(*widths)

    from cpuctl.engine.cpu.picking.balance import MOST_TRIED, RepeatedSearch, TooManyError

    try:
        return RepeatedSearch(*wanted._replace(listed=tuple(nodes))).run(*widths)
    except TooManyError:
        return Undetermined(
            f"NUMA nodes span sockets, and the kubelet would try more than {MOST_TRIED} combinations of them"
        )


def _widths(topology: CPUTopology, count: int, candidates: int, dealing: Dealing) -> tuple[int, int]:
    """Return the fewest and the most nodes to distribute over."""
    fewest = fewest_nodes(topology, count, dealing.group_size)
    most = min(count // dealing.group_size, candidates)
    floor = dealing.hint_width
    return (floor if dealing.rules.hint_floor and fewest < floor <= most else fewest), most


def fewest_nodes(topology: CPUTopology, count: int, group: int) -> int:
    """Return how many NUMA nodes *count* CPUs need when all CPUs are free."""
    groups = -(-topology.cpus.bit_count() // group)
    per_node = -(-groups // topology.num_numa_nodes)
    return -(-(count // group) // per_node)


class _Dealer:
    """The allocation of a split's CPUs, node by node."""

    def __init__(self, topology: CPUTopology, free: CPUMask, need: int, dealing: Dealing) -> None:
        self.topology = topology
        self.free = free
        self.need = need
        self.group = dealing.group_size
        self.spread = dealing.spread
        self.rules = dealing.rules
        self.taken = NO_CPUS

    def deal(self, split: Split, nodes: list[int]) -> PickResult:
        for position in split.positions:
            self._take_from(nodes[position], split.share)
        width = len(split.positions)
        where = "one NUMA node" if width == 1 else f"each of {width} NUMA nodes"
        steps = [PickStep(f"{counted(split.share, 'CPU')} from {where}", self.taken)]
        if split.remainder:
            shared = self.taken
            if not self._deal_remainder(split.remainder, [nodes[position] for position in split.extra]):
                from cpuctl.engine.cpu.picking.balance import endless_loop

                return endless_loop("no NUMA node of the remainder set has a whole group of free CPUs left")
            steps.append(PickStep("remainder, group by group", self.taken & ~shared))
        if self.need:
            return AllocationError(f"accounting error, not enough CPUs allocated, remaining: {self.need}")
        return Picked(self.taken, tuple(steps))

    def _deal_remainder(self, left: int, nodes: list[int]) -> bool:
        while left > 0:
            before = left
            for node in nodes:
                if left > 0 and (self.free & self.topology.numa_nodes[node]).bit_count() >= self.group:
                    self._take_from(node, self.group)
                    left -= self.group
            if left == before:
                return False
        return True

    def _take_from(self, node: int, count: int) -> None:
        inside = self.free & self.topology.numa_nodes[node]
        picked = take_packed(self.topology, inside, count, spread=self.spread, rules=self.rules)
        if isinstance(picked, Picked):  # the kubelet ignores a failure here; the sum is checked at the end
            self.taken |= picked.cpus
            self.free &= ~picked.cpus
            self.need -= picked.cpus.bit_count()
