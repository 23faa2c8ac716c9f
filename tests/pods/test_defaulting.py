from __future__ import annotations

from dataclasses import dataclass

import pytest

from cpuctl.pods.model import ResourceRequirements
from cpuctl.pods.rules import ServerRules
from tests.support.pods import app, init, manifest, resources, stored


def as_text(requirements: ResourceRequirements | None) -> tuple[str, str]:
    assert requirements is not None
    sides = (requirements.requests, requirements.limits)
    first, second = (" ".join(f"{name}={side[name]}" for name in sorted(side)) for side in sides)
    return first, second


def test_limits_become_requests_if_those_are_missing() -> None:
    given = manifest(app("cpu=1", "cpu=2 memory=0 nvidia.com/gpu=1"), init(limits="cpu=3"))
    filled = stored(given)
    assert as_text(filled.containers[0].resources)[0] == "cpu=1 memory=0 nvidia.com/gpu=1"
    assert as_text(filled.init_containers[0].resources)[0] == "cpu=3"


def test_amounts_are_rounded_up_to_whole_milli_units() -> None:
    filled = stored(manifest(app("cpu=1500u", "cpu=1n"), pod_level=resources("cpu=1u"), overhead="cpu=1n"))
    assert as_text(filled.containers[0].resources) == ("cpu=2m", "cpu=1m")
    assert as_text(filled.resources) == ("cpu=1m", "")
    assert str(filled.overhead["cpu"]) == "1m"


@dataclass(frozen=True)
class PodLevel:
    """Pod-level resources with those of two containers, and the results (requests, limits)."""

    name: str
    containers: tuple[str, str]
    given: tuple[str, str]
    want: tuple[str, str]


POD_LEVEL = [
    PodLevel("empty stays empty", ("cpu=1", "cpu=2"), ("", ""), ("", "")),
    PodLevel("requests alone get nothing", ("cpu=1", "cpu=2"), ("cpu=5", ""), ("cpu=5", "")),
    PodLevel(
        "limits become requests", ("", ""), ("", "cpu=6 memory=6Gi"), ("cpu=6 memory=6Gi", "cpu=6 memory=6Gi")
    ),
    PodLevel("container requests come first", ("cpu=1", ""), ("", "cpu=6"), ("cpu=2", "cpu=6")),
    PodLevel(
        "even without a pod-level limit", ("memory=1Gi", ""), ("", "cpu=6"), ("cpu=6 memory=2Gi", "cpu=6")
    ),
    PodLevel("given requests stay", ("cpu=1", ""), ("cpu=5", "cpu=6"), ("cpu=5", "cpu=6")),
    PodLevel("unsupported limits stay limits", ("", ""), ("", "pid=6"), ("", "pid=6")),
    PodLevel(
        "huge page limits are summed up",
        ("", "hugepages-2Mi=2Mi"),
        ("cpu=1", ""),
        ("cpu=1 hugepages-2Mi=4Mi", "hugepages-2Mi=4Mi"),
    ),
    PodLevel(
        "unless the pod names them",
        ("", "hugepages-2Mi=2Mi"),
        ("hugepages-2Mi=8Mi", "cpu=1"),
        ("cpu=1 hugepages-2Mi=8Mi", "cpu=1"),
    ),
]


@pytest.mark.parametrize("case", POD_LEVEL, ids=lambda case: case.name)
def test_pod_level_defaults(case: PodLevel) -> None:
    containers = (app(*case.containers, name="a"), app(*case.containers, name="b"))
    filled = stored(manifest(*containers, pod_level=resources(*case.given)))
    assert as_text(filled.resources) == case.want


def test_without_the_gate_pod_level_resources_are_dropped() -> None:
    given = manifest(app("cpu=1"), pod_level=resources("", "cpu=6"))
    assert stored(given, ServerRules(pod_level=False)).resources is None


def test_before_134_huge_pages_are_not_summed_up() -> None:
    given = manifest(app("", "hugepages-2Mi=2Mi"), pod_level=resources("cpu=1"))
    assert as_text(stored(given, ServerRules(minor=33)).resources) == ("cpu=1", "")


FIXED = ServerRules(minor=37, pod_level_limits=True)
LIMITS = [
    PodLevel(
        "all have limits", ("", "cpu=2 memory=1Gi"), ("cpu=5", ""), ("cpu=5 memory=2Gi", "cpu=4 memory=2Gi")
    ),
    PodLevel("not of memory", ("memory=1Gi", "cpu=2"), ("cpu=5", ""), ("cpu=5 memory=2Gi", "cpu=4")),
    PodLevel("limits of zero do not count", ("", "cpu=0"), ("cpu=5", ""), ("cpu=5", "")),
    PodLevel("a given limit stays", ("", "cpu=2"), ("", "cpu=3"), ("cpu=4", "cpu=3")),
    PodLevel("nothing requested", ("", "cpu=2"), ("", ""), ("", "")),
]


@pytest.mark.parametrize("case", LIMITS, ids=lambda case: case.name)
def test_pod_level_limits_from_containers(case: PodLevel) -> None:
    containers = (app(*case.containers, name="a"), app(*case.containers, name="b"))
    filled = stored(manifest(*containers, pod_level=resources(*case.given)), FIXED)
    assert as_text(filled.resources) == case.want


def test_one_container_without_a_limit_leaves_the_pod_without_one() -> None:
    given = manifest(app("", "cpu=2", name="a"), init(), pod_level=resources("cpu=5"))
    assert as_text(stored(given, FIXED).resources) == ("cpu=5", "")
