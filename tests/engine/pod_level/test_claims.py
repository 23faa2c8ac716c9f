"""What a pod with resources of its own is due, and which containers have a slice of it."""

from __future__ import annotations

import pytest

from cpuctl.engine.pod_level import guaranteed_equivalent, pod_level_cpus
from cpuctl.pods.model import QosClass
from cpuctl.pods.qos import Qos
from tests.support.pods import app, pod, resources


@pytest.mark.parametrize(
    ("requests", "limits", "guaranteed"),
    [
        ("cpu=1 memory=1Gi", "cpu=1 memory=1Gi", True),
        ("cpu=1 memory=1Gi", "cpu=1000m memory=1024Mi", True),
        ("cpu=1 memory=1Gi", "cpu=2 memory=1Gi", False),
        ("cpu=1 memory=1Gi", "cpu=1 memory=2Gi", False),
        ("cpu=1 memory=1Gi", "cpu=1", False),
        ("cpu=1", "cpu=1", False),
        ("cpu=0 memory=1Gi", "cpu=0 memory=1Gi", False),
        ("", "", False),
    ],
)
def test_a_container_like_a_guaranteed_pod(requests: str, limits: str, guaranteed: bool) -> None:
    assert guaranteed_equivalent(app(requests, limits)) == guaranteed


@pytest.mark.parametrize(
    ("own", "qos", "cpus"),
    [
        ("cpu=3 memory=1Gi", QosClass.GUARANTEED, 3),
        ("cpu=3 memory=1Gi", QosClass.BURSTABLE, 0),
        ("cpu=2500m memory=1Gi", QosClass.GUARANTEED, 0),
        ("memory=1Gi", QosClass.GUARANTEED, 0),
        (None, QosClass.GUARANTEED, 0),
    ],
)
def test_cpus_of_a_pod_as_a_whole(own: str | None, qos: QosClass, cpus: int) -> None:
    told = pod(app(), pod_level=None if own is None else resources(own, own))
    assert pod_level_cpus(told, Qos(qos, "")) == cpus
