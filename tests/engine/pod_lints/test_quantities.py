# ruff: noqa: E501, ISC004  # texts stand whole in one line, so that they can be searched for
"""Amounts that the Memory Manager cannot count, because of how they are written."""

from __future__ import annotations

import pytest

from cpuctl.pods.rules import NodeRules
from tests.support.linted_pods import UNKNOWN, Case, linted
from tests.support.pods import app, pod, resources

NOT_COUNTED = (
    "Allocate failed due to [memorymanager] failed to represent quantity as int64, which is unexpected"
)
SMALL = resources("cpu=500m memory=2Gi", "cpu=500m memory=2Gi")


CASES = [
    Case(
        "a static pod with an amount that cannot be counted",
        pod(app("cpu=500m memory=1.5Gi", "cpu=500m memory=1.5Gi"), static=True),
        UNKNOWN,
        [
            "warning uncountable-memory spec.containers[0].resources.requests[memory]: with "
            f"memoryManagerPolicy Static, the kubelet rejects this notation: {NOT_COUNTED} | use 1536Mi"
        ],
    ),
    Case(
        "a static pod with millibytes if they are counted",
        pod(app("cpu=500m memory=1000m", "cpu=500m memory=1000m"), static=True),
        UNKNOWN._replace(memory_policy="Static"),
        [
            "error uncountable-memory spec.containers[0].resources.requests[memory]: UnexpectedAdmissionError:"
            f" {NOT_COUNTED} | use 1"
        ],
    ),
    Case(
        "a static pod if memory is not counted",
        pod(app("cpu=500m memory=1.5Gi", "cpu=500m memory=1.5Gi"), static=True),
        UNKNOWN._replace(memory_policy="None"),
    ),
    Case("a burstable static pod", pod(app("memory=1.5Gi", "memory=2Gi"), static=True)),
    Case("an amount that an API server rewrites", pod(app("cpu=500m memory=1.5Gi", "cpu=500m memory=1.5Gi"))),
    Case(
        "a static pod with pod-level resources",
        pod(app("memory=1.5Gi", "memory=1.5Gi"), pod_level=SMALL, static=True),
        UNKNOWN._replace(memory_policy="Static"),
        [
            "warning pod-level-not-aligned spec.resources: pod-level resources are ignored for memory "
            "alignment (KEP-2837): pod is using pod-level resources which are not supported by the static "
            "Memory manager policy | set resources only on the containers, or enable the gate "
            "PodLevelResourceManagers"
        ],
    ),
    *(
        Case(
            f"a static pod with {requested}, for which the next best is to be written",
            pod(app(f"cpu=500m memory=1Mi {requested}", f"cpu=500m memory=1Mi {requested}"), static=True),
            UNKNOWN._replace(rules=NodeRules(managers=True), memory_policy="Static"),
            [
                f"error uncountable-memory spec.containers[0].resources.requests[{name}]: UnexpectedAdmissionError:"
                f" {NOT_COUNTED} | use {better}"
            ],
        )
        for name, requested, better in (
            ("hugepages-2Mi", "hugepages-2Mi=3.5Mi", "3584Ki"),
            ("memory", "memory=1500m", "2"),
            ("memory", "memory=1.99951171875Ki", "2Ki"),
        )
    ),
    Case(
        "a divided static pod",
        pod(app("cpu=500m memory=1.5Gi", "cpu=500m memory=1.5Gi"), pod_level=SMALL, static=True),
        UNKNOWN._replace(rules=NodeRules(managers=True), memory_policy="Static"),
        [
            "error uncountable-memory spec.containers[0].resources.requests[memory]: UnexpectedAdmissionError:"
            f" {NOT_COUNTED} | use 1536Mi"
        ],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_findings(case: Case) -> None:
    assert linted(case.pod, case.kubelet) == case.want
