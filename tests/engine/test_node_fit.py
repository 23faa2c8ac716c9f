"""Whether pods fit on a node: what is counted, the order of reported shortages, and what is remembered."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from cpuctl.engine.node_fit import Allocatable, Usage, check_fit, fit_verdict
from cpuctl.engine.outcome import Rejected, Undetermined
from cpuctl.pods.model import StoredPod
from tests.support.pods import amounts, app, init, pod, resources, sidecar

GIB = 1 << 30
NODE = {"cpu": 8000, "memory": 16 * GIB, "ephemeral-storage": 100 * GIB, "hugepages-2Mi": GIB}


def named(name: str, given: StoredPod) -> StoredPod:
    return given._replace(name=name, uid=name)


def short(given: StoredPod, *running: StoredPod, pods: int = 110, without: str = "") -> str:
    """Return the reason of the shortage, empty if the pod fits; the amount of *without* is unknown."""
    space = Allocatable(amounts={name: size for name, size in NODE.items() if name != without}, pods=pods)
    others = [named(f"other-{number}", other) for number, other in enumerate(running)]
    found = check_fit(named("new", given), others, space, pod_level=True)
    return str(found.reason) if found else ""


@dataclass(frozen=True)
class Case:
    name: str
    pod: StoredPod
    want: str
    running: tuple[StoredPod, ...] = ()


CASES = [
    Case("a pod that requests nothing", pod(app()), ""),
    Case("everything available", pod(app("cpu=8 memory=16Gi ephemeral-storage=100Gi")), ""),
    Case("a thousandth of a CPU too much", pod(app("cpu=8001m")), "OutOfcpu"),
    Case("less than a thousandth counts as one", pod(app("cpu=8000.1m")), "OutOfcpu"),
    Case("a byte too much", pod(app("memory=17179869185")), "OutOfmemory"),
    Case("storage", pod(app("ephemeral-storage=101Gi")), "OutOfephemeral-storage"),
    Case("huge pages", pod(app("hugepages-2Mi=2Gi memory=1Gi")), "OutOfhugepages-2Mi"),
    Case(
        "huge pages that the node does not have",
        pod(app("hugepages-1Gi=1Gi memory=1Gi")),
        "OutOfhugepages-1Gi",
    ),
    Case("zero huge pages", pod(app("hugepages-1Gi=0 memory=1Gi")), ""),
    Case("of all, CPU first", pod(app("cpu=9 memory=17Gi ephemeral-storage=101Gi")), "OutOfcpu"),
    Case("memory second", pod(app("memory=17Gi ephemeral-storage=101Gi hugepages-2Mi=2Gi")), "OutOfmemory"),
    Case("then storage", pod(app("ephemeral-storage=101Gi hugepages-2Mi=2Gi")), "OutOfephemeral-storage"),
    Case("overhead counts", pod(app("cpu=8"), overhead="cpu=1m"), "OutOfcpu"),
    Case("overhead alone counts", pod(app(), overhead="memory=17Gi"), "OutOfmemory"),
    Case("an init container runs alone", pod(init("cpu=8"), app("cpu=8")), ""),
    Case("a sidecar does not", pod(sidecar("cpu=1"), app("cpu=8")), "OutOfcpu"),
    Case(
        "an init container next to the sidecars before it", pod(sidecar("cpu=1"), init("cpu=8")), "OutOfcpu"
    ),
    Case("but not those after it", pod(init("cpu=8"), sidecar("cpu=1")), ""),
    Case("pod-level resources replace the sum", pod(app("cpu=9"), pod_level=resources("cpu=1", "cpu=1")), ""),
    Case("next to others", pod(app("cpu=5")), "OutOfcpu", (pod(app("cpu=2")), pod(app("cpu=1500m")))),
    Case("others have more than available", pod(app("cpu=1m")), "OutOfcpu", (pod(app("cpu=9")),)),
    Case(
        "a resource that is not requested may be exhausted", pod(app("memory=1Gi")), "", (pod(app("cpu=9")),)
    ),
    Case("others' overhead", pod(app("cpu=8")), "OutOfcpu", (pod(app(), overhead="cpu=1"),)),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_fit(case: Case) -> None:
    assert short(case.pod, *case.running) == case.want


def test_the_number_of_pods_is_checked_first() -> None:
    assert short(pod(app("cpu=9")), pod(app()), pods=1) == "OutOfpods"
    assert short(pod(app()), pods=0) == "OutOfpods"


def test_a_pod_is_not_counted_twice() -> None:
    space = Allocatable(amounts={"cpu": 1000}, pods=1)
    given = named("same", pod(app("cpu=1")))
    assert check_fit(given, [given], space, pod_level=True) is None


def test_unknown_storage_is_not_checked() -> None:
    assert short(pod(app("ephemeral-storage=101Gi")), without="ephemeral-storage") == ""


def test_remembered_requests_are_only_used_for_the_same_pod() -> None:
    """A resized or recreated pod has the same UID, and the gate for pod-level resources changes the sum."""
    space = Allocatable(amounts={"cpu": 4000}, pods=9)
    new, old = named("new", pod(app("cpu=2"))), named("old", pod(app("cpu=2")))
    assert check_fit(new, [old], space, pod_level=True) is None
    larger = old._replace(containers=(app("cpu=3"),))
    assert check_fit(new, [larger], space, pod_level=True) is not None
    assert check_fit(new, [old], space, pod_level=True) is None
    leveled = old._replace(resources=resources("cpu=4", "cpu=4"))
    assert check_fit(new, [leveled], space, pod_level=True) is not None
    assert check_fit(new, [leveled], space, pod_level=False) is None


def test_other_amounts_keep_the_remembered_requests() -> None:
    space = Allocatable(amounts={"cpu": 4000}, pods=9)
    check_fit(named("new", pod(app("cpu=2"))), [], space, pod_level=True)
    assert space.with_amounts({"example.com/gpu": 1}).requests is space.requests


def test_the_usage_of_others_may_be_given() -> None:
    space, new = Allocatable(amounts={"cpu": 4000}, pods=2), named("new", pod(app("cpu=2")))
    assert check_fit(new, Usage(pods=1, amounts={"cpu": 2000}), space, pod_level=True) is None
    short = check_fit(new, Usage(pods=1, amounts={"cpu": 2001}), space, pod_level=True)
    assert short is not None
    assert short.details == {"requested": 2000, "used": 2001, "capacity": 4000}
    full = check_fit(new, Usage(pods=2, amounts={}), space, pod_level=True)
    assert full is not None
    assert full.reason == "OutOfpods"


@pytest.mark.parametrize(
    "critical",
    [pod(app("cpu=2"))._replace(static=True), pod(app("cpu=2"))._replace(priority=2_000_000_000)],
    ids=["static", "by its priority"],
)
def test_a_critical_pod_may_evict_others(critical: StoredPod) -> None:
    space = Allocatable(amounts={"cpu": 3000}, pods=9)
    other = named("other", pod(app("cpu=2")))
    assert fit_verdict(critical, [], space, pod_level=True) is None
    verdict = fit_verdict(critical, [other], space, pod_level=True)
    assert isinstance(verdict, Undetermined)
    assert verdict.why == (
        "it does not fit (Node didn't have enough resource: cpu, requested: 2000, used: 2000, "
        "capacity: 3000), and it is critical: the kubelet evicts other pods for it, or rejects it if "
        "it finds none"
    )
    ordinary = critical._replace(static=False, priority=1_999_999_999)
    assert isinstance(fit_verdict(ordinary, [other], space, pod_level=True), Rejected)


def test_amounts_are_whole_numbers_of_their_unit() -> None:
    found = check_fit(
        pod(app("cpu=1500m memory=1.5Gi")), [], Allocatable(amounts={"cpu": 1}, pods=9), pod_level=True
    )
    assert found is not None
    assert found.details == {"requested": 1500, "used": 0, "capacity": 1}
    assert amounts("memory=1.5Gi")["memory"].value == 3 * GIB // 2


def test_huge_pages_that_the_node_does_not_have_count_as_zero() -> None:
    found = check_fit(
        pod(app("hugepages-2Mi=2Mi")), [], Allocatable(amounts={"cpu": 1}, pods=9), pod_level=True
    )
    assert found is not None
    assert found.details == {"requested": 2 << 20, "used": 0, "capacity": 0}
