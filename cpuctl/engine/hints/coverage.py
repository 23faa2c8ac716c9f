"""What a request requires of a set of NUMA nodes: enough CPUs or devices next to them.

Sets of nodes are masks of node ids. What is next to several nodes counts as soon as one of them is in the
set, and only once. The option ``align-by-socket`` prefers hints by the number of sockets that they touch
(kubelet v1.36 ``policy_static.go``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, reduce
from itertools import accumulate, chain, combinations
from operator import or_
from typing import TypeAlias

from cpuctl.cpuset import CPUSet
from cpuctl.engine.changeable import ByContent
from cpuctl.engine.masks import NO_NODES, NODE_0, NodeMask
from cpuctl.records import Record

Progress: TypeAlias = tuple[int, int]
"""How much is still missing, and which items next to several nodes are already counted (a mask)."""


_STEPS = 16
"""How many times the weights of two coverages are bisected to make both hard to meet."""


class Coverage(ByContent):
    """Sets of ``nodes`` with ``wanted`` next to them; ``amounts`` is what is available, by mask.

    A required mask has a larger amount than all others together, and ``wanted`` includes that amount.
    """

    def __init__(self, *, nodes: NodeMask, amounts: Mapping[NodeMask, int], wanted: int) -> None:
        self.nodes = nodes
        self.amounts = amounts
        self.wanted = wanted

    @classmethod
    def of(
        cls, nodes: NodeMask, amounts: Mapping[NodeMask, int], required: Iterable[NodeMask], wanted: int
    ) -> Coverage:
        """Require an amount, and that each of the *required* masks has a node in the set."""
        decisive = sum(amounts.values()) + 1
        weighted, must = dict(amounts), set(required)
        for mask in must:
            weighted[mask] = weighted.get(mask, 0) + decisive
        return cls(nodes=nodes, amounts=weighted, wanted=max(wanted, 0) + decisive * len(must))

    def __contains__(self, nodes: NodeMask) -> bool:
        return self.next_to(nodes) >= self.wanted

    def next_to(self, nodes: NodeMask) -> int:
        """Return how much is next to a set."""
        return sum(amount for mask, amount in self.amounts.items() if mask & nodes)

    def amounts_at(self, node: int) -> int:
        """Return how much is next to a node."""
        return sum(amount for _, amount in self._at.get(node, ()))

    def only_at(self, node: int, nodes: NodeMask) -> int:
        """Return how much is next to a node and to no other of *nodes*."""
        bit, masks = NODE_0 << node, self._masks
        return sum(amount for index, amount in self._at.get(node, ()) if masks[index] & nodes == bit)

    @property
    def start(self) -> Progress:
        """The progress of an empty set."""
        return self.wanted, 0

    def add(self, progress: Progress, node: int) -> Progress:
        """Take a node into the set."""
        missing, counted = progress
        for index, amount in self._at.get(node, ()):
            if not counted >> index & 1:
                missing -= amount
                counted |= 1 << index & self._shared
        return max(missing, 0), counted

    def within_reach(self, progress: Progress, remaining: NodeMask, count: int) -> bool:
        """Return whether *count* of the *remaining* nodes may suffice; False is certain, True is not."""
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

    def _within_levels(self, missing: int, remaining: NodeMask, count: int) -> bool:
        """Return the same while no shared item is counted: nodes with equal amounts are taken together."""
        for amount, nodes in self._levels:
            if count <= 0:
                return False
            equivalent = min((nodes & remaining).bit_count(), count)
            missing -= equivalent * amount
            if missing <= 0:
                return True
            count -= equivalent
        return False

    def forget(self, progress: Progress, remaining: NodeMask) -> Progress:
        """Drop what no longer matters, so that equivalent states compare equal."""
        missing, counted = progress
        if missing <= 0 or not counted:
            return missing, 0
        masks = list(self.amounts)
        return missing, CPUSet.of(i for i in CPUSet(counted) if masks[i] & remaining).mask

    @cached_property
    def _at(self) -> Mapping[int, list[tuple[int, int]]]:
        """The items next to each node, as index and amount."""
        at: dict[int, list[tuple[int, int]]] = {}
        for index, (mask, amount) in enumerate(self.amounts.items()):
            for node in CPUSet(mask & self.nodes):
                at.setdefault(node, []).append((index, amount))
        return at

    @cached_property
    def shared_nodes(self) -> NodeMask:
        """The nodes that share something with other nodes."""
        return reduce(or_, (mask for mask in self.amounts if mask.bit_count() > 1), NO_NODES)

    @cached_property
    def _levels(self) -> list[tuple[int, NodeMask]]:
        """The amounts next to single nodes, largest first, each with the nodes (a mask) that have it."""
        levels: dict[int, NodeMask] = {}
        for node in CPUSet(self.nodes):
            amount = self.amounts_at(node)
            levels[amount] = levels.get(amount, NO_NODES) | NODE_0 << node
        return sorted(levels.items(), reverse=True)

    @cached_property
    def _masks(self) -> list[NodeMask]:
        return list(self.amounts)

    @cached_property
    def _shared(self) -> int:
        """The items next to more than one node, as a mask of indices."""
        masks = enumerate(self.amounts)
        return CPUSet.of(index for index, mask in masks if (mask & self.nodes).bit_count() > 1).mask


class SocketRule(Record):
    """A rule that sets touch exactly ``wanted`` sockets; ``of_node`` has the sockets of each node."""

    wanted: int
    of_node: Mapping[int, frozenset[int]]

    def allows(self, nodes: NodeMask) -> bool:
        """Return whether a set touches as many sockets as wanted."""
        return len(self.touched(nodes)) == self.wanted

    def most_free(self, taken: NodeMask, free: Mapping[int, int], count: int) -> int | None:
        """Return the most free CPUs of any *count* nodes that form an allowed set with *taken*, if any do.

        *free* has the free CPUs of the nodes to choose from. Nodes of one socket differ only in these, so the
        work grows with sockets times nodes, not with the number of sets.
        """
        touched = self.touched(taken)
        groups: dict[frozenset[int], list[int]] = {}
        for node, cpus in free.items():
            groups.setdefault(self.of_node[node] - touched, []).append(cpus)
        times = Counter(chain.from_iterable(groups))
        shared = frozenset(socket for socket, number in times.items() if number > 1)
        # By number of sockets touched, those of them that other groups also touch, and number of nodes.
        most = {(len(touched), frozenset[int](), 0): 0}
        for sockets, free_in_group in groups.items():
            sums = list(accumulate(sorted(free_in_group, reverse=True)))
            for (number, shared_touched, nodes), total in list(most.items()):
                for more, extra in enumerate(sums[: count - nodes], 1):
                    state = (
                        number + len(sockets - shared_touched),
                        shared_touched | sockets & shared,
                        nodes + more,
                    )
                    most[state] = max(most.get(state, 0), total + extra)
        wanted = (self.wanted, count)
        return max(
            (total for (number, _, nodes), total in most.items() if (number, nodes) == wanted), default=None
        )

    def touched(self, nodes: NodeMask) -> frozenset[int]:
        """Name the sockets that a set touches."""
        return frozenset[int]().union(*(self.of_node[node] for node in CPUSet(nodes)))


def balances(coverages: Sequence[Coverage], size: int) -> Iterator[Coverage]:
    """Yield a weighted sum of each pair of coverages, as hard to meet with *size* nodes as possible.

    A set that serves both also serves the sum: the sum only shows earlier that there is no such set.
    """
    for one, other in combinations([each for each in coverages if each.wanted > 0], 2):
        yield _balance(one, other, size)


def _balance(one: Coverage, other: Coverage, size: int) -> Coverage:
    low, high = 0, 1 << _STEPS
    balance = one
    for _ in range(_STEPS):
        weight = (low + high) // 2
        weights = weight * other.wanted, ((1 << _STEPS) - weight) * one.wanted
        balance = _weighed(one, other, weights)
        best = _largest(balance, size)
        enough = [sum(each.amounts_at(node) for node in best) >= each.wanted for each in (one, other)]
        if enough[0] == enough[1]:
            break
        low, high = (low, weight) if enough[0] else (weight, high)
    return balance


def _weighed(one: Coverage, other: Coverage, weights: tuple[int, int]) -> Coverage:
    amounts: dict[NodeMask, int] = {}
    for each, weight in zip((one, other), weights, strict=True):
        for mask, amount in each.amounts.items():
            # A surplus of one must not make up for a shortage of the other.
            amounts[mask] = amounts.get(mask, 0) + weight * min(amount, each.wanted)
    wanted = weights[0] * one.wanted + weights[1] * other.wanted
    return Coverage(nodes=one.nodes & other.nodes, amounts=amounts, wanted=wanted)


def _largest(coverage: Coverage, size: int) -> list[int]:
    return sorted(CPUSet(coverage.nodes), key=coverage.amounts_at, reverse=True)[:size]
