"""Which other pods would have to go, one, or two where no single one is enough; or to come later."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations

from cpuctl.engine.explain.searches.changes import Earlier, Removal
from cpuctl.engine.explain.story import REMEMBERED, Runs, Telling
from cpuctl.engine.node import Node
from cpuctl.pods.model import StoredPod
from cpuctl.pods.requests import pod_requests
from cpuctl.quantity import Quantity

PAIRED = 40
"""Pods that are tried two at a time: of more, the ones that hold the most."""

_NOTHING = Quantity()


def removals(telling: Telling, runs: Runs) -> Iterator[Removal]:
    """Yield the pods without which the pod might be admitted, then pairs; those that hold least first.

    After pods that are enough alone, pairs are not looked at.
    """
    pods = sorted(_others(telling), key=lambda pod: _weight(telling.before, pod))
    alone = False
    for removal in _enough(telling, ((pod,) for pod in pods), runs):
        alone = True
        yield removal
    if alone:
        return
    if len(pods) > PAIRED:
        runs.left_out = f"pairs with pods that are not among the {PAIRED} largest"
    largest = pods[-PAIRED:]
    places = sorted(combinations(range(len(largest)), 2), key=sum)
    yield from _enough(telling, ((largest[one], largest[other]) for one, other in places), runs)


def _others(telling: Telling) -> list[StoredPod]:
    """List the pods that run when the pod comes; before a restart those of the story do."""
    story = telling.story
    running = story.pods if story.restarted else telling.before.active.values()
    return [pod for pod in running if pod.uid != story.pod.uid]


def _enough(telling: Telling, choices: Iterable[tuple[StoredPod, ...]], runs: Runs) -> Iterator[Removal]:
    for pods in choices:
        if telling.story.restarted:
            # What is gone before a restart changes the whole of it: only a full run can tell.
            yield Removal(pods)
        elif not runs.allow():
            return
        else:
            node = telling.before.copy()
            for pod in pods:
                node.remove(pod.uid)
            if telling.story.is_met_by(runs.admit(node, telling.story.pod)):
                yield Removal(pods)


def _weight(node: Node, pod: StoredPod) -> tuple[int, int, str]:
    """Sort pods by the CPUs that they hold or request, then by memory."""
    requests = pod_requests(pod)
    held = node.cpu.state.held_by(pod.uid).bit_count() * 1000
    return (
        max(held, requests.get("cpu", _NOTHING).milli_value),
        requests.get("memory", _NOTHING).value,
        pod.full_name,
    )


def earlier_places(telling: Telling, runs: Runs) -> Iterator[Earlier]:
    """Yield the places at which the pod might be admitted, the one that overtakes the fewest pods first.

    After a restart there is nothing to choose: a kubelet takes the oldest pod first.
    """
    story = telling.story
    if story.restarted:
        return
    if len(telling.befores) <= story.asked:
        runs.left_out = f"places more than {REMEMBERED - 1} pods earlier"
    for back, node in enumerate(reversed(telling.befores[:-1]), 1):
        if not runs.allow():
            return
        if story.is_met_by(runs.admit(node.copy(), story.pod)):
            place = story.asked - back
            yield Earlier(place, story.pods[place : story.asked])
