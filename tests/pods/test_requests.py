"""The formula of KEP-753 and KEP-2837, computed by hand."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from cpuctl.pods.model import Pod
from cpuctl.pods.requests import pod_limits, pod_requests
from tests.support.pods import app, init, manifest, resources, sidecar, texts


@dataclass(frozen=True)
class Sum:
    """A pod and its total request."""

    name: str
    pod: Pod
    want: dict[str, str]


SUMS = [
    Sum(
        "containers add up",
        manifest(app("cpu=1 memory=1Gi"), app("cpu=500m")),
        {"cpu": "1500m", "memory": "1Gi"},
    ),
    Sum(
        "init containers count by their peak",
        manifest(init("cpu=4"), init("cpu=2"), app("cpu=3")),
        {"cpu": "4"},
    ),
    Sum(
        "every resource on its own",
        manifest(init("cpu=4"), app("cpu=1 memory=1Gi")),
        {"cpu": "4", "memory": "1Gi"},
    ),
    Sum("sidecars run together with the app", manifest(sidecar("cpu=1"), app("cpu=3")), {"cpu": "4"}),
    Sum(
        "and with later init containers",
        manifest(sidecar("cpu=1"), init("cpu=5"), app("cpu=3")),
        {"cpu": "6"},
    ),
    Sum("but not with earlier ones", manifest(init("cpu=5"), sidecar("cpu=1"), app("cpu=3")), {"cpu": "5"}),
    Sum(
        "overhead comes on top",
        manifest(app("cpu=1"), overhead="cpu=250m memory=64Mi"),
        {"cpu": "1250m", "memory": "64Mi"},
    ),
    Sum(
        "pod-level requests replace the sum",
        manifest(app("cpu=4 memory=1Gi"), pod_level=resources("cpu=2")),
        {"cpu": "2", "memory": "1Gi"},
    ),
    Sum(
        "for supported resources only",
        manifest(app("nvidia.com/gpu=1"), pod_level=resources("nvidia.com/gpu=2 hugepages-2Mi=4Mi")),
        {"nvidia.com/gpu": "1", "hugepages-2Mi": "4Mi"},
    ),
]


@pytest.mark.parametrize("case", SUMS, ids=lambda case: case.name)
def test_requests(case: Sum) -> None:
    assert texts(pod_requests(case.pod)) == case.want


def test_overhead_only_raises_limits_that_exist() -> None:
    limited = manifest(app(limits="cpu=2 memory=0"), overhead="cpu=250m memory=64Mi pid=10")
    assert texts(pod_limits(limited)) == {"cpu": "2250m", "memory": "0"}


def test_parts_can_be_left_out() -> None:
    full = manifest(app("cpu=4", "cpu=4"), pod_level=resources("cpu=6", "cpu=6"), overhead="cpu=1")
    assert texts(pod_requests(full, overhead=False)) == {"cpu": "6"}
    assert texts(pod_requests(full, pod_level=False)) == {"cpu": "5"}
    assert texts(pod_limits(full, pod_level=False, overhead=False)) == {"cpu": "4"}
