"""Merging as the kubelet does, combination by combination, in case a comparison along the way can crash it.

Rule: kubelet v1.36 ``topologymanager/policy.go`` and ``numa_info.go``. With ``prefer-closest-numa-nodes`` two
sets of NUMA nodes of one size are compared by distances, which are looked up by node id. With sparse ids
rows are too short for that, and any comparison along the way can crash, not only the last one. Which sets
are compared depends on the order of the combinations, which in turn depends on the order of a provider's
resources, which a kubelet keeps in a map.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, permutations, product
from typing import NamedTuple, TypeAlias

from cpuctl.cpuset import CPUSet
from cpuctl.engine.hints.hints import Fit, Hint, HintList, no_distance
from cpuctl.engine.masks import NodeMask
from cpuctl.engine.outcome import KubeletFault, Undetermined

Lists: TypeAlias = "Sequence[Sequence[Hint]]"
Result: TypeAlias = "Hint | KubeletFault"

MOST_NODES = 12
"""More nodes than this have too many sets to expand a rule into a list."""
MOST_STEPS = 1 << 21
"""A limit on hints times combination states; takes a second or two."""
MOST_ORDERS = 720


class _Combined(NamedTuple):
    """A partial combination: the common nodes, the set that all hints name, and whether it is preferred."""

    nodes: NodeMask
    equal: NodeMask | None
    preferred: bool

    def with_hint(self, hint: Hint) -> _Combined:
        nodes, equal, preferred = self
        if hint.nodes is None:
            return self if hint.preferred or not preferred else _Combined(nodes, None, preferred=False)
        if preferred and hint.preferred and equal in (None, hint.nodes):
            return _Combined(nodes & hint.nodes, hint.nodes, preferred=True)
        # A combination that is not preferred stays so, whatever its sets are.
        return _Combined(nodes & hint.nodes, None, preferred=False)


def walked(
    providers: Sequence[Sequence[HintList]], everything: NodeMask, fit: Fit
) -> Hint | KubeletFault | Undetermined:
    """Merge the lists of all providers in every order that their resources may have.

    Undetermined if different orders lead to different results, or if the walk is too long.
    """
    if everything.bit_count() > MOST_NODES:
        return _too_long(everything)
    results: dict[Result, None] = {}
    for ordered in islice(product(*map(_orders, providers)), MOST_ORDERS):
        lists = [hints for provider in ordered for hints in provider]
        if _steps(lists, everything) > MOST_STEPS:
            return _too_long(everything)
        results[_Walk(lists, everything, fit).run()] = None
    found = list(results)
    if len({_outcome(each) for each in found}) > 1:
        return Undetermined(
            "which sets of NUMA nodes the kubelet compares depends on the iteration order of a "
            "map of resources",
            variants=tuple(dict.fromkeys(map(_outcome, found))),
        )
    return found[0]


def _orders(lists: Sequence[HintList]) -> Iterator[Lists]:
    """Yield the orders that make a difference; lists are often all the same."""
    kinds = [tuple(hints) for hints in lists]
    return iter(dict.fromkeys(permutations(kinds)))


def _steps(lists: Lists, everything: NodeMask) -> int:
    states, steps = 1, 0
    for hints in lists:
        steps += states * len(hints)
        states = min(states * len(hints), 2 << everything.bit_count())
    return steps


def _outcome(result: Result) -> str:
    match result:
        case KubeletFault(where=where):
            return f"it crashes in the {where.partition(',')[0]}"
        case Hint(nodes=nodes, preferred=preferred):
            return f"NUMA nodes {CPUSet(nodes or 0)}, {'' if preferred else 'not '}preferred"


def _too_long(everything: NodeMask) -> Undetermined:
    return Undetermined(
        "rows of NUMA distances are too short for the node IDs; whether a comparison crashes "
        f"the kubelet is not computed for {everything.bit_count()} NUMA nodes"
    )


class _CrashError(Exception):
    """A comparison of two sets needed a distance that no row contains."""

    def __init__(self, one: int, other: int) -> None:
        super().__init__(one, other)
        self.pair = one, other


class _Walk:
    """All combinations of the lists, in the kubelet's order; equal states are followed only once."""

    def __init__(self, lists: Lists, everything: NodeMask, fit: Fit) -> None:
        self.lists = lists
        self.everything = everything
        self.fit = fit
        self.widest = max((_narrowest(hints) for hints in lists), default=0)
        self.known: dict[tuple[int, _Combined, Hint | None], Hint | None] = {}

    def run(self) -> Result:
        start = _Combined(self.everything, None, preferred=True)
        try:
            best = self._from(0, start, None)
        except _CrashError as crash:
            return no_distance(self.fit, *crash.pair)
        return best or Hint(self.everything, preferred=False)

    def _from(self, index: int, combined: _Combined, best: Hint | None) -> Hint | None:
        """Go through the lists from *index* on; return the best combination so far."""
        if index == len(self.lists):
            return self._better(best, Hint(combined.nodes, combined.preferred))
        key = index, combined, best
        if key not in self.known:
            for hint in self.lists[index]:
                best = self._from(index + 1, combined.with_hint(hint), best)
            self.known[key] = best
        return self.known[key]

    def _better(self, best: Hint | None, candidate: Hint) -> Hint | None:
        assert candidate.nodes is not None
        if not candidate.nodes:
            return best
        if best is None or best.preferred != candidate.preferred:
            return candidate if best is None or candidate.preferred else best
        assert best.nodes is not None
        size, other, widest = candidate.nodes.bit_count(), best.nodes.bit_count(), self.widest
        if not candidate.preferred and other <= widest and size != other:
            # Among non-preferred: as wide as the widest of the lists' narrowest hints, else as close below.
            return candidate if other < size <= widest else best
        return candidate if self._fits_better(candidate.nodes, best.nodes) else best

    def _fits_better(self, nodes: NodeMask, best: NodeMask) -> bool:
        if nodes == best:
            return False
        if nodes.bit_count() == best.bit_count():
            for each in (best, nodes):
                if unknown := self.fit.unknown(each):
                    raise _CrashError(*unknown)
        return self.fit.key(nodes) < self.fit.key(best)


def _narrowest(hints: Sequence[Hint]) -> int:
    return min((hint.nodes.bit_count() for hint in hints if hint.nodes is not None), default=0)
