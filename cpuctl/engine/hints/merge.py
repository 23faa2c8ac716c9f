"""Merging hint lists: the kubelet's answer without its product of lists.

Rule: kubelet v1.36 ``pkg/kubelet/cm/topologymanager/policy.go``. There one hint of every list is combined
with one of every other; the sets of nodes are intersected, and the best combination wins. The winner depends
only on which intersections can be reached, so these are computed: first the preferred ones, for which all
sets must be equal, then, if there are none, all others.

Intersections are found without building all sets. A node to leave out only has to be missing from one of
the sets, and each request can spare as many nodes as it has in excess. So the nodes to leave out are
divided among the requests.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from itertools import product
from operator import and_, or_
from typing import NamedTuple

from cpuctl.cpuset import CPUSet
from cpuctl.engine.hints.common_sets import CommonSets
from cpuctl.engine.hints.coverage import Coverage, SocketRule
from cpuctl.engine.hints.hints import DONT_CARE, DirectRule, Fit, Hint, HintList, HintRule, no_distance
from cpuctl.engine.hints.node_search import best_sets, without_high_nodes
from cpuctl.engine.masks import NO_NODES, NODE_0, NodeMask
from cpuctl.engine.outcome import KubeletFault
from cpuctl.records import Record

_SCALE = 1 << 20


class Intersections(NamedTuple):
    """Sets of the nodes ``taken`` and ``more`` of the ``remaining`` ones (masks), the others left out.

    Nodes already decided against are ``left_out``. Used like ``node_search.SetsWithCPUs``.
    """

    requests: tuple[tuple[Coverage, ...], ...]
    remaining: NodeMask
    more: int
    taken: NodeMask = NO_NODES
    left_out: NodeMask = NO_NODES

    @classmethod
    def of(cls, requests: Iterable[Iterable[Coverage]], inside: NodeMask, size: int) -> Intersections:
        """Choose *size* nodes *inside* that sets of all requests, one set each, can have in common there.

        The coverages of one request are over the same nodes. Nodes elsewhere are in no such intersection,
        so each request may keep all its other nodes.
        """
        requested = tuple(map(tuple, requests))
        shared = reduce(and_, (each.nodes for coverages in requested for each in coverages), inside)
        return cls(requests=requested, remaining=shared, more=size)

    @property
    def free(self) -> Collection[int]:
        """The nodes to choose from, ascending."""
        return list(CPUSet(self.remaining))

    @property
    def possible(self) -> bool:
        """Whether there is any such set."""
        if not 0 <= self.more <= self.remaining.bit_count():
            return False
        served = tuple(_Served.all_nodes(coverages) for coverages in self.requests)
        if any(surplus < 0 for each in served for surplus in each.surplus):
            return False
        return _Division(must=self.left_out, may=self.remaining, kept=self.more).works(served)

    def without(self, node: int) -> Intersections:
        """Leave a node out."""
        bit = NODE_0 << node
        return self._replace(remaining=self.remaining & ~bit, left_out=self.left_out | bit)

    def taking(self, node: int) -> Intersections:
        """Take a node in."""
        bit = NODE_0 << node
        return self._replace(remaining=self.remaining & ~bit, taken=self.taken | bit, more=self.more - 1)

    def lowest(self) -> NodeMask | None:
        """Find the lowest of the sets."""
        return without_high_nodes(self)


class _Served(Record):
    """A request with a set of ``nodes``, and the ``surplus`` of each coverage over what is wanted."""

    coverages: tuple[Coverage, ...]
    nodes: NodeMask
    surplus: tuple[int, ...]

    @classmethod
    def all_nodes(cls, coverages: tuple[Coverage, ...]) -> _Served:
        nodes = coverages[0].nodes
        return cls(coverages, nodes, tuple(each.next_to(nodes) - each.wanted for each in coverages))

    def spares(self, node: int) -> bool:
        """Return whether it can do without a node."""
        pairs = zip(self.coverages, self.surplus, strict=True)
        return all(each.only_at(node, self.nodes) <= surplus for each, surplus in pairs)

    def without(self, node: int) -> _Served:
        """Return the request without a node."""
        pairs = zip(self.coverages, self.surplus, strict=True)
        surplus = tuple(before - each.only_at(node, self.nodes) for each, before in pairs)
        return _Served(self.coverages, self.nodes & ~(NODE_0 << node), surplus)

    def price(self, node: int) -> int:
        """Return the share of its surplus that a node takes, for the scarcest coverage."""
        return max(
            each.only_at(node, self.nodes) * _SCALE // (surplus + 1)
            for each, surplus in zip(self.coverages, self.surplus, strict=True)
        )

    @property
    def shared(self) -> NodeMask:
        """The nodes that share anything with other nodes."""
        return reduce(or_, (each.shared_nodes for each in self.coverages))

    def most(self, nodes: NodeMask) -> int:
        """Return an upper bound on how many of these nodes it can do without."""
        return min(
            _fitting(sorted(each.only_at(node, self.nodes) for node in CPUSet(nodes)), surplus)
            for each, surplus in zip(self.coverages, self.surplus, strict=True)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Division:
    """The nodes to divide: all that ``must`` be left out, and all but ``kept`` of those that ``may``.

    ``failed`` remembers dead ends.
    """

    must: NodeMask
    may: NodeMask
    kept: int
    failed: set[tuple[object, ...]] = field(default_factory=set)

    def works(self, served: tuple[_Served, ...]) -> bool:
        """Return whether the requests can do without them, each node missing from one request."""
        favourites = (None, *range(len(served)))
        return any(self._at_once(served, favourite) for favourite in favourites) or self._searched(
            served, self.must, self.may, self.kept
        )

    def _at_once(self, served: tuple[_Served, ...], favourite: int | None) -> bool:
        """Try one way: take each node from the favourite, or else from the request that it costs least."""
        optional = sorted(CPUSet(self.may), key=lambda node: _price(served, node))
        for node in (*CPUSet(self.must), *optional[: len(optional) - self.kept]):
            losers = sorted(_losers(served, node), key=lambda index: index != favourite)
            if not losers:
                return False
            served = _after(served, losers[0], node)
        return True

    def _searched(self, served: tuple[_Served, ...], must: NodeMask, may: NodeMask, kept: int) -> bool:
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
        others = ~(NODE_0 << node)
        must, may, optional = must & others, may & others, not must
        if optional and self._searched(served, must, may, kept - 1):
            return True
        if any(self._searched(_after(served, i, node), must, may, kept) for i in _losers(served, node)):
            return True
        self.failed.add(key)
        return False


def _price(served: Iterable[_Served], node: int) -> int:
    return min(each.price(node) for each in served)


def _losers(served: Sequence[_Served], node: int) -> list[int]:
    """List the requests that can do without a node, the cheapest first."""
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


LARGEST_PRODUCT = 1 << 17
"""The most intersections made one by one; beyond that, all sets of nodes are counted at once."""


def merge(lists: Sequence[HintList], everything: NodeMask, fit: Fit) -> Hint | KubeletFault:
    """Merge the lists of one request; *everything* is the mask of all NUMA nodes of the machine.

    Return a fault if which set is best depends on a distance that no row contains.
    """
    rules = [hints for hints in lists if not isinstance(hints, Sequence)]
    explicit = [hints for hints in lists if isinstance(hints, Sequence)]
    if preferred := _preferred(rules, explicit, everything, fit):
        return _best(preferred, fit, fit.key, preferred=True)
    minimum = max((_narrowest(hints) for hints in lists), default=0)
    rank = partial(_size_rank, minimum)
    sets = reachable_sets([[_cut(hint, everything) for hint in hints] for hints in explicit], everything)
    if rules:
        sizes = sorted(range(1, everything.bit_count() + 1), key=rank)
        sets = best_cuts(rules, sets, sizes, fit)
    if sets := sets - {NO_NODES}:
        return _best(sets, fit, lambda nodes: (rank(nodes.bit_count()), fit.key(nodes)), preferred=False)
    return Hint(everything, preferred=False)


def _preferred(
    rules: Sequence[HintRule], explicit: Sequence[Sequence[Hint]], everything: NodeMask, fit: Fit
) -> set[NodeMask]:
    """Find the sets that every list prefers or leaves open; if only rules limit them, only the best."""
    offered: list[set[NodeMask]] = [
        {hint.nodes for hint in hints if hint.preferred and hint.nodes is not None} for hints in explicit
    ]
    fixed = [sets for sets, hints in zip(offered, explicit, strict=True) if DONT_CARE not in hints]
    if fixed:
        sets = set.intersection(*fixed)
        sets = {nodes for nodes in sets if all(nodes in rule and rule.prefers(nodes) for rule in rules)}
    elif rules:
        sets = best_preferred(rules, fit)
    else:
        sets = {everything}.union(*offered)
    return {nodes & everything for nodes in sets} - {NO_NODES}


def _narrowest(hints: HintList) -> int:
    if not isinstance(hints, Sequence):
        return hints.narrowest
    return min((hint.nodes.bit_count() for hint in hints if hint.nodes is not None), default=0)


def _cut(hint: Hint, everything: NodeMask) -> NodeMask:
    return everything if hint.nodes is None else hint.nodes & everything


def _size_rank(minimum: int, size: int) -> int:
    """Return the sort key of a non-preferred set's size: *minimum* first, then narrower, then wider."""
    return size if size > minimum else -size


