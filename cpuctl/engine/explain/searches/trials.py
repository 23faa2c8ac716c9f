"""Trials of changed requests on the node that the pod found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

from cpuctl.engine.explain.scenario import Replay, SearchBudget
from cpuctl.engine.explain.searches.changes import Amount, RequestChange
from cpuctl.quantity import Format, Quantity

Choice = Mapping[tuple[str, str], Quantity]
"""The requests to try instead, by container (empty for the pod itself) and resource."""
_NOTHING = Quantity()
Found = TypeVar("Found")


def first_admitted(replay: Replay, choices: Iterable[Choice], runs: SearchBudget) -> Iterator[RequestChange]:
    """Try other requests, and yield the first with which the pod is admitted in the same QoS class."""
    pod = replay.scenario.pod
    requests = {each.name: each.resources.requests for each in pod.all_containers}
    if pod.resources is not None:
        requests[""] = pod.resources.requests
    for choice in choices:
        amounts = (
            Amount(name, resource, requests[name].get(resource, _NOTHING), after)
            for (name, resource), after in choice.items()
        )
        changed = tuple(each for each in amounts if each.differs)
        change = RequestChange(changed, template_of=replay.scenario.shared_template)
        runs.note({each.resource for each in changed})
        if is_admitted(replay, change, runs):
            yield change
            return
        if runs.cut:
            return


def largest_admitted(
    replay: Replay, choices: Iterable[Choice], runs: SearchBudget
) -> Iterator[RequestChange]:
    """Try requests that get smaller, all of them in turn, or by bisection if that is too many runs.

    Smaller is not always easier: a request for whole NUMA nodes may be admitted where less leaves gaps.
    """
    largest_first = [*choices]
    if runs.affords(len(largest_first) * pods_again(replay)):
        yield from first_admitted(replay, largest_first, runs)
        return

    def attempt(number: int) -> RequestChange | None:
        return next(first_admitted(replay, [largest_first[-number]], runs), None)

    if best := highest_admitted(attempt, 0, len(largest_first) + 1):
        yield best


def pods_again(replay: Replay) -> int:
    """Count the pods that a trial admits: the pod and, from the first of its template, those before it."""
    return replay.scenario.position - replay.resumed_at + 1


def is_admitted(replay: Replay, change: RequestChange, runs: SearchBudget) -> bool:
    """Return whether a pod with changed requests is admitted in the same QoS class, within the bound.

    No pod before it may get CPUs that are reserved or another pod's, unless it already does.
    """
    if not runs.allow(pods_again(replay)):
        return False
    scenario, first = replay.scenario, replay.resumed_at
    node = replay.nodes_before[first - scenario.position - 1].copy()
    for at in range(first, scenario.position):
        pod = scenario.pods[at]
        earlier = runs.admit(node, change.changed_pod(pod) if at in scenario.replicas else pod)
        if earlier.taken_from_others and not replay.admissions[at].taken_from_others:
            runs.shared = True
            return False
    admission = runs.admit(node, change.changed_pod(scenario.pod))
    same_class = admission.qos.qos_class is replay.admission.qos.qos_class
    return bool(change.amounts) and same_class and runs.reaches(replay.scenario, admission)


def highest_admitted(attempt: Callable[[int], Found | None], fits: int, most: int) -> Found | None:
    """Bisect the numbers above *fits* and below *most*, and return what *attempt* finds for the highest.

    It returns None for numbers with which the pod is not admitted.
    """
    best: Found | None = None
    while most - fits > 1:
        middle = (fits + most) // 2
        found = attempt(middle)
        best, fits, most = (best, fits, middle) if found is None else (found, middle, most)
    return best


def in_bytes(amount: int) -> Quantity:
    """Return a number of bytes as a quantity."""
    return Quantity.from_value(amount, Format.BINARY_SI)
