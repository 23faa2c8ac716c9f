from __future__ import annotations

from dataclasses import dataclass

import pytest

from cpuctl.pods.model import Pod, QosClass
from cpuctl.pods.qos import pod_qos
from tests.support.pods import app, init, manifest, resources, sidecar

FULL = "cpu=2 memory=1Gi"


@dataclass(frozen=True)
class Verdict:
    """A pod, its class and the reason."""

    name: str
    pod: Pod
    want: QosClass
    reason: str


VERDICTS = [
    Verdict(
        "equal requests and limits",
        manifest(app(FULL, FULL), init(FULL, FULL)),
        QosClass.GUARANTEED,
        "every container has cpu and memory requests equal to its limits",
    ),
    Verdict(
        "different notations of one amount",
        manifest(app("cpu=2000m memory=1024Mi", FULL)),
        QosClass.GUARANTEED,
        "every container has cpu and memory requests equal to its limits",
    ),
    Verdict(
        "equal in sum only",
        manifest(app("cpu=1 memory=1Gi", FULL, name="a"), app("cpu=3 memory=1Gi", FULL, name="b")),
        QosClass.GUARANTEED,
        "every container has cpu and memory requests equal to its limits",
    ),
    Verdict(
        "nothing", manifest(app()), QosClass.BEST_EFFORT, "no container requests or limits cpu or memory"
    ),
    Verdict(
        "only other resources and zeros",
        manifest(app("nvidia.com/gpu=1 cpu=0", "memory=0")),
        QosClass.BEST_EFFORT,
        "no container requests or limits cpu or memory",
    ),
    Verdict(
        "limit above request",
        manifest(app("cpu=2 memory=1Gi", "cpu=3 memory=1Gi", name="web")),
        QosClass.BURSTABLE,
        "container web has cpu request 2 but limit 3",
    ),
    Verdict(
        "no memory limit",
        manifest(app(FULL, "cpu=2")),
        QosClass.BURSTABLE,
        "container main has no memory limit",
    ),
    Verdict(
        "limit without request",
        manifest(app("cpu=2", FULL)),
        QosClass.BURSTABLE,
        "container main has a memory limit of 1Gi but no request",
    ),
    Verdict(
        "sidecar without anything",
        manifest(sidecar(), app(FULL, FULL)),
        QosClass.BURSTABLE,
        "container sidecar has no cpu limit",
    ),
    Verdict(
        "the first container that falls short",
        manifest(app(FULL, FULL, name="a"), app(FULL, "cpu=2 memory=2Gi", name="b"), app(name="c")),
        QosClass.BURSTABLE,
        "container b has memory request 1Gi but limit 2Gi",
    ),
    Verdict(
        "pod level alone decides",
        manifest(app(), pod_level=resources(FULL, FULL)),
        QosClass.GUARANTEED,
        "spec.resources has cpu and memory requests equal to its limits",
    ),
    Verdict(
        "pod level without limits",
        manifest(app(FULL, FULL), pod_level=resources("cpu=2")),
        QosClass.BURSTABLE,
        "spec.resources has no cpu limit",
    ),
    Verdict(
        "pod level with one limit",
        manifest(app(FULL, FULL), pod_level=resources("cpu=2", "cpu=2")),
        QosClass.BURSTABLE,
        "spec.resources has no memory limit",
    ),
    Verdict(
        "empty pod level",
        manifest(app(FULL, FULL), pod_level=resources()),
        QosClass.BEST_EFFORT,
        "spec.resources is present, but sets neither cpu nor memory",
    ),
]


@pytest.mark.parametrize("case", VERDICTS, ids=lambda case: case.name)
def test_class_and_reason(case: Verdict) -> None:
    verdict = pod_qos(case.pod)
    assert (verdict.qos_class, verdict.reason) == (case.want, case.reason)


def test_status_is_believed() -> None:
    verdict = pod_qos(manifest(app(FULL, FULL))._replace(qos_class=QosClass.BURSTABLE))
    assert (verdict.qos_class, verdict.reason) == (QosClass.BURSTABLE, "from the pod's status")


def test_without_the_gate_containers_decide() -> None:
    assert (
        pod_qos(manifest(app(FULL, FULL), pod_level=resources()), pod_level=False).qos_class == "Guaranteed"
    )