def _best(
    sets: Collection[NodeMask], fit: Fit, key: Callable[[NodeMask], tuple[object, ...]], *, preferred: bool
) -> Hint | KubeletFault:
    best = min(sets, key=key)
    unknown = fit.unknown(best)
    if unknown and any(nodes != best and nodes.bit_count() == best.bit_count() for nodes in sets):
        return no_distance(fit, *unknown)
    return Hint(best, preferred)


def reachable_sets(lists: Sequence[Sequence[NodeMask]], everything: NodeMask) -> set[NodeMask]:
    """Intersect one mask of each list in all combinations; without lists, return *everything*."""
    reached = {everything}
    shortest_first = sorted(map(set, lists), key=len)
    for index, masks in enumerate(shortest_first):
        if len(reached) * len(masks) > LARGEST_PRODUCT:
            return _counted([reached, *shortest_first[index:]], everything)
        reached = {one & other for one in reached for other in masks}
    return reached


def _counted(lists: Sequence[set[NodeMask]], everything: NodeMask) -> set[NodeMask]:
    """Find the reachable sets: count the combinations that intersect in each by inclusion-exclusion.

    The work grows with lists * nodes * 2^nodes, never with the product of the lists.
    """
    bits = list(CPUSet(everything))
    product = [1] * (1 << len(bits))
    for masks in lists:
        counts = [0] * len(product)
        for mask in masks:
            counts[_packed(mask, bits)] += 1
        _over_supersets(counts, len(bits), 1)
        product = [one * other for one, other in zip(product, counts, strict=True)]
    _over_supersets(product, len(bits), -1)
    return {_unpacked(index, bits) for index, count in enumerate(product) if count}


