# ruff: noqa: E501, ISC004  # texts stand whole in one line, so that they can be searched for
"""Containers that look as if they would get exclusive CPUs, but do not."""

from __future__ import annotations

import pytest

from cpuctl.pods.model import QosClass
from tests.support.linted_pods import NONE, STATIC, UNKNOWN, Case, linted
from tests.support.pods import app, init, pod, sidecar

FULL = "cpu=2 memory=1Gi"
BURSTABLE = "requests and limits are 2 whole CPUs, but none become exclusive: the pod is Burstable, not Guaranteed, because "

CASES = [
    Case("exclusive CPUs", pod(app(FULL, FULL)), STATIC),
    Case("nothing requested", pod(app()), STATIC),
    Case("an ordinary burstable pod", pod(app("cpu=500m memory=64Mi", "memory=128Mi")), STATIC),
    Case("whole CPUs with a higher limit", pod(app("cpu=2 memory=1Gi", "cpu=4 memory=1Gi")), STATIC),
    Case(
        "memory is missing",
        pod(app("cpu=2", "cpu=2")),
        UNKNOWN,
        [
            f"warning no-exclusive-cpus spec.containers[0].resources: {BURSTABLE}container main has no memory limit"
            " | set memory of main to 64Mi, in requests and limits"
        ],
    ),
    Case(
        "memory is missing, and there is one CPU",
        pod(app("cpu=1", "cpu=1")),
        UNKNOWN,
        [
            "warning no-exclusive-cpus spec.containers[0].resources: requests and limits are 1 whole CPU, but it does"
            " not become exclusive: the pod is Burstable, not Guaranteed, because container main has no memory limit"
            " | set memory of main to 64Mi, in requests and limits"
        ],
    ),
    Case("memory is missing, without pinning", pod(app("cpu=2", "cpu=2")), NONE),
    Case(
        "a sidecar without limits",
        pod(app(FULL, FULL), sidecar("cpu=100m")),
        UNKNOWN,
        [
            f"warning no-exclusive-cpus spec.containers[0].resources: {BURSTABLE}container sidecar has no cpu limit"
            " | set cpu of sidecar to 100m, memory of sidecar to 64Mi, in requests and limits"
        ],
    ),
    Case(
        "more to change than is reported",
        pod(app(FULL, FULL), *(app(name=name) for name in "abc")),
        UNKNOWN,
        [
            f"warning no-exclusive-cpus spec.containers[0].resources: {BURSTABLE}container a has no cpu limit"
            " | set cpu of a to 100m, memory of a to 64Mi, cpu of b to 100m, memory of b to 64Mi and 2 more,"
            " in requests and limits"
        ],
    ),
    Case(
        "exactly as much to change as is reported",
        pod(app(FULL, FULL), *(app(name=name) for name in "ab")),
        UNKNOWN,
        [
            f"warning no-exclusive-cpus spec.containers[0].resources: {BURSTABLE}container a has no cpu limit"
            " | set cpu of a to 100m, memory of a to 64Mi, cpu of b to 100m, memory of b to 64Mi,"
            " in requests and limits"
        ],
    ),
    Case(
        "Guaranteed by its status, with a container that requests no CPUs",
        pod(app())._replace(qos_class=QosClass.GUARANTEED),
        STATIC,
    ),
    Case("less than nothing requested", pod(app("cpu=-1", "cpu=-1")), STATIC),
    Case(
        "one CPU and a part of one",
        pod(
            app("cpu=1 memory=1Gi", "cpu=1 memory=1Gi", "a"),
            app("cpu=1m memory=1Gi", "cpu=1m memory=1Gi", "b"),
        ),
    ),
    Case(
        "a whole number of an init container only",
        pod(app("cpu=100m"), init(FULL, FULL)),
        UNKNOWN,
        [
            f"warning no-exclusive-cpus spec.initContainers[0].resources: {BURSTABLE}container main has no cpu limit"
            " | set cpu of main to 100m, memory of main to 64Mi, in requests and limits"
        ],
    ),
    Case("a part of a CPU, with unknown pinning", pod(app("cpu=500m memory=1Gi", "cpu=500m memory=1Gi"))),
    Case(
        "a part of a CPU under the static policy",
        pod(app("cpu=500m memory=1Gi", "cpu=500m memory=1Gi")),
        STATIC,
        [
            "note no-exclusive-cpus spec.containers[0].resources: the pod is Guaranteed, but 500m is not"
            " a whole number of CPUs: none become exclusive | set cpu of main to 1, in requests and limits"
        ],
    ),
    Case(
        "more than one CPU, not whole",
        pod(app("cpu=1001m memory=1Gi", "cpu=1001m memory=1Gi")),
        UNKNOWN,
        [
            "note no-exclusive-cpus spec.containers[0].resources: the pod is Guaranteed, but 1001m is not"
            " a whole number of CPUs: none become exclusive | set cpu of main to 2, in requests and limits"
        ],
    ),
    Case(
        "more than one CPU, not whole, under the static policy",
        pod(app("cpu=1500m memory=1Gi", "cpu=1500m memory=1Gi")),
        STATIC,
        [
            "warning no-exclusive-cpus spec.containers[0].resources: the pod is Guaranteed, but 1500m is not"
            " a whole number of CPUs: none become exclusive | set cpu of main to 2, in requests and limits"
        ],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_findings(case: Case) -> None:
    assert linted(case.pod, case.kubelet) == case.want


def test_there_is_no_advice_for_very_many_containers() -> None:
    """The search checks all containers for each container."""
    many = pod(*(app("cpu=1", "cpu=1", name=f"c{number}") for number in range(101)))
    (found,) = linted(many)
    assert "containers c0, c1, c2 and 98 more request whole CPUs" in found
    assert "|" not in found


def test_containers_with_one_fix_are_one_finding() -> None:
    """The memory limit of one container is missing: that is why neither gets CPUs."""
    wrong, right = app("cpu=2", "cpu=2"), app("cpu=1 memory=1Gi", "cpu=1 memory=1Gi", name="side")
    (found,) = linted(pod(wrong, right))
    assert found.startswith(
        "warning no-exclusive-cpus spec.containers[0].resources: containers main, side request whole CPUs, "
        "but none become exclusive"
    )
