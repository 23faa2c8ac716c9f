"""What would let a refused pod in: the fewest pods to move or, if that is not enough, to evict.

Moving a pod means removing it, admitting the refused pod, and admitting the moved one again on the same
node; of several the largest returns first. Every answer has been run through the engine.

Likely sets are tried first: the largest or smallest pods of a NUMA node, a socket, or the machine. Then all
smaller sets follow, from the smallest up, as long as the budget of engine runs lasts: this proves how many
pods are needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate, combinations
from typing import NamedTuple

from cpuctl.engine.admission import Admission
from cpuctl.engine.capacity.probe import Progress, allocations, as_much, by_location, held_cpus, settled
from cpuctl.engine.node import Node
from cpuctl.engine.node_fit import check_fit
from cpuctl.engine.ordering import PodOrder, ordered
from cpuctl.engine.outcome import Admitted, Rejected, Verdict
from cpuctl.pods.model import StoredPod
from cpuctl.pods.requests import pod_requests
from cpuctl.quantity import Quantity

MAX_LEAVING = 8
"""Limit on the pods that leave: more are too many to move by hand."""


class Attempt(NamedTuple):
    """A set that helps: the pods that leave, the refused pod's admission, and theirs if they return.

    ``after`` is the node after all these steps.
    """

    leaving: tuple[StoredPod, ...]
    admission: Admission
    again: tuple[Admission, ...]
    after: Node


class BestRemedy(NamedTuple):
    """The best set found, None without one; no set of up to ``excluded`` pods helps."""

    attempt: Attempt | None
    excluded: int

    @property
    def fewest(self) -> bool:
        """Whether it is proven that fewer pods are not enough."""
        return self.attempt is not None and self.excluded == len(self.attempt.leaving) - 1


@dataclass(slots=True, kw_only=True)
class MoveSearch:
    """One search among ``candidates`` for ``pod`` on ``node``, which has cleaned up and is not changed.

    Fewer than ``least`` pods are known not to be enough. Every admission counts as a run; ``budget``
    limits the runs.
    """

    node: Node
    pod: StoredPod
    candidates: Sequence[StoredPod]
    returns: bool
    budget: int
    progress: Progress
    least: int
    runs: int = 0

    def find(self, likely: Iterable[Sequence[StoredPod]]) -> BestRemedy:
        """Search for the best set; *likely* are orders in which to remove pods until that helps."""
        first = self.least
        if first == 1:
            # All single pods can be tried, which finds the best one, not just a likely one.
            if found := self._any(1):
                return BestRemedy(found, 0)
            if self.exhausted:
                return BestRemedy(None, 0)
            first = 2
        best = self._first_of(likely, first)
        if best is not None:
            best = self._without_needless(best)
        largest = min(MAX_LEAVING, len(self.candidates)) if best is None else len(best.leaving) - 1
        for size in range(first, largest + 1):
            found = self._any(size)
            if found or self.exhausted:
                return BestRemedy(found or best, size - 1)
        return BestRemedy(best, max(largest, self.least - 1))

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
        """Remove pods, admit the refused one, and readmit the others if they return; None if that fails."""
        node = self.node.copy()
        for each in leaving:
            node.remove(each.uid)
        admission = self._admit(node, self.pod)
        if not admission.is_sound:
            return None
        again = []
        if self.returns:
            for each in ordered(leaving, PodOrder.LARGEST_FIRST, pod_level=node.pod_level_resources):
                again.append(self._admit(node, each))
                before, now = allocations(self.node, each), allocations(node, each)
                if not again[-1].is_sound or not as_much(now, before):
                    return None
        return Attempt(tuple(leaving), admission, tuple(again), node)

    def _admit(self, node: Node, pod: StoredPod) -> Admission:
        self.runs += 1
        self.progress("looking for pods to move", self.runs, self.budget)
        return node.admit(pod)

    def _first_of(self, orders: Iterable[Sequence[StoredPod]], first: int) -> Attempt | None:
        """Remove pods in each order until that helps, on half of the budget left; return the smallest set."""
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


_NOTHING = Quantity()


class RemedyKind(StrEnum):
    """What has to be done; ``NOTHING`` if the node admits the pod in its current state.

    ``IMPOSSIBLE`` if the node refuses it even when no other pod runs there, ``UNKNOWN`` if nothing was
    found before the search ended.
    """

    NOTHING = "nothing"
    MOVES = "moves"
    EVICTIONS = "evictions"
    IMPOSSIBLE = "impossible"
    UNKNOWN = "unknown"


class MovedPod(NamedTuple):
    """A pod that leaves: its exclusive CPUs (a mask), and those after its return, None if it stays away."""

    pod: StoredPod
    before: int
    after: int | None


class Remedy(NamedTuple):
    """How one of ``pods``, which are equal and rejected, would be admitted.

    ``verdict`` and ``cpus`` (a mask) are what the pod then gets; if that is impossible, ``verdict`` is the
    empty node's. No remedy of this kind works with ``excluded`` pods or fewer; ``fewest`` shows that this
    proves the answer to be the smallest. If pods have to be evicted, moving a set of up to ``immovable`` pods
    would not help instead; None means that moving any set would not. ``runs`` admissions were tried.
    """

    pods: tuple[StoredPod, ...]
    kind: RemedyKind
    verdict: Verdict
    cpus: int = 0
    leaving: tuple[MovedPod, ...] = ()
    excluded: int = 0
    fewest: bool = False
    immovable: int | None = 0
    runs: int = 1


def remedy_for(node: Node, pods: tuple[StoredPod, ...], budget: int, progress: Progress) -> Remedy:
    """Search for a remedy for the first of *pods*, which are equal, in at most about *budget* admissions.

    *node* is not changed.
    """
    node, pod = settled(node), pods[0]
    now = node.copy().admit(pod)
    if isinstance(now.verdict, Admitted):
        kind, cpus = RemedyKind.NOTHING, _exclusive(now)
        return Remedy(pods=pods, kind=kind, verdict=now.verdict, cpus=cpus, fewest=True)
    empty = node.copy()
    empty.resume(())
    verdict = empty.admit(pod).verdict
    if not isinstance(verdict, Admitted):
        return Remedy(pods=pods, kind=RemedyKind.IMPOSSIBLE, verdict=verdict, runs=2)
    found = _Case(node, pods, verdict, budget, progress).remedy()
    return found._replace(runs=found.runs + 2)


def shortage(node: Node, pod: StoredPod) -> Rejected | None:
    """Return the rejection for lack of a resource on the whole node, None if the pod fits."""
    if node.allocatable is None:
        return None
    running, pod_level = node.active.values(), node.pod_level_resources
    return check_fit(node.pod_rules.known(pod), running, node.allocatable, pod_level=pod_level)


class _Case(NamedTuple):
    """A refused pod that the empty node would admit."""

    node: Node
    pods: tuple[StoredPod, ...]
    verdict: Verdict
    budget: int
    progress: Progress

    def remedy(self) -> Remedy:
        """Look for pods to move, then for pods to evict."""
        running = tuple(self.node.active.values())
        if short := shortage(self.node, self.pods[0]):
            # Moving pods around does not free what the node as a whole is short of.
            return self._relieved(short, running)._replace(immovable=None)
        holders = [pod for pod in running if allocations(self.node, pod)]
        moves = self._search(holders, by_location(self.node, holders), returns=True)
        if moves.kind is RemedyKind.MOVES:
            return moves
        goes = self._search(holders, by_location(self.node, holders), returns=False)
        immovable = None if moves.excluded == len(holders) else moves.excluded
        return goes._replace(immovable=immovable, runs=moves.runs + goes.runs)

    def _relieved(self, short: Rejected, running: Sequence[StoredPod]) -> Remedy:
        """Look for pods to evict, first those that use most of the missing resource."""
        used = {pod.uid: self._used(pod, short.reason.removeprefix("OutOf")) for pod in running}
        greedy = sorted(running, key=lambda pod: used[pod.uid], reverse=True)
        missing = short.details["requested"] + short.details["used"] - short.details["capacity"]
        least = 1 + sum(brought < missing for brought in accumulate(used[pod.uid] for pod in greedy))
        return self._search(running, [greedy], returns=False, least=least)

    def _used(self, pod: StoredPod, resource: str) -> int:
        if resource == "pods":
            return 1
        requests = pod_requests(pod, pod_level=self.node.pod_level_resources)
        amount = requests.get(resource, _NOTHING)
        return amount.milli_value if resource == "cpu" else amount.value

    def _search(
        self,
        candidates: Sequence[StoredPod],
        likely: Iterable[Sequence[StoredPod]],
        *,
        returns: bool,
        least: int = 1,
    ) -> Remedy:
        search = MoveSearch(
            node=self.node,
            pod=self.pods[0],
            # Among sets of the same size, prefer small pods.
            candidates=sorted(candidates, key=lambda pod: held_cpus(self.node, pod).bit_count()),
            returns=returns,
            budget=self.budget // 2,
            progress=self.progress,
            least=least,
        )
        finding = search.find(likely)
        remedy = Remedy(
            pods=self.pods,
            kind=RemedyKind.UNKNOWN,
            verdict=self.verdict,
            excluded=finding.excluded,
            fewest=finding.fewest,
            runs=search.runs,
        )
        if finding.attempt is None:
            return remedy
        return remedy._replace(
            kind=RemedyKind.MOVES if returns else RemedyKind.EVICTIONS,
            cpus=_exclusive(finding.attempt.admission),
            leaving=tuple(self._leaving(finding.attempt)),
        )

    def _leaving(self, attempt: Attempt) -> Iterator[MovedPod]:
        again = {admission.pod.uid: _exclusive(admission) for admission in attempt.again}
        for pod in attempt.leaving:
            yield MovedPod(pod=pod, before=held_cpus(self.node, pod), after=again.get(pod.uid))


def _exclusive(admission: Admission) -> int:
    cpus = 0
    for placement in admission.placements:
        cpus |= placement.cpus if placement.exclusive else 0
    return cpus
