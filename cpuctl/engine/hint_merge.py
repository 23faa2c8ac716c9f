"""Merging hint lists: the kubelet's answer without its product of lists.

Rule: kubelet v1.36 ``pkg/kubelet/cm/topologymanager/policy.go``. There one hint of every list is combined
with one of every other; the sets of nodes are intersected, and the best combination wins. The winner
depends only on which intersections can be reached, so these are computed: first the preferred ones, for
which all sets must be equal, then, if there are none, all others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from cpuctl.engine.cpu_hints import CPUHints
from cpuctl.engine.hints import DONT_CARE, Hint
from cpuctl.engine.reachable import reachable_sets

HintList = Sequence[Hint] | CPUHints
"""The hints for one resource; the CPU Manager's come as a rule."""

_Key = Callable[[int], tuple[int, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """How sets of equal standing compare: fewer nodes, then closer ones if distance counts, then lower.

    ``distances`` holds the row of every node by id; it is empty where distance does not count.
    """

    distances: Mapping[int, Sequence[int]] = field(default_factory=dict)

    def key(self, nodes: int) -> tuple[int, int, int]:
        """Return what sorts sets of nodes, the best first."""
        return nodes.bit_count(), self._distance(nodes), nodes

    def _distance(self, nodes: int) -> int:
        # Only sets of one size are compared, so the sum orders them as the kubelet's average does.
        members = [node for node in self.distances if nodes >> node & 1]
        return sum(self.distances[one][other] for one in members for other in members)


def merge(lists: Sequence[HintList], everything: int, fit: Fit) -> Hint:
    """Merge the lists of one request; *everything* are all NUMA nodes of the machine."""
    best = _best_preferred(lists, everything, fit)
    if best is not None:
        return Hint(best, preferred=True)
    best = _best_reachable(lists, everything, fit)
    return Hint(everything if best is None else best, preferred=False)


def _best_preferred(lists: Sequence[HintList], everything: int, fit: Fit) -> int | None:
    """Find the best set that every list offers as preferred or leaves open."""
    rules = [hints for hints in lists if isinstance(hints, CPUHints)]
    explicit = [hints for hints in lists if not isinstance(hints, CPUHints)]
    fixed = [_preferred_sets(hints) for hints in explicit if DONT_CARE not in hints]
    if fixed:
        candidates = set.intersection(*fixed)
        candidates = {m for m in candidates if all(m in rule and rule.prefers(m) for rule in rules)}
    elif len(rules) == 1:
        best = rules[0].best_preferred(fit.key if fit.distances else None)
        candidates = set() if best is None else {best}
    elif rules:
        candidates = set.intersection(*(_preferred_sets(rule) for rule in rules))
    else:
        candidates = {everything}.union(*(_preferred_sets(hints) for hints in explicit))
    cut = {nodes & everything for nodes in candidates} - {0}
    return min(cut, key=fit.key, default=None)


def _preferred_sets(hints: HintList) -> set[int]:
    return {hint.nodes for hint in hints if hint.preferred and hint.nodes is not None}


def _best_reachable(lists: Sequence[HintList], everything: int, fit: Fit) -> int | None:
    """Find the best intersection of one set from every list, none of them being preferred as a whole."""
    rules = [hints for hints in lists if isinstance(hints, CPUHints)]
    explicit: list[Iterable[Hint]] = [hints for hints in lists if not isinstance(hints, CPUHints)]
    explicit.extend(rules[1:])
    widest = max((_narrowest(hints) for hints in lists), default=0)
    found = reachable_sets([[_cut(hint, everything) for hint in hints] for hints in explicit], everything)
    key = _order(widest, fit)
    if rules:
        closest = fit.key if fit.distances else None
        cuts = (rules[0].best_cut(nodes, widest, closest) for nodes in found)
        found = {nodes for nodes in cuts if nodes is not None}
    return min(found - {0}, key=key, default=None)


def _narrowest(hints: HintList) -> int:
    if isinstance(hints, CPUHints):
        return hints.narrowest
    return min((hint.nodes.bit_count() for hint in hints if hint.nodes is not None), default=0)


def _cut(hint: Hint, everything: int) -> int:
    return everything if hint.nodes is None else hint.nodes & everything


def _order(widest: int, fit: Fit) -> _Key:
    """Sort sets that are not preferred: as wide as the widest minimum, then narrower, then wider ones."""

    def key(nodes: int) -> tuple[int, ...]:
        size = nodes.bit_count()
        rank = 0 if size == widest else 1 if size < widest else 2
        return rank, -size if size < widest else size, *fit.key(nodes)

    return key
