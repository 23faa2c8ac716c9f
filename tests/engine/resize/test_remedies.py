"""What blocks a rejected resize: the running pod or the node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from cpuctl.engine.cpu.resizing.request import ResizeReason
from cpuctl.engine.outcome import Rejected
from cpuctl.engine.resize.handler import obstacle_of
from cpuctl.engine.resize.obstacles import KubeletResize
from cpuctl.engine.resize.outcome import Obstacle
from cpuctl.engine.resize.rules import ResizeRules
from cpuctl.engine.resize.running import PodResize, RunningPod
from cpuctl.engine.resize.server_side import ResizeServer
from cpuctl.pods.model import StoredPod
from cpuctl.records import replace
from tests.support.pods import app, init
from tests.support.resizing import guaranteed, verbatim

OLD = verbatim(guaranteed("2", "a"))
MORE = verbatim(guaranteed("3", "a"))
BURSTABLE = verbatim(app("cpu=1 memory=1Gi", "cpu=2 memory=1Gi", "a"))
INVALID = verbatim(app("cpu=3 memory=1Gi", "cpu=2 memory=1Gi", "a"))
PAGES = verbatim(app("cpu=2 memory=1Gi hugepages-2Mi=2Mi", "cpu=2 memory=1Gi hugepages-2Mi=2Mi", "a"))
INIT = verbatim(init("cpu=1", "cpu=2", "i"), app("cpu=1", "cpu=2", "a"))
MORE_INIT = verbatim(init("cpu=2", "cpu=2", "i"), app("cpu=1", "cpu=2", "a"))


@pytest.mark.parametrize(
    ("name", "old", "new", "server", "want"),
    [
        ("another class", OLD, BURSTABLE, {}, Obstacle.POD),
        ("removed limits", OLD, verbatim(app("cpu=2 memory=1Gi", "", "a")), {}, Obstacle.POD),
        ("other resources", OLD, PAGES, {}, Obstacle.POD),
        ("immutable containers", INIT, MORE_INIT, {"init_containers": False}, Obstacle.POD),
        ("another container", OLD, verbatim(guaranteed("2", "a"), guaranteed("1", "b")), {}, Obstacle.POD),
        ("no resizes", OLD, MORE, {"in_place": False}, Obstacle.POD),
        ("a kubelet without resizes", OLD, MORE, {"node_resizes": False}, Obstacle.POD),
        ("no valid pod", OLD, INVALID, {}, None),
        ("no valid pod, and no resizes", OLD, INVALID, {"in_place": False}, None),
        ("a static pod", OLD._replace(static=True), MORE._replace(static=True), {}, None),
        ("too large", OLD, MORE, {"allocatable": {"cpu": 2000}}, Obstacle.NODE),
    ],
)
def test_an_api_server(
    name: str, old: StoredPod, new: StoredPod, server: Mapping[str, Any], want: Obstacle | None
) -> None:
    del name
    request = PodResize(RunningPod.settled(old), new)
    assert ResizeServer(**server).refusals(request)
    assert ResizeServer(**server).obstacle(request) is want


@pytest.mark.parametrize(
    ("capacity", "rules", "want"),
    [
        ({}, {"static_cpus": True, "minor": 35}, Obstacle.POD),
        ({}, {"in_place": False}, Obstacle.POD),
        ({"cpu": 2000}, {"minor": 35}, Obstacle.NODE),
        ({"cpu": 2000}, {"minor": 35, "static_cpus": True}, Obstacle.NODE),
    ],
)
def test_a_kubelet(capacity: Mapping[str, int], rules: Mapping[str, Any], want: Obstacle) -> None:
    requested = KubeletResize(PodResize(RunningPod.settled(OLD), MORE), ResizeRules(**rules), capacity)
    assert requested.objection()
    assert requested.obstacle is want
    static = replace(requested, request=PodResize(RunningPod.settled(OLD._replace(static=True)), MORE))
    assert static.obstacle is (None if want is Obstacle.POD else want)


@pytest.mark.parametrize(
    ("reason", "want"),
    [
        (ResizeReason.PROHIBITED, Obstacle.POD),
        (ResizeReason.INCONSISTENT, Obstacle.POD),
        (ResizeReason.NO_BASELINE, Obstacle.POD),
        (ResizeReason.ALLOCATION, Obstacle.NODE),
        ("TopologyAffinityError", Obstacle.NODE),
        ("OutOfcpu", Obstacle.NODE),
    ],
)
def test_resource_managers_and_the_fit(reason: str, want: Obstacle) -> None:
    """Only the reason counts: a message may name anything."""
    assert obstacle_of(Rejected(reason, "Skip resize, cannot be removed")) is want
