"""Which containers qualify for exclusive CPUs, and why the others do not."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from cpuctl.engine.cpu.exclusive_claim import exclusive_claim
from cpuctl.engine.placement import ExclusiveClaim
from cpuctl.pods.model import Container, StoredPod
from cpuctl.pods.qos import pod_qos
from tests.support.pods import app, pod, resources


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    pod: StoredPod
    count: int
    why_not: str = ""


def both(cpu: str) -> tuple[str, str]:
    """Return equal requests and limits."""
    amounts = f"cpu={cpu} memory=1Gi"
    return amounts, amounts


NOT_ALIGNED = "the pod sets spec.resources: the CPU Manager assigns no exclusive CPUs to its containers"
CASES = [
    Case("a whole number of CPUs", pod(app(*both("3"))), 3),
    Case("written in milli", pod(app(*both("2000m"))), 2),
    Case("a fraction", pod(app(*both("1500m"))), 0, "its cpu request 1500m is not a whole number of CPUs"),
    Case(
        "no memory limit",
        pod(app("cpu=2", "cpu=2")),
        0,
        "the pod is Burstable, not Guaranteed: container main has no memory limit",
    ),
    Case(
        "nothing at all",
        pod(app()),
        0,
        "the pod is BestEffort, not Guaranteed: no container requests or limits cpu or memory",
    ),
    Case(
        "pod-level resources",
        pod(app(*both("2")), pod_level=resources(*both("4"))),
        0,
        NOT_ALIGNED,
    ),
    Case("pod-level only", pod(app(), pod_level=resources(*both("4"))), 0, NOT_ALIGNED),
    Case(
        "beyond 64 bits",
        pod(app(*both("100E"))),
        0,
        "its cpu request 100E exceeds 64 bits, and the kubelet reads 0",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_claim(case: Case) -> None:
    claim = exclusive_claim(case.pod, case.pod.containers[0], pod_qos(case.pod))
    assert claim == ExclusiveClaim(case.count, case.why_not)


DIVIDED = pod(
    app(*both("2"), name="own"), app("cpu=2 memory=1Gi", "cpu=3 memory=1Gi", name="shared"),
    pod_level=resources(*both("6")),
)  # fmt: skip


@pytest.mark.parametrize(
    ("container", "want"),
    [
        (DIVIDED.containers[0], ExclusiveClaim(2)),
        (
            DIVIDED.containers[1],
            ExclusiveClaim(0, "its own requests of cpu and memory do not equal its limits"),
        ),
    ],
    ids=lambda value: value.name if isinstance(value, Container) else "",
)
def test_in_a_divided_pod_a_container_claims_what_it_is_guaranteed(
    container: Container, want: ExclusiveClaim
) -> None:
    assert exclusive_claim(DIVIDED, container, pod_qos(DIVIDED), pod_level_managers=True) == want


WHOLE = (
    "the pod's cpu request 2500m (spec.resources) is not a whole number of CPUs, and scope pod allocates it "
    "as a whole or not at all (KEP-5526)"
)


@pytest.mark.parametrize(
    ("scope", "total", "want"),
    [
        ("container", "2500m", ExclusiveClaim(2)),
        ("none", "2500m", ExclusiveClaim(2)),
        ("pod", "2500m", ExclusiveClaim(0, WHOLE)),
        ("pod", "3", ExclusiveClaim(2)),
        (
            "pod",
            "100E",
            ExclusiveClaim(0, "the pod's cpu request 100E exceeds 64 bits, and the kubelet reads 0"),
        ),
    ],
)
def test_scope_pod_divides_whole_cpus_only(scope: str, total: str, want: ExclusiveClaim) -> None:
    divided = pod(app(*both("2")), pod_level=resources(*both(total)))
    claim = exclusive_claim(
        divided, divided.containers[0], pod_qos(divided), pod_level_managers=True, scope=scope
    )
    assert claim == want
