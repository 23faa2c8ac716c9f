"""Which pods have to leave a node so that its kubelet starts on the state files: as few as possible."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import combinations
from math import comb
from typing import Final

Fits = Callable[[frozenset[str]], bool]
"""Whether the kubelet starts without some pods; removing more pods never makes it fail."""

_MOST_PODS: Final = 256
_MOST_TRIALS: Final = 1024


def fewest_pods(sizes: Mapping[str, int], preferred: Collection[str], fits: Fits) -> tuple[str, ...]:
    """Return pods without which the kubelet starts, by preference; *sizes* is what each pod holds.

    None of them could stay. There are no fewer that would do, unless there are too many sets to try: then the
    pods stay that hold least. Small ones are preferred. Empty if nothing helps, or if no pod has to leave.
    """
    everyone = frozenset(sizes)
    if len(everyone) > _MOST_PODS or fits(frozenset()) or not fits(everyone):
        return ()
    ordered = sorted(sizes, key=lambda uid: (uid not in preferred, sizes[uid], uid))
    needed = frozenset(uid for uid in ordered if not fits(everyone - {uid}))
    others = [uid for uid in ordered if uid not in needed]
    removed = _first(needed, others, fits) or _all_but_the_smallest(sizes, fits)
    return tuple(uid for uid in ordered if uid in removed)


def _first(needed: frozenset[str], others: Sequence[str], fits: Fits) -> frozenset[str] | None:
    """Try all sets of pods, those of few pods first, as long as there are not too many."""
    for count in range(len(others) + 1):
        if comb(len(others), count) > _MOST_TRIALS:
            return None
        for some in combinations(others, count):
            if fits(removed := needed.union(some)):
                return removed
    return None


def _all_but_the_smallest(sizes: Mapping[str, int], fits: Fits) -> frozenset[str]:
    removed = frozenset(sizes)
    for uid in sorted(sizes, key=lambda uid: (sizes[uid], uid)):
        if fits(removed - {uid}):
            removed -= {uid}
    return removed
