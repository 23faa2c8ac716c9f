"""The change that gives a container exclusive CPUs does so on its node, and no smaller edit does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import combinations, product
from typing import NamedTuple

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from cpuctl.engine.cpu.exclusive_advice import AdviceRules, AllocationUnit, ExclusiveAdvice, SpecEdit, advise
from cpuctl.engine.cpu.exclusive_claim import exclusive_claim
from cpuctl.pods.model import Container, Pod, ResourceRequirements
from cpuctl.pods.qos import pod_qos
from cpuctl.pods.rules import PodRules
from cpuctl.pods.stored import provenance, stored_pod
from cpuctl.pods.validation.refusals import invalid_parts
from cpuctl.quantity import Quantity
from cpuctl.records import replace

RULES = PodRules()
AMOUNTS: Mapping[str, tuple[str, ...]] = {
    "cpu": ("", "0", "500m", "1", "1500m", "2", "3"),
    "memory": ("", "1Gi", "2Gi"),
}
EDITS: Mapping[str, tuple[str, ...]] = {"cpu": ("", "1", "2"), "memory": ("", "1Gi", "2Gi")}
"""What an amount can be set to; empty removes it."""
SIDES = ("requests", "limits")
MOST_TRIED = 2
"""Changes at a time: of more there are too many to try."""

FEW = settings(suppress_health_check=[HealthCheck.filter_too_much])
"""The API server rejects most pods, or they already have exclusive CPUs."""

UNITS = st.sampled_from([1, 2])
"""How many CPUs the node allocates together."""

Place = tuple[int, str, str]
"""The container (-1 is the pod itself), the side and the resource."""
WHOLE = -1


def requirements(requests: Mapping[str, str], limits: Mapping[str, str]) -> ResourceRequirements:
    requested, most = (
        {name: Quantity.parse(text) for name, text in side.items() if text} for side in (requests, limits)
    )
    return ResourceRequirements(requests=requested, limits=most)


SIDE = st.fixed_dictionaries({name: st.sampled_from(texts) for name, texts in AMOUNTS.items()})
ANY = st.builds(requirements, SIDE, SIDE)
GUARANTEED = SIDE.map(lambda side: requirements(side, side))
CONTAINERS = st.lists(st.one_of(ANY, GUARANTEED), min_size=1, max_size=2)


def pod_of(containers: list[ResourceRequirements], whole: ResourceRequirements | None) -> Pod:
    named = (Container(name=f"c{number}", resources=each) for number, each in enumerate(containers))
    return Pod(name="pod", containers=tuple(named), resources=whole)


PODS = st.builds(pod_of, CONTAINERS, st.none())
WHOLE_PODS = st.builds(pod_of, CONTAINERS, st.one_of(ANY, GUARANTEED))
GUARANTEED_PODS = st.builds(pod_of, CONTAINERS, GUARANTEED)


def edited(resources: ResourceRequirements, edits: Mapping[tuple[str, str], str]) -> ResourceRequirements:
    sides: dict[str, dict[str, Quantity]] = {
        "requests": dict(resources.requests),
        "limits": dict(resources.limits),
    }
    for (side, name), text in edits.items():
        sides[side].pop(name, None)
        if text:
            sides[side][name] = Quantity.parse(text)
    return ResourceRequirements(requests=sides["requests"], limits=sides["limits"])


def with_edits(pod: Pod, edits: Mapping[Place, str]) -> Pod:
    def of(number: int, resources: ResourceRequirements) -> ResourceRequirements:
        own = {(side, name): text for (place, side, name), text in edits.items() if place == number}
        return edited(resources, own)

    containers = tuple(
        replace(each, resources=of(number, each.resources)) for number, each in enumerate(pod.containers)
    )
    whole = None if pod.resources is None else of(WHOLE, pod.resources)
    return pod._replace(containers=containers, resources=whole)


def smaller(pod: Pod, most: int) -> Iterator[Pod]:
    """Yield the pod after every change of at most this many amounts; removing spec.resources is one."""
    numbers = [*range(len(pod.containers)), *(() if pod.resources is None else (WHOLE,))]
    places: list[Place] = [(number, side, name) for number in numbers for side in SIDES for name in EDITS]
    for count in range(1, most + 1):
        for chosen in combinations(places, count):
            for texts in product(*(EDITS[name] for _, _, name in chosen)):
                yield with_edits(pod, dict(zip(chosen, texts, strict=True)))
    if pod.resources is not None and most:
        without = pod._replace(resources=None)
        yield without
        yield from smaller(without, most - 1)


class Node(NamedTuple):
    """How many CPUs a node allocates together, and whether its managers divide pods, in which scope."""

    unit: int = 1
    managers: bool = False
    scope: str = "container"

    @property
    def rules(self) -> AdviceRules:
        claims = partial(exclusive_claim, pod_level_managers=self.managers, scope=self.scope)
        by_pod = self.managers and self.scope == "pod"
        return AdviceRules(claims, AllocationUnit(self.unit, by_pod=by_pod), RULES.server)

    def due(self, pod: Pod) -> int:
        """Count the CPUs that the first container is due, once an API server has stored the pod.

        It is 0 if the API server rejects the pod, or the node cannot allocate it in whole units: the pod as a
        whole, if its managers divide it in scope pod, else every container.
        """
        stored = stored_pod(pod, RULES)
        if invalid_parts(stored, RULES.server):
            return 0
        qos = pod_qos(stored)
        counts = [self.rules.claims(stored, each, qos).cpus for each in stored.containers]
        if counts[0] and stored.resources is not None and self.rules.unit.by_pod:
            allocated = [stored.resources.requests["cpu"].value]
        else:
            allocated = counts
        return 0 if any(each % self.unit for each in allocated) else counts[0]


def advised(pod: Pod, node: Node) -> ExclusiveAdvice:
    stored = provenance(pod, RULES)
    assume(not invalid_parts(stored.pod, RULES.server))
    advice = advise(stored.pod, stored.pod.containers[0], sources=stored.sources, rules=node.rules)
    assume(not advice.claim.cpus)
    return advice


def with_advice(pod: Pod, changes: tuple[SpecEdit, ...]) -> Pod:
    """Return the manifest after the changes, as a user writes them."""
    numbers = {each.name: number for number, each in enumerate(pod.containers)} | {"": WHOLE}
    edits: dict[Place, str] = {}
    for change in changes:
        if change.after is None:
            pod = pod._replace(resources=None)
        else:
            place = change.place
            edits[numbers[place.container], place.side, place.resource] = str(change.after)
    return with_edits(pod, edits)


def takes_nothing(before: Pod, after: Pod) -> bool:
    """Whether all containers request what they did, and those with limits equal to that still have them."""

    def kept(one: ResourceRequirements, other: ResourceRequirements) -> bool:
        grown = all(
            name in other.requests and other.requests[name] >= one.requests[name] for name in one.requests
        )
        return grown and (one.requests != one.limits or other.requests == other.limits)

    pairs = zip(stored_pod(before, RULES).containers, stored_pod(after, RULES).containers, strict=True)
    return all(kept(one.resources, other.resources) for one, other in pairs)


def check(pod: Pod, node: Node) -> None:
    advice = advised(pod, node)
    most = min(len(advice.changes) - 1, MOST_TRIED) if advice.changes else 1
    for each in smaller(pod, most):
        assert not (node.due(each) and takes_nothing(pod, each)), (advice.changes, each)


@settings(FEW, max_examples=30)
@given(PODS, UNITS)
def test_no_smaller_change_of_a_pod_helps(pod: Pod, unit: int) -> None:
    check(pod, Node(unit))


@settings(FEW, max_examples=15)
@given(WHOLE_PODS, UNITS)
def test_no_smaller_change_of_a_pod_with_pod_level_resources_helps(pod: Pod, unit: int) -> None:
    check(pod, Node(unit))


@settings(FEW, max_examples=15)
@given(GUARANTEED_PODS, UNITS, st.sampled_from(["container", "pod"]))
def test_no_smaller_change_helps_if_managers_divide_the_pod(pod: Pod, unit: int, scope: str) -> None:
    """KEP-5526: pod-level resources decide the QoS class, and missing ones are derived from containers."""
    check(pod, Node(unit, True, scope))


NODES = st.builds(Node, st.sampled_from([1, 2, 4]), st.booleans(), st.sampled_from(["container", "pod"]))


@settings(FEW)
@given(st.one_of(PODS, WHOLE_PODS, GUARANTEED_PODS), NODES)
def test_a_pod_changed_as_advised_is_accepted_and_gets_its_cpus(pod: Pod, node: Node) -> None:
    """A change can make other containers exclusive, too, or exceed what the pod has as a whole."""
    advice = advised(pod, node)
    assume(advice.changes)
    assert node.due(with_advice(pod, advice.changes)) == advice.count_after > 0
