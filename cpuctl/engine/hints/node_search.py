"""Search for the best of many sets of NUMA nodes without building them all.

Sets are masks of node ids. Among sets of one size the lowest is the one that avoids high ids, so nodes are
decided one by one from the highest down; leaving a node out is tried before taking it in.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol, Self

from cpuctl.cpuset import CPUSet
from cpuctl.engine.hints.coverage import SocketRule
from cpuctl.engine.hints.hints import Fit
from cpuctl.engine.masks import NODE_0, NodeMask
from cpuctl.records import Record


class NodeSets(Protocol):
    """Sets of the nodes ``taken`` and ``more`` others of those ``free``, under any constraints."""

    @property
    def taken(self) -> NodeMask:
        """The nodes that are in every set."""

    @property
    def free(self) -> Collection[int]:
        """The nodes to choose from."""

    @property
    def more(self) -> int:
        """How many of them to choose."""

    @property
    def possible(self) -> bool:
        """Whether there is any such set."""

    def without(self, node: int) -> Self:
        """Leave a node out."""

    def taking(self, node: int) -> Self:
        """Take a node in."""

    def lowest(self) -> NodeMask | None:
        """Find the lowest of the sets."""


class SetsWithCPUs(Record):
    """Sets of the nodes ``taken`` and ``more`` others that together supply the ``missing`` CPUs.

    ``free`` has the free CPUs of the others by id, ascending; ``rule`` limits the sockets of the whole set.
    """

    taken: NodeMask
    free: Mapping[int, int]
    more: int
    missing: int
    rule: SocketRule | None = None

    @property
    def possible(self) -> bool:
        """Whether there is any such set."""
        if not 0 <= self.more <= len(self.free):
            return False
        if self.rule is None:
            return sum(sorted(self.free.values(), reverse=True)[: self.more]) >= self.missing
        most = self.rule.most_free(self.taken, self.free, self.more)
        return most is not None and most >= self.missing

    def without(self, node: int) -> SetsWithCPUs:
        """Leave a node out."""
        free = {other: cpus for other, cpus in self.free.items() if other != node}
        return SetsWithCPUs(self.taken, free, self.more, self.missing, self.rule)

    def taking(self, node: int) -> SetsWithCPUs:
        """Take a node in."""
        rest, missing = self.without(node).free, self.missing - self.free[node]
        return SetsWithCPUs(self.taken | NODE_0 << node, rest, self.more - 1, missing, self.rule)

    def lowest(self) -> NodeMask | None:
        """Find the lowest of the sets."""
        return without_high_nodes(self)


def best_sets(choice: NodeSets, fit: Fit) -> list[NodeMask]:
    """Find the set that fits best; an empty list if there is no set.

    If distances within it are unknown, another set of its size follows if there is one: a kubelet cannot
    compare the two.
    """
    best = _closest(choice, fit) if fit.distances else choice.lowest()
    if best is None:
        return []
    if fit.unknown(best) is None:
        return [best]
    others = (choice.without(node).lowest() for node in choice.free if best >> node & 1)
    return [best, *[nodes for nodes in others if nodes is not None][:1]]


def without_high_nodes(choice: NodeSets) -> NodeMask | None:
    """Find the lowest of some sets: nodes are left out from the highest down, where possible."""
    if not choice.possible:
        return None
    for node in sorted(choice.free, reverse=True):
        rest = choice.without(node)
        choice = rest if rest.possible else choice.taking(node)
    return choice.taken


def _closest(choice: NodeSets, fit: Fit) -> NodeMask | None:
    search = _Search(choice, fit)
    search.visit(choice, 0, search.distances)
    return search.best


class _Search:
    """The closest set found so far, the lowest of equally close ones, and how far ``apart`` its nodes are.

    The nodes taken from the start are equally far apart in every set, so only the distances to them count.
    Finding the closest set is hard in general; if distances follow sockets, the bound leaves little to try.
    """

    def __init__(self, choice: NodeSets, fit: Fit) -> None:
        self.best: NodeMask | None = None
        self.apart = 0
        nodes, taken = choice.free, CPUSet(choice.taken)
        self.between = {
            one: {other: fit.distance(one, other) + fit.distance(other, one) for other in (*nodes, *taken)}
            for one in nodes
        }
        self.distances = {
            node: fit.distance(node, node) + sum(self.between[node][other] for other in taken)
            for node in nodes
        }

    def visit(self, choice: NodeSets, apart: int, added: Mapping[int, int]) -> None:
        """Visit the sets of a choice; *apart* is the distance so far, *added* what each node would add."""
        if not choice.possible or not self._may_be_closer(choice, apart, added):
            return
        if not choice.more:
            self.best, self.apart = choice.taken, apart
            return
        node = max(choice.free)
        rest, between = choice.without(node), self.between[node]
        self.visit(rest, apart, added)
        self.visit(
            choice.taking(node),
            apart + added[node],
            {other: added[other] + between[other] for other in rest.free},
        )

    def _may_be_closer(self, choice: NodeSets, apart: int, added: Mapping[int, int]) -> bool:
        """Return whether a closer set than the best may follow, by a bound that is never too high.

        Each node adds at least its distances to the nearest of those that can still be taken. Everything is
        doubled, because two nodes share the distance between them.
        """
        if self.best is None:
            return True
        nearest = max(choice.more - 1, 0)
        least = []
        for node in choice.free:
            between = self.between[node]
            near = sorted([between[other] for other in choice.free if other != node])[:nearest]
            least.append(2 * added[node] + sum(near))
        return 2 * apart + sum(sorted(least)[: choice.more]) < 2 * self.apart
