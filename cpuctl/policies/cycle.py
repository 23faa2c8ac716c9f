"""How cpuctl runs a policy: one question, its steps in order, one answer; and the valid answers.

The loop: ``filter`` removes CPUs; ``pre_score`` scores each of the others; ``select`` names sets of
them; the set with the highest ``score`` wins, the first one among equals. Anything else that a policy
returns is a ``BadAnswerError``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.cpuset import MAX_CPU, CPUSet
from cpuctl.policies.model import Policy, Rejection

if TYPE_CHECKING:
    from cpuctl.policies.model import PodView, View

MOST_SETS = 4096
"""The maximum number of sets that ``select`` may name."""

Report = Callable[[str], None]
"""Is called before every step."""


class BadAnswerError(Exception):
    """A step returns an invalid answer: which, and what is wrong with it."""


class Scored(NamedTuple):
    """A set of CPUs (a mask) with its score."""

    cpus: int
    score: float


class Selection(NamedTuple):
    """The result of the steps: a score for every remaining CPU, the sets named, and the winner's index."""

    scores: dict[int, float]
    sets: tuple[Scored, ...]
    winner: int


def writes(policy: Policy, step: str) -> bool:
    """Return whether a policy has its own version of a step."""
    return getattr(type(policy), step) is not getattr(Policy, step)


def kept(policy: Policy, pod: PodView, view: View, tell: Report) -> int:
    """Return the CPUs of ``view.free`` that pass ``filter``, as a mask, or raise BadAnswerError."""
    if not writes(policy, "filter"):
        return view.free.mask
    tell("filter")
    passed = 0
    for cpu in view.free:
        known = view.topology.cpus.get(cpu)
        if known is None:
            continue
        keeps = policy.filter(pod, known, view)
        if not isinstance(keeps, bool):
            raise BadAnswerError(f"filter returned {_described(keeps)} for CPU {cpu}, expected True or False")
        passed |= keeps << cpu
    return passed


def selection(policy: Policy, view: View, tell: Report, *, as_kubelet: bool) -> Selection:
    """Run the steps from ``pre_score`` to ``score``; raise Rejection or Failure as they do.

    A policy that models the kubelet (*as_kubelet*) may assign CPUs that a kubelet assigns by mistake.
    """
    tell("pre_score")
    scores = _scores(policy, view)
    tell("select")
    kubelets = as_kubelet or not writes(policy, "select")
    sets = tuple(_named(policy, scores, view, any_cpus=kubelets))
    if not sets:
        raise Rejection("select returned no CPUs")
    tell("score")
    scored = tuple(Scored(each.mask, _number(policy.score(each, view), "score", each)) for each in sets)
    winner = max(range(len(scored)), key=lambda place: (scored[place].score, -place))
    return Selection(scores, scored, winner)


def order(policy: Policy, pods: tuple[PodView, ...], view: View, tell: Report) -> tuple[str, ...]:
    """Return the UIDs of pods in the order of ``sort``, or raise BadAnswerError."""
    if not writes(policy, "sort"):
        return tuple(pod.uid for pod in pods)
    tell("sort")
    found = _listed(policy.sort(pods, view), "sort", len(pods) + 1)
    uids = [getattr(each, "uid", None) for each in found]
    if any(each not in pods for each in found) or len(set(uids)) != len(uids) or len(uids) != len(pods):
        raise BadAnswerError("sort must return each of the given pods exactly once")
    return tuple(str(uid) for uid in uids)


def evicted(policy: Policy, pod: PodView, view: View, tell: Report) -> tuple[str, ...]:
    """Return the UIDs of the pods that ``post_filter`` wants to evict, or raise BadAnswerError."""
    if not writes(policy, "post_filter"):
        return ()
    tell("post_filter")
    running = {each.uid for each in view.running} - {pod.uid}
    named = _listed(policy.post_filter(pod, view), "post_filter", len(running) + 1)
    for each in named:
        if each not in running:
            raise BadAnswerError(
                f"post_filter named {_described(each)}, which is not the UID of a running pod"
            )
    return tuple(dict.fromkeys(map(str, named)))


def _scores(policy: Policy, view: View) -> dict[int, float]:
    if not writes(policy, "pre_score"):
        return dict.fromkeys(view.free, 0)
    cpus = view.topology.cpus
    return {
        cpu: _number(policy.pre_score(view.container, cpus[cpu], view), "pre_score", cpu)
        for cpu in view.free
        if cpu in cpus
    }


def _named(policy: Policy, scores: dict[int, float], view: View, *, any_cpus: bool) -> Iterable[CPUSet]:
    for place, each in enumerate(_listed(policy.select(dict(scores), view), "select", MOST_SETS)):
        cpus = each if isinstance(each, CPUSet) else _cpus(each)
        if any_cpus:
            yield cpus
            continue
        if beyond := CPUSet(cpus.mask & ~view.free.mask):
            raise BadAnswerError(
                f"select returned CPUs that are not available: {beyond} in its set {place + 1}"
            )
        if len(cpus) != view.need:
            raise BadAnswerError(f"select returned a set of {len(cpus)} CPUs ({cpus}), expected {view.need}")
        yield cpus


def _cpus(found: object) -> CPUSet:
    numbers = _listed(found, "select", MAX_CPU + 1)
    for each in numbers:
        if not isinstance(each, int) or isinstance(each, bool) or not 0 <= each <= MAX_CPU:
            raise BadAnswerError(f"select returned a set with {_described(each)}, which is not a CPU")
    return CPUSet.of(each for each in numbers if isinstance(each, int))


def _listed(found: object, step: str, most: int) -> list[object]:
    if isinstance(found, str | bytes) or not isinstance(found, Iterable):
        raise BadAnswerError(f"{step} returned {_described(found)}, which is not a list")
    listed: list[object] = []
    for each in found:
        listed.append(each)
        if len(listed) > most:
            raise BadAnswerError(f"{step} returned more than {most}")
    return listed


def _number(found: object, step: str, of: object) -> float:
    if not isinstance(found, int | float) or isinstance(found, bool) or not isfinite(found):
        raise BadAnswerError(f"{step} returned {_described(found)} for {of}, expected a number")
    return found


def _described(found: object) -> str:
    text = repr(found)
    return f"{text if len(text) < 60 else text[:57] + '...'} ({type(found).__name__})"
