"""What a request asks of a set of NUMA nodes: that enough lies next to them, CPUs or devices.

Sets of nodes are masks of node ids. What lies next to several nodes at once counts as soon as one of them
is in the set, and only once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property, reduce
from typing import TypeAlias

from cpuctl.cpuset import CPUSet
from cpuctl.engine.changeable import ByContent

Progress: TypeAlias = tuple[int, int]
"""How much is still missing, and which of the things next to several nodes are counted (a mask)."""


class Coverage(ByContent):
    """Sets of ``nodes`` that have ``wanted`` next to them; ``amounts`` tells by mask what there is.

    Whatever has to be next to the set is in ``amounts`` with more than all the rest together, and wanted.
    """

    def __init__(self, *, nodes: int, amounts: Mapping[int, int], wanted: int) -> None:
        self.nodes = nodes
        self.amounts = amounts
        self.wanted = wanted

    @classmethod
    def of(cls, nodes: int, amounts: Mapping[int, int], required: Iterable[int], wanted: int) -> Coverage:
        """Want an amount, and that each of the *required* masks has a node in the set."""
        decisive = sum(amounts.values()) + 1
        weighted, must = dict(amounts), set(required)
        for mask in must:
            weighted[mask] = weighted.get(mask, 0) + decisive
        return cls(nodes=nodes, amounts=weighted, wanted=max(wanted, 0) + decisive * len(must))

    def __contains__(self, nodes: int) -> bool:
        return self.next_to(nodes) >= self.wanted

    def next_to(self, nodes: int) -> int:
        """Tell how much lies next to a set."""
        return sum(amount for mask, amount in self.amounts.items() if mask & nodes)

    def amounts_at(self, node: int) -> int:
        """Tell how much lies next to a node."""
        return sum(amount for _, amount in self._at.get(node, ()))

    def only_at(self, node: int, nodes: int) -> int:
        """Tell how much lies next to a node and to no other one of *nodes*."""
        bit, masks = 1 << node, self._masks
        return sum(amount for index, amount in self._at.get(node, ()) if masks[index] & nodes == bit)

    @property
    def start(self) -> Progress:
        """Nothing is in the set yet."""
        return self.wanted, 0

    def add(self, progress: Progress, node: int) -> Progress:
        """Take a node into the set."""
        missing, counted = progress
        for index, amount in self._at.get(node, ()):
            if not counted >> index & 1:
                missing -= amount
                counted |= 1 << index & self._shared
        return max(missing, 0), counted

    def within_reach(self, progress: Progress, remaining: int, count: int) -> bool:
        """Tell whether *count* of the *remaining* nodes may do; False is certain, True is a bound."""
        missing, counted = progress
        if missing <= 0:
            return True
        if not counted:
            return self._within_levels(missing, remaining, count)
        fresh = [
            (sum(amount for index, amount in self._at.get(node, ()) if not counted >> index & 1))
            for node in CPUSet(remaining & self.nodes)
        ]
        return sum(sorted(fresh, reverse=True)[: max(count, 0)]) >= missing

    def _within_levels(self, missing: int, remaining: int, count: int) -> bool:
        """Tell the same while nothing that nodes share is counted: all that is alike is taken at once."""
        for amount, nodes in self._levels:
            if count <= 0:
                return False
            alike = min((nodes & remaining).bit_count(), count)
            missing -= alike * amount
            if missing <= 0:
                return True
            count -= alike
        return False

    def forget(self, progress: Progress, remaining: int) -> Progress:
        """Drop what makes no difference any more, so that equal prospects compare equal."""
        missing, counted = progress
        if missing <= 0 or not counted:
            return missing, 0
        masks = list(self.amounts)
        return missing, CPUSet.of(i for i in CPUSet(counted) if masks[i] & remaining).mask

    @cached_property
    def _at(self) -> Mapping[int, list[tuple[int, int]]]:
        """What lies next to each node: index and amount."""
        at: dict[int, list[tuple[int, int]]] = {}
        for index, (mask, amount) in enumerate(self.amounts.items()):
            for node in CPUSet(mask & self.nodes):
                at.setdefault(node, []).append((index, amount))
        return at

    @cached_property
    def shared_nodes(self) -> int:
        """The nodes that have something next to them which others have, too."""
        return reduce(int.__or__, (mask for mask in self.amounts if mask & mask - 1), 0)

    @cached_property
    def _levels(self) -> list[tuple[int, int]]:
        """The nodes (a mask) that have as much next to them each, by that amount, the largest first."""
        levels: dict[int, int] = {}
        for node in CPUSet(self.nodes):
            amount = self.amounts_at(node)
            levels[amount] = levels.get(amount, 0) | 1 << node
        return sorted(levels.items(), reverse=True)

    @cached_property
    def _masks(self) -> list[int]:
        return list(self.amounts)

    @cached_property
    def _shared(self) -> int:
        """The things that lie next to more than one node."""
        masks = enumerate(self.amounts)
        return CPUSet.of(index for index, mask in masks if (mask & self.nodes).bit_count() > 1).mask
