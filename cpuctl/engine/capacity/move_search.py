"""Searching for pods that have to leave so that another one is admitted.

Likely sets are tried first: the largest pods, or the smallest, of a NUMA node, a socket, the machine. Then
all smaller sets, from the smallest up, as long as the budget of engine runs lasts: that proves how many it
takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

from cpuctl.engine.admission import Admission
from cpuctl.engine.capacity.holdings import holdings
from cpuctl.engine.capacity.probe import Progress
from cpuctl.engine.node import Node
from cpuctl.engine.ordering import ordered
from cpuctl.engine.outcome import Admitted
from cpuctl.engine.pod_order import PodOrder
from cpuctl.pods.model import StoredPod

MAX_LEAVING = 8
"""Pods that leave at most: nobody wants to do more by hand."""


class Attempt(NamedTuple):
    """A set that helps: the pods that leave, the pod's admission then, and theirs where they come back."""

    leaving: tuple[StoredPod, ...]
    admission: Admission
    again: tuple[Admission, ...] = ()


class Finding(NamedTuple):
    """The best set, None where none was found; no set of up to ``excluded`` pods helps."""

    attempt: Attempt | None
    excluded: int

    @property
    def fewest(self) -> bool:
        """Whether it is proven that fewer pods are not enough."""
        return self.attempt is not None and self.excluded == len(self.attempt.leaving) - 1


@dataclass(slots=True, kw_only=True)
class MoveSearch:
    """One search among ``candidates`` for ``pod`` on ``node``, which has cleaned up and stays as it is.

    It is known that fewer than ``least`` pods are not enough. Every admission counts as a run; ``budget``
    bounds them.
    """

    node: Node
    pod: StoredPod
    candidates: Sequence[StoredPod]
    comes_back: bool
    budget: int
    progress: Progress
    least: int
    runs: int = 0

    def find(self, likely: Iterable[Sequence[StoredPod]]) -> Finding:
        """Search; *likely* are orders in which to take pods until that helps."""
        first = self.least
        if first == 1:
            # Of single pods all can be tried, so that the best of them is found and not a likely one.
            if found := self._any(1):
                return Finding(found, 0)
            if self.exhausted:
                return Finding(None, 0)
            first = 2
        best = self._first_of(likely, first)
        if best is not None:
            best = self._without_needless(best)
        largest = min(MAX_LEAVING, len(self.candidates)) if best is None else len(best.leaving) - 1
        for size in range(first, largest + 1):
            found = self._any(size)
            if found or self.exhausted:
                return Finding(found or best, size - 1)
        return Finding(best, max(largest, self.least - 1))

    @property
    def exhausted(self) -> bool:
        """Whether the budget is used up."""
        return self.runs >= self.budget

    def _any(self, size: int) -> Attempt | None:
        """Try all sets of a size."""
        for leaving in combinations(self.candidates, size):
            if self.exhausted:
                return None
            if found := self.attempt(leaving):
                return found
        return None

    def attempt(self, leaving: Sequence[StoredPod]) -> Attempt | None:
        """Let pods leave, admit the one that was refused, and let them come back; None where that fails."""
        node = self.node.copy()
        for each in leaving:
            node.remove(each.uid)
        admission = self._admit(node, self.pod)
        if not isinstance(admission.verdict, Admitted):
            return None
        again = []
        if self.comes_back:
            for each in ordered(leaving, PodOrder.LARGEST_FIRST, pod_level=node.pod_level_resources):
                again.append(self._admit(node, each))
                if not isinstance(again[-1].verdict, Admitted) or not self._has_as_much(each, node):
                    return None
        return Attempt(tuple(leaving), admission, tuple(again))

    def _admit(self, node: Node, pod: StoredPod) -> Admission:
        self.runs += 1
        self.progress("looking for pods to move", self.runs, self.budget)
        return node.admit(pod)

    def _has_as_much(self, pod: StoredPod, node: Node) -> bool:
        """Tell whether a pod holds what it held before: not of all pods it is known what they ask for."""
        now = holdings(node, pod)
        return all(now.get(key, 0) >= amount for key, amount in holdings(self.node, pod).items())

    def _first_of(self, orders: Iterable[Sequence[StoredPod]], first: int) -> Attempt | None:
        """Take pods in every order until that helps; return the fewest. Half of what is left is for this."""
        best: Attempt | None = None
        share = (self.runs + self.budget) // 2
        for order in orders:
            longest = MAX_LEAVING if best is None else len(best.leaving) - 1
            for size in range(first, min(longest, len(order)) + 1):
                if self.runs >= share:
                    return best
                if found := self.attempt(order[:size]):
                    best = found
                    break
        return best

    def _without_needless(self, best: Attempt) -> Attempt:
        for pod in best.leaving:
            fewer = [each for each in best.leaving if each is not pod]
            best = self.attempt(fewer) or best
        return best
