"""The fewest moves after which a pod fits on a node: an ordered plan of evictions and readmissions.

A move is an eviction and an admission on the same node under a new UID, as when a controller recreates the
pod. The states that a node can reach are searched by number of evictions: first those reached by admissions
alone, then by one eviction, and so on, each state once. So the first plan found has the fewest moves; if no
new state is left, there is no plan. Nothing is assumed about the order of evictions and admissions. A budget
bounds the steps; beyond it, likely sets of pods are tried (``remedy``), which proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from cpuctl.engine.capacity.probe import (
    Progress,
    allocations,
    as_much,
    by_location,
    exclusive_pod,
    free_cpus,
    held_cpus,
    settled,
    shape_of,
)
from cpuctl.engine.capacity.remedy import MoveSearch, shortage
from cpuctl.engine.cpu.manager import request_step
from cpuctl.engine.node import Node
from cpuctl.engine.ordering import PodOrder, ordered
from cpuctl.engine.outcome import Admitted, Rejected, Verdict
from cpuctl.pods.model import StoredPod

Ended = Literal["all", "budget", "stopped"]
_AGAIN = "again-"
_LIKELY_SHARE = 4
"""One part of the budget in this many is for likely sets."""


class Immovable(NamedTuple):
    """A pod that holds resources but is not moved, and why."""

    pod: StoredPod
    why: str


class Step(NamedTuple):
    """A pod that is evicted or admitted, and its exclusive CPUs (a mask) before or after that."""

    kind: Literal["evict", "admit"]
    pod: StoredPod
    cpus: int


class Moves(NamedTuple):
    """What was found for one pod: the steps of a plan, None without one, and what is proven about it.

    ``now`` is the verdict on the pod in the current state. No plan has ``excluded`` moves or fewer; -1 means
    that nothing is excluded. ``ended`` is why the search ended: with ``all`` the plan has the fewest moves,
    or no plan exists. ``why_not`` is why moves cannot help. ``tried`` counts steps.
    """

    pod: StoredPod
    now: Verdict
    steps: tuple[Step, ...] | None
    excluded: int
    ended: Ended
    tried: int
    why_not: Verdict | None = None

    @property
    def evictions(self) -> int:
        """The number of moves."""
        return sum(step.kind == "evict" for step in self.steps or ())


def immovable_pods(node: Node) -> list[Immovable]:
    """List the pods that hold CPUs, memory or devices and cannot be moved."""
    holders = (pod for pod in node.active.values() if allocations(node, pod))
    return [Immovable(pod, why) for pod in holders if (why := _why_it_stays(pod))]


def _why_it_stays(pod: StoredPod) -> str:
    if pod.static:
        return "a static pod: the kubelet would restart it"
    if pod.critical:
        return "critical (system-cluster-critical or higher)"
    if pod.resource_claims:
        return "it has resource claims, which the scheduler would allocate again"
    if not any(each.resources.requests or each.resources.limits for each in pod.all_containers) and not (
        pod.resources
    ):
        return "its requests are unknown (--pods FILE)"
    return ""


class _SearchState(NamedTuple):
    """A state of the node: which pods await admission, whether the new pod is in, and the steps so far."""

    node: Node
    waiting: tuple[StoredPod, ...]
    done: bool
    steps: tuple[Step, ...]

    def key(self) -> Hashable:
        """Return a key that is equal for states with the same possible continuations."""
        node = self.node
        active = frozenset(map(_plain, node.active))
        # The last pod seen matters to managers that keep what a pod held until they see another.
        last_seen = tuple((name, pod.uid) for name, pod in sorted(node.last_seen.items()))
        return (
            self.done,
            frozenset(_plain(pod.uid) for pod in self.waiting),
            active,
            node.state.default,
            _held(node.state.assignments),
            frozenset((_plain(uid), cpus) for uid, cpus in node.state.pod_entries.items()),
            _held(node.memory.state.blocks),
            frozenset(
                (_plain(uid), container, frozenset(held.items()))
                for uid, containers in node.devices.state.held.items()
                for container, held in containers.items()
            ),
            () if node.forgets_pods else last_seen,
        )


def _plain(uid: str) -> str:
    while uid.startswith(_AGAIN):
        uid = uid.removeprefix(_AGAIN)
    return uid


def _held(held: object) -> Hashable:
    assert isinstance(held, dict)
    return frozenset(
        (_plain(uid), container, what)
        for uid, containers in held.items()
        for container, what in containers.items()
    )


@dataclass(slots=True, kw_only=True)
class _Search:
    """One search for ``pod`` on ``node``, which has cleaned up and is not changed."""

    node: Node
    pod: StoredPod
    stay: frozenset[str]
    budget: int
    progress: Progress
    stopped: Callable[[], bool]
    tried: int = 0
    halted: bool = False
    visited: set[Hashable] = field(default_factory=set)

    @property
    def over(self) -> bool:
        """Whether the search has to end."""
        self.halted = self.halted or self.stopped()
        return self.halted or self.tried >= self.budget

    def find(self) -> tuple[tuple[Step, ...] | None, int]:
        """Search level by level; return the steps, and the largest number of moves proven insufficient."""
        states: Iterable[_SearchState] = (_SearchState(self.node, (), done=False, steps=()),)
        moves = 0
        while True:
            level: list[_SearchState] = []
            for state in states:
                if found := self._settle(state, level):
                    return found.steps, moves - 1
                if self.over:
                    return None, moves - 1
            if not level:
                return None, moves
            states, moves = self._evictions(level), moves + 1

    def _settle(self, start: _SearchState, level: list[_SearchState]) -> _SearchState | None:
        """Follow admissions from a state, and add the states that they lead to to the level."""
        stack = [start]
        while stack and not self.over:
            state = stack.pop()
            key = state.key()
            if key in self.visited:
                continue
            self.visited.add(key)
            if state.done and not state.waiting:
                return state
            level.append(state)
            stack.extend(reversed(list(self._admissions(state))))
        return None

    def _admissions(self, state: _SearchState) -> Iterator[_SearchState]:
        if not state.done and (came := self._admitted(state, self.pod)):
            yield came._replace(done=True)
        equivalent = set()
        in_order = ordered(state.waiting, PodOrder.LARGEST_FIRST, pod_level=self.node.pod_level_resources)
        for pod in in_order:
            # Among pods that differ only in their names, the order makes no difference.
            if (shape := shape_of(pod)) not in equivalent and (came := self._admitted(state, pod)):
                yield came._replace(waiting=tuple(each for each in state.waiting if each is not pod))
            equivalent.add(shape)

    def _admitted(self, state: _SearchState, pod: StoredPod) -> _SearchState | None:
        if self.over:
            return None
        self._count()
        node = state.node.copy()
        if not node.admit(pod).is_sound or not self._has_as_much(pod, node):
            return None
        step = Step("admit", pod, held_cpus(node, pod))
        return state._replace(node=node, steps=(*state.steps, step))

    def _has_as_much(self, pod: StoredPod, node: Node) -> bool:
        before, now = allocations(self.node, pod._replace(uid=_plain(pod.uid))), allocations(node, pod)
        return as_much(now, before)

    def _evictions(self, level: Sequence[_SearchState]) -> Iterator[_SearchState]:
        """Yield the states after one more eviction, those of pods with the fewest CPUs first."""
        for state in level:
            node = state.node
            holders = [
                pod
                for pod in node.active.values()
                if _plain(pod.uid) not in self.stay and pod.uid != self.pod.uid and allocations(node, pod)
            ]
            for pod in sorted(holders, key=lambda each: held_cpus(node, each).bit_count()):
                self._count()
                yield _evicted(state, pod)

    def _count(self) -> None:
        self.tried += 1
        self.progress("looking for moves", self.tried, self.budget)


def _evicted(state: _SearchState, pod: StoredPod) -> _SearchState:
    """Remove a pod, and let the managers clean up after it."""
    node = state.node.copy()
    before = held_cpus(node, pod)
    node.remove(pod.uid)
    node.clean_up()
    again = pod._replace(uid=f"{_AGAIN}{pod.uid}")
    steps = (*state.steps, Step("evict", pod, before))
    return state._replace(node=node, waiting=(*state.waiting, again), steps=steps)


def fewest_moves(
    node: Node,
    pod: StoredPod,
    budget: int,
    progress: Progress,
    stopped: Callable[[], bool] = lambda: False,
) -> Moves:
    """Search for the fewest moves that let *pod* in, in about *budget* steps; *node* is not changed."""
    node = settled(node)
    after = node.copy()
    now = after.admit(pod).verdict
    found = Moves(pod, now, None, excluded=-1, ended="all", tried=1)
    if not isinstance(now, Admitted | Rejected):
        return found._replace(why_not=now)
    if isinstance(now, Admitted):
        return found._replace(steps=(Step("admit", pod, held_cpus(after, pod)),))
    stay = frozenset(each.pod.uid for each in immovable_pods(node))
    if (obstacle := _impossible(node, pod, stay)) is not None:
        return found._replace(why_not=obstacle)
    node.server = None  # it has already let the pod pass, and pods that move are already counted
    likely = budget // _LIKELY_SHARE
    search = _Search(
        node=node, pod=pod, stay=stay, budget=budget - likely, progress=progress, stopped=stopped
    )
    steps, excluded = search.find()
    found = found._replace(steps=steps, excluded=excluded, tried=search.tried + 1)
    if steps is not None or not search.over:
        return found
    if search.halted:
        return found._replace(ended="stopped")
    return _likely(found, node, stay, likely, progress)._replace(ended="budget")


def _impossible(node: Node, pod: StoredPod, stay: frozenset[str]) -> Verdict | None:
    """Return a verdict that no move can change: the whole node has too little, or rejects even the lone pod.

    Other pods can help or hinder a pod of several containers, so for it the full search is made.
    """
    if misfit := shortage(node, pod):
        return misfit
    if len(pod.all_containers) > 1:
        return None
    alone = node.copy()
    alone.resume(each for each in node.active.values() if each.uid in stay or not allocations(node, each))
    alone.clean_up()
    verdict = alone.admit(pod).verdict
    return None if isinstance(verdict, Admitted) else verdict


def _likely(found: Moves, node: Node, stay: frozenset[str], budget: int, progress: Progress) -> Moves:
    """Try likely sets of pods, which leave together and return after the pod, the largest first."""
    candidates = [pod for pod in node.active.values() if allocations(node, pod) and pod.uid not in stay]
    search = MoveSearch(
        node=node,
        pod=found.pod,
        candidates=sorted(candidates, key=lambda pod: held_cpus(node, pod).bit_count()),
        returns=True,
        budget=budget,
        progress=progress,
        least=max(found.excluded + 1, 1),
    )
    best = search.find(by_location(node, candidates)).attempt
    found = found._replace(tried=found.tried + search.runs)
    if best is None:
        return found
    leave = (Step("evict", pod, held_cpus(node, pod)) for pod in best.leaving)
    come = (each.pod for each in (best.admission, *best.again))
    return found._replace(steps=(*leave, *(Step("admit", pod, held_cpus(best.after, pod)) for pod in come)))


class LargestMoves(NamedTuple):
    """The largest request that moves make room for: its CPUs, the moves, and whether more is possible.

    ``now`` is the largest request without moves. ``proven``: nothing larger is possible.
    """

    cpus: int
    now: int
    moves: Moves | None
    proven: bool
    ended: Ended
    tried: int


def largest_after_moves(
    node: Node,
    now: int,
    budget: int,
    progress: Progress,
    stopped: Callable[[], bool] = lambda: False,
) -> LargestMoves:
    """Search downwards from all free CPUs for a request above *now* that moves make room for.

    Each request gets half of the remaining budget. The node has the static policy.
    """
    node = settled(node)
    step, free = request_step(node.policy), free_cpus(node).bit_count()
    tried, proven = 0, True
    for wanted in range(free - free % step, now, -step):
        left = budget - tried
        if left <= 0:
            return LargestMoves(now, now, None, proven=False, ended="budget", tried=tried)
        moves = fewest_moves(node, exclusive_pod(node, wanted), max(left // 2, 1), progress, stopped)
        tried += moves.tried
        if moves.steps is not None:
            return LargestMoves(wanted, now, moves, proven, moves.ended, tried)
        if moves.ended == "stopped":
            return LargestMoves(now, now, None, proven=False, ended="stopped", tried=tried)
        proven = proven and moves.ended == "all"
    return LargestMoves(now, now, None, proven, "all" if proven else "budget", tried)
