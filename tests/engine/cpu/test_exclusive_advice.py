from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import pytest

from cpuctl.engine.cpu.exclusive_advice import (
    MOST_CONTAINERS,
    AdviceRules,
    AllocationUnit,
    SpecEdit,
    advise,
)
from cpuctl.engine.cpu.exclusive_claim import exclusive_claim
from cpuctl.pods.model import Container, QosClass, StoredPod
from cpuctl.pods.rules import PodRules
from cpuctl.pods.stored import AmountField, provenance
from cpuctl.quantity import Quantity
from tests.support.pods import app, init, pod, resources, sidecar

FULL = ("cpu=2 memory=1Gi", "cpu=2 memory=1Gi")


def reported(change: SpecEdit) -> str:
    if change.after is None:
        return f"-{change.path}"
    return f"{change.path.removeprefix('spec.').replace('.resources', '')}={change.after}" + "?" * change.free


@dataclass(frozen=True)
class Case:
    """A pod, the changes that its last container needs, and how many CPUs it then gets."""

    name: str
    pod: StoredPod
    changes: list[str]
    count: int


MAIN = "containers[0]"
CASES = [
    Case(
        "a fraction",
        pod(app("cpu=1500m memory=1Gi", "cpu=1500m memory=1Gi")),
        [f"{MAIN}.requests.cpu=2", f"{MAIN}.limits.cpu=2"],
        2,
    ),
    Case(
        "request below a whole limit",
        pod(app("cpu=1500m memory=1Gi", "cpu=2 memory=1Gi")),
        [f"{MAIN}.requests.cpu=2"],
        2,
    ),
    Case(
        "whole request below a limit",
        pod(app("cpu=2 memory=1Gi", "cpu=2500m memory=1Gi")),
        [f"{MAIN}.limits.cpu=2"],
        2,
    ),
    Case(
        "two fractions",
        pod(app("cpu=1500m memory=1Gi", "cpu=2500m memory=1Gi")),
        [f"{MAIN}.requests.cpu=2", f"{MAIN}.limits.cpu=2"],
        2,
    ),
    Case(
        "request far below a whole limit",
        pod(app("cpu=500m memory=1Gi", "cpu=2 memory=1Gi")),
        [f"{MAIN}.requests.cpu=2"],
        2,
    ),
    Case(
        "a limit without request",
        pod(app("cpu=0 memory=1Gi", "cpu=1500m memory=1Gi")),
        [f"{MAIN}.requests.cpu=2", f"{MAIN}.limits.cpu=2"],
        2,
    ),
    Case("no memory limit", pod(app("cpu=2 memory=1Gi", "cpu=2")), [f"{MAIN}.limits.memory=1Gi"], 2),
    Case(
        "nothing at all",
        pod(app()),
        [
            f"{MAIN}.limits.cpu=1?",
            f"{MAIN}.limits.memory=64Mi?",
        ],
        1,
    ),
    Case(
        "another container",
        pod(app("cpu=100m", "", name="a"), app(*FULL, name="b")),
        [
            "containers[0].limits.cpu=100m",
            "containers[0].limits.memory=64Mi?",
        ],
        2,
    ),
    Case(
        "an init container",
        pod(init("cpu=1 memory=1Gi", "cpu=2 memory=1Gi"), app(*FULL)),
        ["initContainers[0].requests.cpu=2"],
        2,
    ),
    Case("pod-level amounts", pod(app(*FULL), pod_level=resources(*FULL)), ["-spec.resources"], 2),
    Case(
        "pod-level amounts alone",
        pod(app(), pod_level=resources(*FULL)),
        [
            "-spec.resources",
            f"{MAIN}.limits.cpu=1?",
            f"{MAIN}.limits.memory=64Mi?",
        ],
        1,
    ),
    Case(
        "pod-level amounts, and another container",
        pod(app(*FULL, name="a"), app(name="b"), app(*FULL, name="c"), pod_level=resources(*FULL)),
        [
            "-spec.resources",
            "containers[1].limits.cpu=100m?",
            "containers[1].limits.memory=64Mi?",
        ],
        2,
    ),
    Case(
        "others may have fractions",
        pod(
            app("cpu=100m memory=1Gi", "cpu=100m memory=1Gi", name="a"),
            app("cpu=1500m memory=1Gi", "cpu=1500m memory=1Gi", name="b"),
        ),
        ["containers[1].requests.cpu=2", "containers[1].limits.cpu=2"],
        2,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_smallest_change(case: Case) -> None:
    advice = advise(case.pod, case.pod.containers[-1])
    assert advice.claim.cpus == 0
    assert advice.claim.why_not
    assert [reported(change) for change in advice.changes] == case.changes
    assert advice.count_after == case.count


def test_a_change_reports_its_path_and_the_previous_value() -> None:
    fraction, whole, memory = Quantity.parse("1500m"), Quantity.parse("2"), Quantity.parse("1Gi")
    given = pod(app("cpu=1500m memory=1Gi", "cpu=2"), pod_level=resources(*FULL))
    resources_of_main = "spec.containers[0].resources"
    assert advise(given, given.containers[0]).changes == (
        ("spec.resources", AmountField("", "limits", ""), None, None, False),
        (f"{resources_of_main}.requests.cpu", AmountField("main", "requests", "cpu"), fraction, whole, False),
        (f"{resources_of_main}.limits.memory", AmountField("main", "limits", "memory"), None, memory, False),
    )


def test_a_container_that_gets_cpus_needs_no_advice() -> None:
    given = pod(app(*FULL), sidecar(*FULL))
    assert all(advise(given, each).claim.cpus == 2 for each in given.all_containers)
    assert all(advise(given, each).changes == () for each in given.all_containers)


def test_a_class_in_the_status_does_not_outlive_the_change() -> None:
    given = pod(app("cpu=2 memory=1Gi", "cpu=2"))._replace(qos_class=QosClass.BURSTABLE)
    assert advise(given, given.containers[0]).count_after == 2


def test_advice_that_does_not_help_is_not_given() -> None:
    from cpuctl.engine.placement import ExclusiveClaim

    given = pod(app())
    advice = advise(given, given.containers[0], rules=AdviceRules(lambda *_: ExclusiveClaim(0, "never")))
    assert (advice.claim.why_not, advice.changes, advice.count_after) == ("never", (), 0)


@pytest.mark.parametrize(("count", "advised"), [(MOST_CONTAINERS, True), (MOST_CONTAINERS + 1, False)])
def test_pods_with_too_many_containers_get_no_advice(count: int, advised: bool) -> None:
    given = pod(*(app(name=f"c{number}") for number in range(count)))
    advice = advise(given, given.containers[0])
    assert advice.claim.cpus == 0
    assert bool(advice.changes) == bool(advice.count_after) == advised


def test_a_pod_keeps_pod_level_resources_if_that_takes_fewer_changes() -> None:
    """With pod-level resource managers (KEP-5526), pod-level resources determine the QoS class."""
    claims = partial(exclusive_claim, pod_level_managers=True)
    given = pod(app("cpu=1500m memory=1Gi", "cpu=1500m memory=1Gi", "main"), app(name="other"))
    given = given._replace(resources=resources("cpu=4 memory=4Gi", "cpu=4 memory=4Gi"))
    advice = advise(given, given.containers[0], rules=AdviceRules(claims))
    assert [reported(change) for change in advice.changes] == [
        "containers[0].requests.cpu=2",
        "containers[0].limits.cpu=2",
    ]
    assert advice.count_after == 2


CORES = AllocationUnit(2)
IN_CORES = [
    (
        "a part of a CPU",
        app("cpu=100m memory=1Gi", "cpu=100m memory=1Gi"),
        ["requests.cpu=2", "limits.cpu=2"],
    ),
    ("a part of a core", app("cpu=3", "cpu=3"), ["requests.cpu=4", "limits.cpu=4"]),
    ("a higher limit in whole cores", app("cpu=3 memory=1Gi", "cpu=6 memory=1Gi"), ["requests.cpu=6"]),
    ("a request in whole cores", app("cpu=2 memory=1Gi", "cpu=3 memory=1Gi"), ["limits.cpu=2"]),
    ("nothing at all", app("", "memory=1Gi"), ["limits.cpu=2"]),
]


@pytest.mark.parametrize(
    ("container", "changes"), [each[1:] for each in IN_CORES], ids=[each[0] for each in IN_CORES]
)
def test_a_node_that_allocates_whole_cores_is_asked_for_whole_cores(
    container: Container, changes: list[str]
) -> None:
    """Not every number of CPUs would do, so none is marked as an example."""
    given = pod(container)
    advice = advise(given, given.containers[0], rules=AdviceRules(unit=CORES))
    found = [reported(change) for change in advice.changes if change.place.resource == "cpu"]
    assert found == [f"{MAIN}.{change}" for change in changes]
    assert advice.count_after == int(found[-1].partition("=")[2])


@pytest.mark.parametrize(
    ("by_pod", "changes"),
    [
        (False, [f"{MAIN}.requests.cpu=2", f"{MAIN}.limits.cpu=2"]),
        (
            True,
            [
                "resources.requests.cpu=4",
                "resources.limits.cpu=4",
                f"{MAIN}.requests.cpu=1",
                f"{MAIN}.limits.cpu=1",
            ],
        ),
    ],
    ids=["containers", "the pod"],
)
def test_whole_cores_are_for_what_the_node_allocates(by_pod: bool, changes: list[str]) -> None:
    """With scope pod, the pod gets whole cores, and its containers any part of them."""
    claims = partial(exclusive_claim, pod_level_managers=True, scope="pod" if by_pod else "container")
    given = pod(app("cpu=500m memory=1Gi", "cpu=500m memory=1Gi"), app(name="other"))
    given = given._replace(resources=resources("cpu=3 memory=4Gi", "cpu=3 memory=4Gi"))
    advice = advise(given, given.containers[0], rules=AdviceRules(claims, AllocationUnit(2, by_pod=by_pod)))
    assert [reported(change) for change in advice.changes] == changes


NODE_SCOPES = [(CORES, "container"), (AllocationUnit(2, by_pod=True), "pod")]
WHOLE_3 = resources("cpu=3 memory=1Gi", "cpu=3 memory=1Gi")
WHOLE_4 = resources("cpu=4 memory=1Gi", "cpu=4 memory=1Gi")
SMALL = "memory=64Mi"


def both(amounts: str, name: str) -> Container:
    return app(amounts, amounts, name=name)


TOGETHER = [
    Case(
        "another container would get a part of a core",
        pod(
            both(f"cpu=3 {SMALL}", "b"),
            app(f"cpu=100m {SMALL}", f"cpu=200m {SMALL}", name="a"),
        ),
        [f"containers[0].{side}.cpu=4" for side in ("requests", "limits")]
        + [f"containers[1].{side}.cpu=2" for side in ("requests", "limits")],
        2,
    ),
    Case(
        "another container can keep its fraction",
        pod(app(f"cpu=500m {SMALL}", f"cpu=3 {SMALL}", name="b"), both(f"cpu=2 {SMALL}", "a")),
        ["containers[0].limits.cpu=500m"],
        2,
    ),
    Case(
        "a sidecar gets whole cores as well",
        pod(sidecar(f"cpu=1 {SMALL}", f"cpu=1 {SMALL}"), app(f"cpu=2 {SMALL}", SMALL)),
        [f"initContainers[0].{side}.cpu=2" for side in ("requests", "limits")] + [f"{MAIN}.limits.cpu=2"],
        2,
    ),
]


@pytest.mark.parametrize("case", TOGETHER, ids=lambda case: case.name)
def test_all_containers_that_get_cpus_by_the_change_get_whole_cores(case: Case) -> None:
    """Otherwise the kubelet rejects the changed pod with SMTAlignmentError, because of another container."""
    advice = advise(case.pod, case.pod.containers[-1], rules=AdviceRules(unit=CORES))
    assert [reported(change) for change in advice.changes] == case.changes
    assert advice.count_after == case.count


def divided(by_pod: bool) -> AdviceRules:
    unit, scope = NODE_SCOPES[by_pod]
    return AdviceRules(partial(exclusive_claim, pod_level_managers=True, scope=scope), unit)


def test_a_pod_is_not_split_into_containers_that_get_parts_of_cores() -> None:
    """Without spec.resources, the first container would be due one CPU: the pod gets whole cores instead."""
    given = pod(both(f"cpu=1 {SMALL}", "a"), both(f"cpu=500m {SMALL}", "b"), pod_level=WHOLE_3)
    advice = advise(given, given.containers[1], rules=divided(by_pod=True))
    assert [reported(change) for change in advice.changes] == [
        "resources.requests.cpu=4",
        "resources.limits.cpu=4",
        "containers[1].requests.cpu=1",
        "containers[1].limits.cpu=1",
    ]


@pytest.mark.parametrize(("by_pod", "whole"), [(False, "4900m"), (True, None)], ids=["container", "pod"])
def test_a_pod_grows_with_its_containers(by_pod: bool, whole: str | None) -> None:
    """The API server rejects containers that request more than their pod."""
    given = pod(both(f"cpu=2500m {SMALL}", "a"), app("cpu=900m", name="b"), pod_level=WHOLE_4)
    advice = advise(given, given.containers[0], rules=divided(by_pod=by_pod))
    sides = ("requests", "limits")
    raised = [f"resources.{side}.cpu={whole}" for side in sides] if whole else []
    assert [reported(change) for change in advice.changes] == [
        *raised,
        *(f"{MAIN}.{side}.cpu={3 if by_pod else 4}" for side in sides),
    ]
    assert advice.count_after == (3 if by_pod else 4)


def test_a_pods_request_that_follows_from_its_containers_grows_with_them() -> None:
    """The written limit does not: the API server would reject a request above it."""
    whole = resources("", "cpu=4 memory=1Gi")
    containers = (both(f"cpu=3500m {SMALL}", "a"), app("cpu=500m", name="b"))
    written = provenance(pod(*containers, pod_level=whole), PodRules())
    advice = advise(
        written.pod, written.pod.containers[0], sources=written.sources, rules=divided(by_pod=False)
    )
    assert "resources.limits.cpu=4500m" in [reported(change) for change in advice.changes]
    assert advice.count_after == 4


def test_a_limit_is_lowered_if_its_pod_has_no_room_for_a_higher_request() -> None:
    given = pod(
        app("cpu=1 memory=1Gi", "cpu=1 memory=2Gi", name="a"),
        app("memory=1Gi", "memory=1Gi", name="b"),
        pod_level=resources("cpu=4 memory=2Gi", "cpu=4 memory=2Gi"),
    )
    advice = advise(given, given.containers[0], rules=AdviceRules(divided(by_pod=False).claims))
    assert [reported(change) for change in advice.changes] == [f"{MAIN}.limits.memory=1Gi"]
