"""Merging hint lists: the kubelet's answer without its product of lists.

Rule: kubelet v1.36 ``pkg/kubelet/cm/topologymanager/policy.go``. There one hint of every list is combined
with one of every other; the sets of nodes are intersected, and the best combination wins. The winner
depends only on which intersections can be reached, so these are computed: first the preferred ones, for
which all sets must be equal, then, if there are none, all others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial

from cpuctl.engine.hints.fit import Fit, no_distance
from cpuctl.engine.hints.hints import DONT_CARE, Hint
from cpuctl.engine.hints.joint_hints import best_cuts, best_preferred
from cpuctl.engine.hints.reachable import reachable_sets
from cpuctl.engine.hints.rule import HintList, HintRule
from cpuctl.engine.outcome import KubeletFault


def merge(lists: Sequence[HintList], everything: int, fit: Fit) -> Hint | KubeletFault:
    """Merge the lists of one request; *everything* are all NUMA nodes of the machine, as a mask.

    A fault where only a distance that no row holds could tell which set is best.
    """
    rules = [hints for hints in lists if not isinstance(hints, Sequence)]
    explicit = [hints for hints in lists if isinstance(hints, Sequence)]
    if preferred := _preferred(rules, explicit, everything, fit):
        return _best(preferred, fit, fit.key, preferred=True)
    minimum = max((_narrowest(hints) for hints in lists), default=0)
    standing = partial(_standing, minimum)
    sets = reachable_sets([[_cut(hint, everything) for hint in hints] for hints in explicit], everything)
    if rules:
        sizes = sorted(range(1, everything.bit_count() + 1), key=standing)
        sets = best_cuts(rules, sets, sizes, fit)
    if sets := sets - {0}:
        return _best(sets, fit, lambda nodes: (standing(nodes.bit_count()), fit.key(nodes)), preferred=False)
    return Hint(everything, preferred=False)


def _preferred(
    rules: Sequence[HintRule], explicit: Sequence[Sequence[Hint]], everything: int, fit: Fit
) -> set[int]:
    """Find the sets that every list prefers or leaves open; of those that only rules limit, the best."""
    offered = [
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
    return {nodes & everything for nodes in sets} - {0}


def _narrowest(hints: HintList) -> int:
    if not isinstance(hints, Sequence):
        return hints.narrowest
    return min((hint.nodes.bit_count() for hint in hints if hint.nodes is not None), default=0)


def _cut(hint: Hint, everything: int) -> int:
    return everything if hint.nodes is None else hint.nodes & everything


def _standing(minimum: int, size: int) -> int:
    """Sort the sizes of sets that are not preferred: the widest *minimum* of a list, narrower, then wider."""
    return size if size > minimum else -size


def _best(
    sets: Collection[int], fit: Fit, key: Callable[[int], tuple[object, ...]], *, preferred: bool
) -> Hint | KubeletFault:
    best = min(sets, key=key)
    unknown = fit.unknown(best)
    if unknown and any(nodes != best and nodes.bit_count() == best.bit_count() for nodes in sets):
        return no_distance(fit, *unknown)
    return Hint(best, preferred)
