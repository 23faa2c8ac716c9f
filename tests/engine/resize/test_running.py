"""A running pod and what it is to become."""

from __future__ import annotations

import pytest

from cpuctl.engine.resize.running import PodResize, RunningPod
from cpuctl.records import replace
from tests.support.resizing import changed, guaranteed, pod_of

TWO = pod_of(guaranteed("2"), generation=7)
FOUR = changed(TWO, c="cpu=4")


@pytest.mark.parametrize(
    ("name", "running", "generation", "new"),
    [
        ("what it has", RunningPod.settled(FOUR), 7, False),
        ("what it already requests", replace(RunningPod.settled(TWO), spec=FOUR), 7, True),
        ("what it requested before", replace(RunningPod.settled(TWO), allocated=FOUR), 8, False),
        ("something new", RunningPod.settled(TWO), 8, True),
    ],
)
def test_resources_that_the_spec_already_has_are_not_a_new_generation(
    name: str, running: RunningPod, generation: int, *, new: bool
) -> None:
    """It is new to the kubelet if it has not been granted."""
    del name
    request = PodResize(running, changed(FOUR, c="cpu=4000m"))
    assert (request.generation, request.is_new) == (generation, new)


def test_only_containers_restart() -> None:
    assert RunningPod.settled(TWO).restarts("nobody") == frozenset()
