"""Sets of NUMA nodes that serve several requests at once, such as CPUs and devices, without listing them all.

Each node is decided once. Afterwards only the amounts that the requests still lack matter, so the search
grows with those amounts, not with the number of sets. If there are too many amounts for that, as with
memory in bytes, the bounds keep the search small.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cached_property, reduce
from itertools import islice
from operator import and_
from typing import NamedTuple, TypeAlias

from cpuctl.cpuset import CPUSet
from cpuctl.engine.hints.coverage import Coverage, Progress, SocketRule, balances
from cpuctl.engine.masks import NO_NODES, NODE_0, NodeMask

State: TypeAlias = tuple[Progress, ...]
"""The progress of all coverages."""

_FEW_NODES = 8
"""Up to this many nodes have so few sets that a better bound costs more than it saves."""

_NOT_KNOWN = NodeMask(-1)
"""Marks a set that has not been searched for yet."""


class Constraints:
    """What the sets must meet: all ``coverages``, and ``rules`` for the sockets that they touch.

    ``failed`` remembers dead ends.
    """

    def __init__(self, *, coverages: tuple[Coverage, ...], rules: tuple[SocketRule, ...] = ()) -> None:
        self.coverages = coverages
        self.rules = rules
        self.failed: set[tuple[object, ...]] = set()

    def taking(self, state: State, node: int) -> State:
        """Take a node into the set."""
        return tuple(each.add(done, node) for each, done in zip(self.coverages, state, strict=True))

    def lowest(self, state: State, remaining: NodeMask, count: int, taken: NodeMask) -> NodeMask | None:
        """Find the lowest set that serves all: the nodes *taken* plus *count* of the *remaining* ones."""
        if not 0 <= count <= remaining.bit_count():
            return None
        if count == 1:
            return self._with_one(state, remaining, taken)
        if not self._within_reach(state, remaining, count):
            return None
        if not remaining:
            return taken if all(rule.allows(taken) for rule in self.rules) else None
        if not self.rules and all(missing <= 0 for missing, _ in state):
            return taken | NodeMask(CPUSet.of(islice(CPUSet(remaining), count)).mask)
        pairs = zip(self.coverages, state, strict=True)
        prospect = tuple(coverage.forget(done, remaining) for coverage, done in pairs)
        key = (remaining, count, prospect, *(rule.touched(taken) for rule in self.rules))
        if key in self.failed:
            return None
        node = remaining.bit_length() - 1
        bit = NODE_0 << node
        rest = remaining & ~bit
        found = self.lowest(prospect, rest, count, taken)
        if found is None:
            found = self.lowest(self.taking(prospect, node), rest, count - 1, taken | bit)
        if found is None:
            self.failed.add(key)
        return found

    def _with_one(self, state: State, remaining: NodeMask, taken: NodeMask) -> NodeMask | None:
        """Return *taken* plus the lowest of the *remaining* nodes that supplies everything still missing."""
        for node in CPUSet(remaining):
            nodes = taken | NODE_0 << node
            served = all(missing <= 0 for missing, _ in self.taking(state, node))
            if served and all(rule.allows(nodes) for rule in self.rules):
                return nodes
        return None

    def _within_reach(self, state: State, remaining: NodeMask, count: int) -> bool:
        pairs = zip(self.coverages, state, strict=True)
        return all(coverage.within_reach(done, remaining, count) for coverage, done in pairs)


class _Parts(NamedTuple):
    constraints: Constraints
    taken: NodeMask
    remaining: NodeMask
    more: int
    state: State
    known: NodeMask | None = _NOT_KNOWN


class CommonSets(_Parts):
    """Sets of the nodes ``taken`` and ``more`` of the ``remaining`` ones (masks) that meet the constraints.

    ``state`` is the progress made by the nodes taken, ``known`` the lowest of the sets if it is known. Used
    like ``cpuctl.engine.hints.node_search.SetsWithCPUs``.
    """

    @classmethod
    def common(cls, coverages: Iterable[Coverage], size: int, rules: Iterable[SocketRule] = ()) -> CommonSets:
        """Choose a set of *size* nodes that serves every request."""
        requested = tuple(coverages)
        nodes = reduce(and_, (each.nodes for each in requested))
        if nodes.bit_count() > _FEW_NODES:
            requested += tuple(balances(requested, size))
        return cls(
            constraints=Constraints(coverages=requested, rules=tuple(rules)),
            taken=NO_NODES,
            remaining=nodes,
            more=size,
            state=tuple(each.start for each in requested),
        )

    @property
    def free(self) -> Collection[int]:
        """The nodes to choose from, ascending."""
        return list(CPUSet(self.remaining))

    @property
    def possible(self) -> bool:
        """Whether there is any such set."""
        return self._lowest is not None

    def lowest(self) -> NodeMask | None:
        """Find the lowest of the sets."""
        return self._lowest

    @cached_property
    def _lowest(self) -> NodeMask | None:
        if self.known != _NOT_KNOWN:
            return self.known
        return self.constraints.lowest(self.state, self.remaining, self.more, self.taken)

    def without(self, node: int) -> CommonSets:
        """Leave a node out."""
        return self._replace(
            remaining=self.remaining & ~(NODE_0 << node), known=self._lowest_if(node, taken=False)
        )

    def taking(self, node: int) -> CommonSets:
        """Take a node in."""
        bit = NODE_0 << node
        return self._replace(
            taken=self.taken | bit,
            remaining=self.remaining & ~bit,
            more=self.more - 1,
            state=self.constraints.taking(self.state, node),
            known=self._lowest_if(node, taken=True),
        )

    def _lowest_if(self, node: int, *, taken: bool) -> NodeMask | None:
        """Return the lowest set with or without a node if it is known: it may be the lowest of all."""
        lowest = self._lowest
        return lowest if lowest is None or (lowest >> node & 1) == taken else _NOT_KNOWN
