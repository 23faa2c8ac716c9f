"""What sets of NUMA nodes have in common that serve one request each, without making them all.

A node that is to be left out need only be missing from one of the sets, and every request can do without as
many nodes as it has more than it needs. So the nodes to leave out are divided among the requests.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import NamedTuple

from cpuctl.cpuset import CPUSet
from cpuctl.engine.hints.coverage import Coverage
from cpuctl.engine.hints.node_search import without_high_nodes

_SCALE = 1 << 20


class Intersections(NamedTuple):
    """Sets of the nodes ``taken`` and ``more`` of the ``remaining`` ones (masks), the others left out.

    Those of the latter that are decided on are ``left_out``. For use like ``node_search.SetsWithCPUs``.
    """

    requests: tuple[tuple[Coverage, ...], ...]
    remaining: int
    more: int
    taken: int = 0
    left_out: int = 0

    @classmethod
    def of(cls, requests: Iterable[Iterable[Coverage]], inside: int, size: int) -> Intersections:
        """Choose *size* nodes *inside* that sets of all requests, one for each, can have in common there.

        The coverages of one request are of the same nodes. Nodes elsewhere are in no such set: every
        request may have all of its own.
        """
        asked = tuple(map(tuple, requests))
        shared = reduce(int.__and__, (each.nodes for coverages in asked for each in coverages), inside)
        return cls(requests=asked, remaining=shared, more=size)

    @property
    def free(self) -> Collection[int]:
        """The nodes to choose from, ascending."""
        return list(CPUSet(self.remaining))

    @property
    def possible(self) -> bool:
        """Tell whether there is any such set."""
        if not 0 <= self.more <= self.remaining.bit_count():
            return False
        served = tuple(_Served.all_nodes(coverages) for coverages in self.requests)
        if any(surplus < 0 for each in served for surplus in each.surplus):
            return False
        return _Division(must=self.left_out, may=self.remaining, kept=self.more).works(served)

    def without(self, node: int) -> Intersections:
        """Leave a node out."""
        bit = 1 << node
        return self._replace(remaining=self.remaining & ~bit, left_out=self.left_out | bit)

    def taking(self, node: int) -> Intersections:
        """Take a node in."""
        bit = 1 << node
        return self._replace(remaining=self.remaining & ~bit, taken=self.taken | bit, more=self.more - 1)

    def lowest(self) -> int | None:
        """Find the lowest of the sets."""
        return without_high_nodes(self)


class _Served(NamedTuple):
    """A request with a set of ``nodes``, and the ``surplus`` of each coverage over what is wanted."""

    coverages: tuple[Coverage, ...]
    nodes: int
    surplus: tuple[int, ...]

    @classmethod
    def all_nodes(cls, coverages: tuple[Coverage, ...]) -> _Served:
        nodes = coverages[0].nodes
        return cls(coverages, nodes, tuple(each.next_to(nodes) - each.wanted for each in coverages))

    def spares(self, node: int) -> bool:
        """Tell whether it can do without a node."""
        pairs = zip(self.coverages, self.surplus, strict=True)
        return all(each.only_at(node, self.nodes) <= surplus for each, surplus in pairs)

    def without(self, node: int) -> _Served:
        """Do without a node."""
        pairs = zip(self.coverages, self.surplus, strict=True)
        surplus = tuple(before - each.only_at(node, self.nodes) for each, before in pairs)
        return _Served(self.coverages, self.nodes & ~(1 << node), surplus)

    def price(self, node: int) -> int:
        """Tell how much of its surplus a node takes, the scarcest thing counting."""
        return max(
            each.only_at(node, self.nodes) * _SCALE // (surplus + 1)
            for each, surplus in zip(self.coverages, self.surplus, strict=True)
        )

    @property
    def shared(self) -> int:
        """The nodes that share anything with others."""
        return reduce(int.__or__, (each.shared_nodes for each in self.coverages))

    def most(self, nodes: int) -> int:
        """Tell how many of these nodes it can do without; there may be fewer, but never more."""
        return min(
            _fitting(sorted(each.only_at(node, self.nodes) for node in CPUSet(nodes)), surplus)
            for each, surplus in zip(self.coverages, self.surplus, strict=True)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Division:
    """All nodes that ``must`` be left out, and all but ``kept`` of those that ``may``, for requests to lose.

    ``failed`` remembers dead ends.
    """

    must: int
    may: int
    kept: int
    failed: set[tuple[object, ...]] = field(default_factory=set)

    def works(self, served: tuple[_Served, ...]) -> bool:
        """Tell whether the requests can do without them, each node missing from one."""
        favourites = (None, *range(len(served)))
        return any(self._at_once(served, favourite) for favourite in favourites) or self._searched(
            served, self.must, self.may, self.kept
        )

    def _at_once(self, served: tuple[_Served, ...], favourite: int | None) -> bool:
        """Try one way: every node at the expense of the favourite, or of whom it costs least."""
        optional = sorted(CPUSet(self.may), key=lambda node: _price(served, node))
        for node in (*CPUSet(self.must), *optional[: len(optional) - self.kept]):
            losers = sorted(_losers(served, node), key=lambda index: index != favourite)
            if not losers:
                return False
            served = _after(served, losers[0], node)
        return True

    def _searched(self, served: tuple[_Served, ...], must: int, may: int, kept: int) -> bool:
        """Try all ways that a bound does not rule out, the costliest node first."""
        needed = must.bit_count() + may.bit_count() - kept
        if not needed:
            return True
        if kept < 0 or sum(each.most(must | may) for each in served) < needed:
            return False
        key = (must, may, kept, *((each.surplus, each.nodes & each.shared) for each in served))
        if key in self.failed:
            return False
        node = max(CPUSet(must or may), key=lambda node: _price(served, node))
        must, may, optional = must & ~(1 << node), may & ~(1 << node), not must
        if optional and self._searched(served, must, may, kept - 1):
            return True
        if any(self._searched(_after(served, i, node), must, may, kept) for i in _losers(served, node)):
            return True
        self.failed.add(key)
        return False


def _price(served: Iterable[_Served], node: int) -> int:
    return min(each.price(node) for each in served)


def _losers(served: Sequence[_Served], node: int) -> list[int]:
    """List the requests that can do without a node, by what it costs them."""
    able = [index for index, each in enumerate(served) if each.spares(node)]
    return sorted(able, key=lambda index: served[index].price(node))


def _after(served: tuple[_Served, ...], loser: int, node: int) -> tuple[_Served, ...]:
    return (*served[:loser], served[loser].without(node), *served[loser + 1 :])


def _fitting(costs: Sequence[int], surplus: int) -> int:
    """Count the costs, the lowest first, that a surplus covers."""
    for count, cost in enumerate(costs):
        surplus -= cost
        if surplus < 0:
            return count
    return len(costs)
