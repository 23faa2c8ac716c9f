"""The change that gives a container exclusive CPUs is minimal: no smaller edit does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import combinations, product

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from cpuctl.engine.cpu.exclusive_advice import AllocationUnit, advise
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
    "cpu": ("", "0", "500m", "1", "1500m", "2"),
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


def due(pod: Pod, unit: int, *, managers: bool, scope: str) -> int:
    """Count the CPUs that the first container is due, once an API server has stored the pod.

    The node can allocate them, or those of a pod that they are a part of, in whole units.
    """
    stored = stored_pod(pod, RULES)
    claims = partial(exclusive_claim, pod_level_managers=managers, scope=scope)
    count = claims(stored, stored.containers[0], pod_qos(stored)).cpus
    divided = managers and scope == "pod" and stored.resources is not None
    allocated = stored.resources.requests["cpu"].value if divided and stored.resources and count else count
    return count if allocated % unit == 0 and not invalid_parts(stored, RULES.server) else 0


def check(pod: Pod, unit: int, *, managers: bool = False, scope: str = "container") -> None:
    stored = provenance(pod, RULES)
    assume(not invalid_parts(stored.pod, RULES.server))
    claims = partial(exclusive_claim, pod_level_managers=managers, scope=scope)
    qos = pod_qos(stored.pod)
    container = stored.pod.containers[0]
    together = AllocationUnit(unit, by_pod=managers and scope == "pod")
    advice = advise(stored.pod, container, qos=qos, claims=claims, sources=stored.sources, unit=together)
    assume(not advice.claim.cpus)
    most = min(len(advice.changes) - 1, MOST_TRIED) if advice.changes else 1
    for each in smaller(pod, most):
        assert not due(each, unit, managers=managers, scope=scope), (advice.changes, each)


@settings(FEW, max_examples=30)
@given(PODS, UNITS)
def test_no_smaller_change_of_a_pod_helps(pod: Pod, unit: int) -> None:
    check(pod, unit)


@settings(FEW, max_examples=15)
@given(WHOLE_PODS, UNITS)
def test_no_smaller_change_of_a_pod_with_pod_level_resources_helps(pod: Pod, unit: int) -> None:
    check(pod, unit)


@settings(FEW, max_examples=15)
@given(GUARANTEED_PODS, UNITS, st.sampled_from(["container", "pod"]))
def test_no_smaller_change_helps_if_managers_divide_the_pod(pod: Pod, unit: int, scope: str) -> None:
    """KEP-5526: pod-level resources decide the QoS class, and missing ones are derived from containers."""
    check(pod, unit, managers=True, scope=scope)
