"""Which other pods would have to go, one, or two where no single one is enough; or to come later."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations

from cpuctl.engine.explain.scenario import REMEMBERED, Replay, Runs
from cpuctl.engine.explain.searches.changes import Earlier, Removal
from cpuctl.engine.node import Node
from cpuctl.pods.model import StoredPod
from cpuctl.pods.requests import pod_requests
from cpuctl.quantity import Quantity

PAIRED = 40
"""Pods that are tried two at a time: of more, the ones that hold the most."""

_NOTHING = Quantity()


def removals(replay: Replay, runs: Runs) -> Iterator[Removal]:
    """Yield the pods without which the pod might be admitted, then pairs; those that hold least first.

    After pods that are enough alone, pairs are not looked at.
    """
    pods = sorted(_others(replay), key=lambda pod: _weight(replay.before, pod))
    alone = False
    for removal in _enough(replay, ((pod,) for pod in pods), runs):
        alone = True
        yield removal
    if alone:
        return
    if len(pods) > PAIRED:
        runs.left_out = f"pairs with pods that are not among the {PAIRED} largest"
    largest = pods[-PAIRED:]
    places = sorted(combinations(range(len(largest)), 2), key=sum)
    yield from _enough(replay, ((largest[one], largest[other]) for one, other in places), runs)


def _others(replay: Replay) -> list[StoredPod]:
    """List the pods that run when the pod comes; before a restart those of the scenario do."""
    scenario = replay.scenario
    running = scenario.pods if scenario.restarted else replay.before.active.values()
    return [pod for pod in running if pod.uid != scenario.pod.uid]


def _enough(replay: Replay, choices: Iterable[tuple[StoredPod, ...]], runs: Runs) -> Iterator[Removal]:
    for pods in choices:
        if replay.scenario.restarted:
            # What is gone before a restart changes the whole of it: only a full run can tell.
            yield Removal(pods)
        elif not runs.allow():
            return
        else:
            node = replay.before.copy()
            for pod in pods:
                node.remove(pod.uid)
            if replay.scenario.is_met_by(runs.admit(node, replay.scenario.pod)):
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


def earlier_positions(replay: Replay, runs: Runs) -> Iterator[Earlier]:
    """Yield the places at which the pod might be admitted, the one that overtakes the fewest pods first.

    After a restart there is nothing to choose: a kubelet takes the oldest pod first.
    """
    scenario = replay.scenario
    if scenario.restarted:
        return
    if len(replay.befores) <= scenario.asked:
        runs.left_out = f"places more than {REMEMBERED - 1} pods earlier"
    for back, node in enumerate(reversed(replay.befores[:-1]), 1):
        if not runs.allow():
            return
        if scenario.is_met_by(runs.admit(node.copy(), scenario.pod)):
            position = scenario.asked - back
            yield Earlier(position, scenario.pods[position : scenario.asked])
