"""What would change the answer: changes are tried on the engine, and kept where it then admits the pod."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

from cpuctl.engine.explain.decision import Decision
from cpuctl.engine.explain.scenario import Replay, Runs, replay_scenario
from cpuctl.engine.explain.searches.changes import Change, ChangeKind, SettingChange
from cpuctl.engine.explain.searches.removals import earlier_positions, removals
from cpuctl.engine.explain.searches.requests import nearest_requests
from cpuctl.engine.explain.searches.settings import setting_candidates
from cpuctl.pods.model import StoredPod


class Suggestion(NamedTuple):
    """A change with which the pod gets what is asked for; by ``replayed``, the pods ``lost`` are out then."""

    change: Change
    replayed: Replay
    lost: tuple[StoredPod, ...]


class Search(NamedTuple):
    """One kind of change: what was found in how many runs of the engine.

    ``bound`` is the number of runs that it may take, ``complete`` whether they were enough for all but what
    is ``left_out``.
    """

    kind: ChangeKind
    found: tuple[Suggestion, ...]
    runs: int
    bound: int
    complete: bool
    left_out: str


class _Method(NamedTuple):
    """How to look for one kind of change: after ``most`` the search ends, and the ``best`` are kept."""

    changes: Callable[[Replay, Runs], Iterator[Change]]
    bound: int
    most: int = sys.maxsize
    best: int = sys.maxsize


def _settings(replay: Replay, _runs: Runs) -> Iterator[SettingChange]:
    kubelet = replay.scenario.kubelet
    return setting_candidates(kubelet.config, kubelet.version.minor)


def search(replay: Replay, decision: Decision, tick: Callable[[], None]) -> tuple[Search, ...]:
    """Look for changes of every kind; *tick* is told of every run of the engine."""
    methods = {
        ChangeKind.REQUEST: _Method(changes=_requests(decision), bound=2000),
        ChangeKind.SETTING: _Method(changes=_settings, bound=4000),
        ChangeKind.REMOVAL: _Method(changes=removals, bound=3000, most=5, best=3),
        ChangeKind.ORDER: _Method(changes=earlier_positions, bound=2000, most=3, best=1),
    }
    if replay.scenario.aligned:
        del methods[ChangeKind.REQUEST]  # a smaller pod is aligned in the end, and another pod
    return tuple(_search(replay, kind, method, tick) for kind, method in methods.items())


def _requests(decision: Decision) -> Callable[[Replay, Runs], Iterator[Change]]:
    return lambda replay, runs: nearest_requests(replay, decision, runs)


def _search(replay: Replay, kind: ChangeKind, method: _Method, tick: Callable[[], None]) -> Search:
    runs = Runs(bound=method.bound, tick=tick)
    found: list[Suggestion] = []
    for change in method.changes(replay, runs):
        if suggestion := _verified(replay, change, runs):
            found.append(suggestion)
        if len(found) == method.most or runs.cut:
            break
    found.sort(key=lambda suggestion: len(suggestion.lost))
    return Search(
        kind=kind,
        found=tuple(found[: method.best]),
        runs=runs.made,
        bound=method.bound,
        complete=not runs.cut,
        left_out=runs.left_out,
    )


def _verified(replay: Replay, change: Change, runs: Runs) -> Suggestion | None:
    """Tell the whole scenario again with the change; None where that is not what is asked for."""
    scenario = replay.scenario
    if not runs.allow(len(scenario.pods)):
        return None
    replayed = replay_scenario(change.applied(scenario), runs, remembered=1)
    if not isinstance(replayed, Replay) or not scenario.is_met_by(replayed.admission):
        return None
    gone = replay.admitted - replayed.admitted - replayed.scenario.removed
    lost = tuple(each.pod for each in replay.admissions if each.pod.uid in gone)
    return Suggestion(change=change, replayed=replayed, lost=lost)