def _over_supersets(counts: list[int], width: int, sign: int) -> None:
    """Add to each set, or subtract again, the counts of all sets that contain it."""
    for bit in range(width):
        step = 1 << bit
        for start in range(0, len(counts), step << 1):
            for index in range(start, start + step):
                counts[index] += sign * counts[index + step]


def _packed(mask: NodeMask, bits: list[int]) -> int:
    return sum(1 << index for index, bit in enumerate(bits) if mask >> bit & 1)


def _unpacked(index: int, bits: list[int]) -> NodeMask:
    return NodeMask(sum(1 << bit for position, bit in enumerate(bits) if index >> position & 1))


def best_preferred(rules: Sequence[HintRule], fit: Fit) -> set[NodeMask]:
    """Find the best of the sets that are a preferred hint of every rule, like ``best_sets``.

    Sets that are hints outside the coverages are few: worse ones of these may be included.
    """
    if len(rules) == 1 and isinstance(rules[0], DirectRule):
        return set(rules[0].best_preferred(fit))
    found = {
        nodes
        for rule in rules
        for nodes in rule.others
        if all(nodes in each and each.prefers(nodes) for each in rules)
    }
    return found.union(_best_covering(rules, fit))


def best_cuts(
    rules: Sequence[HintRule], inside: set[NodeMask], sizes: Sequence[int], fit: Fit
) -> set[NodeMask]:
    """Find what hints of all rules can have in common in each of the sets *inside*, the best per combination.

    *sizes* are in order of preference.
    """
    found: set[NodeMask] = set()
    for listed in product(*((False, True) if rule.others else (False,) for rule in rules)):
        lists = [rule.others for rule, by_list in zip(rules, listed, strict=True) if by_list]
        left = [rule for rule, by_list in zip(rules, listed, strict=True) if not by_list]
        for nodes in inside:
            for reached in reachable_sets(lists, nodes):
                found.update(_best_cut(left, reached, sizes, fit) if left else [reached])
    return found


def _best_covering(rules: Sequence[HintRule], fit: Fit) -> list[NodeMask]:
    coverages = [coverage for rule in rules for coverage in rule.coverages]
    most = min(coverage.nodes.bit_count() for coverage in coverages)
    for size in range(1, most + 1):
        sockets = _socket_rules(rules, size)
        if sockets is not None and (found := best_sets(CommonSets.common(coverages, size, sockets), fit)):
            return found
    return []


def _best_cut(rules: Sequence[HintRule], nodes: NodeMask, sizes: Iterable[int], fit: Fit) -> list[NodeMask]:
    if len(rules) == 1 and isinstance(rules[0], DirectRule):
        return rules[0].best_cut(nodes, sizes, fit)
    for size in sizes:
        if found := best_sets(Intersections.of((rule.coverages for rule in rules), nodes, size), fit):
            return found
    return []


def _socket_rules(rules: Iterable[HintRule], size: int) -> list[SocketRule] | None:
    """Return the socket rules under which every rule prefers hints of a size; None if one never does."""
    others = [rule for rule in rules if rule.width != size]
    requested = [rule.socket_rule for rule in others if rule.socket_rule is not None]
    return requested if len(requested) == len(others) else None
