"""The distributed picker for a container that has CPUs: equal shares that include what it holds.

Rule: KEP-5554 and its reference implementation. The container stays on every NUMA node it is on, so none
of them may hold more than the share; it has the defects of the distributed picker, too.
"""

from __future__ import annotations

from cpuctl.engine.cpu.picking.balance import Search, Split, endless_loop
from cpuctl.engine.cpu.picking.distributed import Dealing, fewest_nodes
from cpuctl.engine.cpu.picking.packed import Orders, not_enough
from cpuctl.engine.cpu.resizing.packed import KEPT, complete_packed
from cpuctl.engine.cpu.topology import CPUTopology, no_cpus_per_core
from cpuctl.engine.masks import CPUMask
from cpuctl.engine.outcome import AllocationError, KubeletFault, Picked, PickResult, PickStep, Undetermined


def complete_distributed(
    topology: CPUTopology, offered: CPUMask, count: int, kept: CPUMask, dealing: Dealing
) -> PickResult:
    """Complete the *kept* CPUs to *count* in equal shares from NUMA nodes; CPU sets are masks."""
    group = dealing.group_size
    free = offered & topology.cpus & ~kept
    missing = count - kept.bit_count()
    if not group:
        return no_cpus_per_core(topology, "distributing whole cores across NUMA nodes")
    if count % group:
        return complete_packed(topology, offered, count, kept, spread=dealing.spread)
    if missing <= 0:
        return Picked(kept, (PickStep(KEPT, kept),))
    if missing > free.bit_count():
        return not_enough(count, offered)
    nodes = Orders(topology, free, kept).numa_nodes
    if len(set(nodes)) < len(nodes):
        return Undetermined(
            "a NUMA node spans sockets, and how the allocator of KEP-5554 distributes there is unknown"
        )
    split = _search(topology, (free, kept), count, nodes, dealing)
    if isinstance(split, KubeletFault):
        return split
    if split is None:
        return complete_packed(topology, offered, count, kept, spread=dealing.spread)
    return _Dealer(topology, free, kept, count, dealing).deal(split, nodes)


def _search(
    topology: CPUTopology, masks: tuple[CPUMask, CPUMask], count: int, nodes: list[int], dealing: Dealing
) -> Split | KubeletFault | None:
    free, kept = masks
    inside = [topology.numa_nodes[node] for node in nodes]
    held = tuple((kept & mask).bit_count() for mask in inside)
    used = sum(1 for mask in topology.numa_nodes.values() if kept & mask)
    if used > sum(map(bool, held)):
        # A node that it must stay on has nothing free, so it is not a candidate and no combination fits.
        return None
    search = Search(
        free=tuple(((free | kept) & mask).bit_count() for mask in inside),
        sockets=tuple(topology.sockets_of(mask) for mask in inside),
        need=count,
        group=dealing.group_size,
        rules=dealing.rules,
        held=held,
    )
    missing = count - kept.bit_count()
    groups = -(-missing // dealing.group_size)
    fewest = max(fewest_nodes(topology, groups * dealing.group_size, dealing.group_size), used)
    return search.run(fewest, min(groups, len(nodes)))


class _Dealer:
    """The allocation of a split's CPUs, node by node."""

    def __init__(
        self, topology: CPUTopology, free: CPUMask, kept: CPUMask, count: int, dealing: Dealing
    ) -> None:
        self.topology = topology
        self.free = free
        self.own = kept
        self.count = count
        self.dealing = dealing
        self.steps = [PickStep(KEPT, kept)] if kept else []

    def deal(self, split: Split, nodes: list[int]) -> PickResult:
        before = self.own
        for position in split.positions:
            self._bring(nodes[position], split.share)
        width = len(split.positions)
        where = "one NUMA node" if width == 1 else f"each of {width} NUMA nodes"
        self.steps.append(PickStep(f"up to {split.share} CPUs from {where}", self.own & ~before))
        if split.remainder:
            before = self.own
            if not self._deal_remainder(split.remainder, [nodes[position] for position in split.extra]):
                return endless_loop("no NUMA node of the remainder set has a whole group of free CPUs left")
            self.steps.append(PickStep("remainder, group by group", self.own & ~before))
        need = self.count - self.own.bit_count()
        if need:
            trouble = "not enough" if need > 0 else "too many"
            return AllocationError(f"accounting error, {trouble} CPUs allocated, remaining: {need}")
        return Picked(self.own, tuple(self.steps))

    def _deal_remainder(self, left: int, nodes: list[int]) -> bool:
        group = self.dealing.group_size
        while left > 0:
            before = left
            for node in nodes:
                mask = self.topology.numa_nodes[node]
                if left > 0 and (self.free & mask).bit_count() >= group:
                    self._bring(node, (self.own & mask).bit_count() + group)
                    left -= group
            if left == before:
                return False
        return True

    def _bring(self, node: int, share: int) -> None:
        """Bring the container to *share* CPUs on a node; a failure shows in the sum at the end."""
        mask = self.topology.numa_nodes[node]
        spread = self.dealing.spread
        picked = complete_packed(self.topology, self.free & mask, share, self.own & mask, spread=spread)
        if isinstance(picked, Picked):
            self.own |= picked.cpus
            self.free &= ~picked.cpus
