"""Trying other requests of a pod on the node that it finds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from cpuctl.engine.explain.decision import Decision
from cpuctl.engine.explain.searches.changes import Amount, RequestChange
from cpuctl.engine.explain.searches.request_choices import Choice
from cpuctl.engine.explain.story import Runs, Telling
from cpuctl.engine.outcome import Admitted
from cpuctl.quantity import Quantity

_NOTHING = Quantity()


class Asker(NamedTuple):
    """Who asks for something: a container, or the pod itself where the name is empty."""

    name: str
    requests: Mapping[str, Quantity]


def askers_to_change(telling: Telling, decision: Decision, resource: str) -> list[Asker]:
    """Name whose request of a resource decides: the refused container's, or else the largest.

    Where the pod's own resources are divided among its containers, it is the pod's, too.
    """
    pod = telling.story.pod
    containers = [Asker(each.name, each.resources.requests) for each in pod.all_containers]
    asking = [each for each in containers if each.requests.get(resource, _NOTHING).sign > 0]
    named = [each for each in asking if each.name == decision.container]
    if pod.resources is not None and telling.before.cpu.rules.divides(pod):
        own = Asker("", pod.resources.requests)
        return [*named, own] if own.requests.get(resource, _NOTHING).sign > 0 else named
    return [max(named or asking, key=lambda each: each.requests[resource])] if asking else []


def first_admitted(telling: Telling, choices: Iterable[Choice], runs: Runs) -> Iterator[RequestChange]:
    """Try other requests, and yield the first with which the pod is admitted in the same QoS class."""
    pod = telling.story.pod
    requests = {each.name: each.resources.requests for each in pod.all_containers}
    if pod.resources is not None:
        requests[""] = pod.resources.requests
    for choice in choices:
        if not runs.allow():
            return
        amounts = (
            Amount(name, resource, requests[name].get(resource, _NOTHING), after)
            for (name, resource), after in choice.items()
        )
        change = RequestChange(tuple(each for each in amounts if each.differs))
        admission = runs.admit(telling.before.copy(), change.asked_by(pod))
        same_class = admission.qos.qos_class is telling.admission.qos.qos_class
        if change.amounts and same_class and isinstance(admission.verdict, Admitted):
            yield change
            return
