"""Distributed picking without shortcuts: every combination, and Go's slices simulated.

The kubelet keeps slices of the combinations it looks at; ``Slice`` shares memory as Go's ``append`` does,
so that what it keeps is overwritten here in the same way, without a formula for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, isqrt

from cpuctl.engine.cpu.picking.packed import V1_36, PickerRules, Spread
from tests.support.naive_packed import DIVIDED_BY_ZERO, Cpus, Machine, Picking, pick_packed

ENDLESS = "endless loop"
Counts = dict[int, int]


class EndlessLoopError(Exception):
    """The kubelet would never return."""


@dataclass
class Slice:
    """A view of the first *length* entries of an array that appending may share with others."""

    array: list[int] = field(default_factory=list)
    length: int = 0

    def append(self, item: int) -> Slice:
        full = self.length == len(self.array)
        array = self.array + [0] * max(self.length, 1) if full else self.array
        array[self.length] = item
        return Slice(array, self.length + 1)

    def items(self) -> list[int]:
        return self.array[: self.length]


def combinations_of(items: Sequence[int], size: int, chosen: Slice | None = None) -> Iterator[Slice]:
    """Enumerate combinations as the kubelet does: by appending to what is chosen so far."""
    chosen = chosen or Slice()
    if size == 0:
        yield chosen
    for index in range(len(items) - size + 1) if size else ():
        yield from combinations_of(items[index + 1 :], size - 1, chosen.append(items[index]))


def score_of(counts: Sequence[int]) -> int:
    """Population standard deviation in thousandths, the mean rounded first, halves away from zero."""
    size, total = len(counts), sum(counts)
    mean = (2000 * total + size) // (2 * size)
    squares = sum((1000 * count - mean) ** 2 for count in counts)
    return (isqrt(4 * squares // size) + 1) // 2


@dataclass(frozen=True)
class Choice:
    """A combination of nodes, the nodes of its remainder, and its score."""

    nodes: Slice
    remainder: Slice
    score: int
    same_socket: bool = False


@dataclass(frozen=True)
class Request:
    """The requested CPUs and how to distribute them."""

    need: int
    group: int = 1
    spread: Spread = Spread.OFF
    rules: PickerRules = V1_36
    hint_width: int = 0

    def share(self, free: Counts, nodes: Sequence[int], *, limited: bool) -> int:
        even = self.need // len(nodes) // self.group * self.group
        whole = [free[node] // self.group * self.group for node in nodes]
        return min(even, *whole) if limited else even

    def deal(self, counts: Counts, nodes: Sequence[int], remainder: int) -> Counts:
        """Distribute the remainder group by group, round after round."""
        left = dict(counts)
        while remainder > 0:
            before = remainder
            for node in nodes:
                if remainder > 0 and left[node] >= self.group:
                    left[node] -= self.group
                    remainder -= self.group
            if remainder == before:
                raise EndlessLoopError
        return left


@dataclass(frozen=True)
class Distribution:
    """The candidate nodes of one request, in order, with their free CPUs and their sockets.

    A node that spans sockets may be in the list more than once.
    """

    request: Request
    nodes: Sequence[int]
    free: Counts
    sockets: dict[int, set[int]]

    def best(self, size: int) -> Choice | None:
        """Choose among the combinations of one size."""
        best: Choice | None = None
        for nodes in combinations_of(self.nodes, size):
            if best is not None and self._is_final(best):
                break
            choice = self._judge(nodes)
            if choice is not None and self._is_better(choice, best):
                best = self._kept(choice)
        return best

    def _is_final(self, best: Choice) -> bool:
        return best.score == 0 and (best.same_socket or not self.request.rules.align_by_socket)

    def _is_better(self, choice: Choice, best: Choice | None) -> bool:
        if best is None:
            return True
        if self.request.rules.align_by_socket and choice.same_socket != best.same_socket:
            return choice.same_socket
        return choice.score < best.score

    def _kept(self, choice: Choice) -> Choice:
        if not self.request.rules.copies_combinations:
            return choice
        copy = Slice(choice.nodes.items(), choice.nodes.length)
        return replace(choice, nodes=copy)

    def _judge(self, combination: Slice) -> Choice | None:
        nodes, request = combination.items(), self.request
        if sum(self.free[node] for node in set(nodes)) < request.need:
            return None
        if sum(self.free[node] // request.group * request.group for node in nodes) < request.need:
            return None
        share = request.share(self.free, nodes, limited=request.rules.align_by_socket)
        if any(self.free[node] < share for node in nodes):
            return None
        left = {node: count - share * nodes.count(node) for node, count in self.free.items()}
        remainder = request.need - share * len(nodes)
        if not remainder:
            return Choice(combination, Slice(), score_of(list(left.values())), self._same_socket(nodes))
        found = self._best_remainder(left, [n for n in nodes if left[n] >= request.group], remainder)
        return found and replace(found, nodes=combination, same_socket=self._same_socket(nodes))

    def _best_remainder(self, left: Counts, able: list[int], remainder: int) -> Choice | None:
        best: Choice | None = None
        for size in range(len(able), 0, -1):
            for nodes in combinations_of(able, size):
                if self._enough(left, nodes.items(), remainder):
                    after = self.request.deal(left, nodes.items(), remainder)
                    score = score_of(list(after.values()))
                    if best is None or score < best.score:
                        best = Choice(Slice(), self._remembered(nodes), score)
        return best

    def _remembered(self, nodes: Slice) -> Slice:
        return Slice(nodes.items(), nodes.length) if self.request.rules.copies_combinations else nodes

    def _enough(self, left: Counts, nodes: list[int], remainder: int) -> bool:
        group = self.request.group if self.request.rules.counts_whole_groups else 1
        return sum(left[node] // group * group for node in nodes) >= remainder

    def _same_socket(self, nodes: list[int]) -> bool:
        return len(set[int]().union(*(self.sockets[node] for node in nodes))) == 1

    def first(self, sizes: Iterable[int]) -> Choice | None:
        """Choose from the first size that has an acceptable combination."""
        return next((choice for size in sizes if (choice := self.best(size)) is not None), None)


@dataclass
class Dealer:
    """Takes CPUs node by node, as chosen."""

    request: Request
    picking: Picking

    def take(self, choice: Choice) -> Cpus | str:
        """Take the share of every node, then the remainder, from the current content of the slices."""
        nodes, request = choice.nodes.items(), self.request
        share = request.share(self._free(nodes), nodes, limited=request.rules.limits_share)
        for node in nodes:
            self._take_from(node, share)
        remainder = request.need - share * len(nodes)
        while remainder > 0:
            before = remainder
            for node in choice.remainder.items():
                if remainder > 0 and self._free([node])[node] >= request.group:
                    self._take_from(node, request.group)
                    remainder -= request.group
            if remainder == before:
                raise EndlessLoopError
        left = self.picking.need
        what = "not enough" if left > 0 else "too many"
        return f"accounting error, {what} CPUs allocated, remaining: {left}" if left else self.picking.taken

    def _free(self, nodes: Iterable[int]) -> Counts:
        return {node: len(self._inside(node)) for node in nodes}

    def _inside(self, node: int) -> Cpus:
        return self.picking.free & self.picking.machine.members("node", node)

    def _take_from(self, node: int, count: int) -> None:
        picked = pick_packed(self.picking.machine, self._inside(node), count, self.request.spread)
        if not isinstance(picked, str):
            self.picking.take(picked)


def pick_distributed(machine: Machine, offered: Cpus, request: Request) -> Cpus | str:
    """Pick CPUs, or return the error, or that the kubelet never returns."""
    free, need = offered & machine.cpus, request.need
    if not request.group:
        return DIVIDED_BY_ZERO
    if need % request.group == 0 and 0 < need <= len(free):
        nodes = machine.order("node", free)
        inside = {node: machine.members("node", node) for node in nodes}
        distribution = Distribution(
            request,
            nodes,
            free={node: len(free & inside[node]) for node in nodes},
            sockets={node: {machine.labels["socket"][cpu] for cpu in inside[node]} for node in nodes},
        )
        try:
            choice = distribution.first(_sizes(machine, request, len(set(nodes))))
            if choice is not None:
                return Dealer(request, Picking(machine, free, need)).take(choice)
        except EndlessLoopError:
            return ENDLESS
    return pick_packed(machine, offered, need, request.spread)


def _sizes(machine: Machine, request: Request, candidates: int) -> range:
    groups = request.need // request.group
    per_node = ceil(ceil(len(machine.cpus) / request.group) / len(machine.ids("node")))
    fewest, most = ceil(groups / per_node), min(groups, candidates)
    if request.rules.hint_floor and fewest < request.hint_width <= most:
        fewest = request.hint_width
    return range(fewest, most + 1)
