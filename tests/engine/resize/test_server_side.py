"""How the API server rejects resizes, in its words, release by release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from cpuctl.engine.resize.handler import ResizePath, decide
from cpuctl.engine.resize.outcome import DecidedBy, ResizeResult
from cpuctl.engine.resize.rules import IN_PLACE, INIT_CONTAINERS, POD_LEVEL, ResizeRules
from cpuctl.engine.resize.running import PodResize, RunningPod
from cpuctl.engine.resize.server_side import ResizeServer
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.pods.model import Container, QosClass, StoredPod
from cpuctl.records import replace
from tests.support.pods import app, init, resources, sidecar
from tests.support.resizing import Setting, admitted, guaranteed, request, verbatim, with_policies

RUNNING = verbatim(guaranteed("2", "a"), guaranteed("1", "b"))
WITH_INIT = verbatim(init("cpu=1", "cpu=2", "i"), sidecar("cpu=1", "cpu=2", "s"), app("cpu=1", "cpu=2", "a"))
IMMUTABLE = "resources for non-sidecar init containers are immutable"
RESTARTING = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"
FIRST_ONES = "resources of init containers and sidecars are immutable"
LESS_MEMORY = (
    "spec.containers[0].resources.limits[memory]: Forbidden: "
    "memory limits cannot be decreased unless resizePolicy is RestartContainer"
)
WITHOUT_POD_LEVEL = (
    "resize of pods with pod-level resources is forbidden when "
    "InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled"
)
TOO_MUCH = (
    "Node didn't have enough allocatable resources: cpu, requested: 10000, allocatable: 8000; "
    "memory, requested: 10737418240, allocatable: 1073741824"
)
ABOVE_ITS_LIMIT = (
    'spec.containers[0].resources.requests: Invalid value: "3": must be less than or equal to cpu limit of 2'
)
OTHER_CLASS = 'spec: Invalid value: "Guaranteed": Pod QOS Class may not change as a result of resizing'


def first(given: StoredPod, requests: str, limits: str) -> StoredPod:
    """Give the first app container other resources."""
    container = replace(given.containers[0], resources=resources(requests, limits))
    return given._replace(containers=(container, *given.containers[1:]))


def inner(given: StoredPod, place: int) -> StoredPod:
    """Give an init container or sidecar other resources."""
    inits = list(given.init_containers)
    inits[place] = replace(inits[place], resources=resources("cpu=2", "cpu=3"))
    return given._replace(init_containers=tuple(inits))


def level(given: StoredPod, requests: str, limits: str) -> StoredPod:
    return given._replace(resources=resources(requests, limits))


def renamed(given: StoredPod, *containers: Container) -> StoredPod:
    return given._replace(containers=containers)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A pod before and after a resize, and the server's errors."""

    name: str
    new: StoredPod
    stated: tuple[str, ...]
    old: StoredPod = RUNNING
    minor: int = 36
    gates: Mapping[str, bool] = field(default_factory=dict)
    restarts: Mapping[str, frozenset[str]] = field(default_factory=dict)
    node_resizes: bool = True
    allocatable: Mapping[str, int] | None = None


LEVEL = level(RUNNING, "cpu=4 memory=4Gi", "cpu=4 memory=4Gi")
CASES = [
    Case(name="all is well", new=first(RUNNING, "cpu=3 memory=1Gi", "cpu=3 memory=1Gi"), stated=()),
    Case(name="another class", new=first(RUNNING, "cpu=1 memory=1Gi", "cpu=2 memory=1Gi"),
         stated=(OTHER_CLASS,)),
    Case(name="a request above its limit", new=first(RUNNING, "cpu=3 memory=1Gi", "cpu=2 memory=1Gi"),
         stated=(ABOVE_ITS_LIMIT, OTHER_CLASS)),
    Case(name="limits removed", new=first(RUNNING, "cpu=2 memory=1Gi", ""),
         stated=(OTHER_CLASS,
               "spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed")),
    Case(name="other resources", new=first(RUNNING, "cpu=2 memory=1Gi hugepages-2Mi=4Mi",
                                           "cpu=2 memory=1Gi hugepages-2Mi=4Mi"),
         stated=("spec: Forbidden: only cpu and memory resources are mutable",)),
    Case(name="fewer containers", new=renamed(RUNNING, RUNNING.containers[0]),
         stated=("spec.containers: Forbidden: containers may not be added or removed on resize",)),
    Case(name="another order", new=renamed(RUNNING, *reversed(RUNNING.containers)),
         stated=("spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize",
               "spec.containers[1].name: Forbidden: containers may not be renamed or reordered on resize")),
    Case(name="a static pod", old=RUNNING._replace(static=True),
         new=first(RUNNING, "cpu=3 memory=1Gi", "cpu=3 memory=1Gi"),
         stated=("[]: Forbidden: static pods cannot be resized",)),
    Case(name="a Windows pod", old=RUNNING._replace(os_name="windows"),
         new=first(RUNNING, "cpu=3 memory=1Gi", "cpu=3 memory=1Gi"),
         stated=("[]: Forbidden: windows pods cannot be resized",)),
    Case(name="a kubelet without the gate", new=first(RUNNING, "cpu=3 memory=1Gi", "cpu=3 memory=1Gi"),
         minor=34, node_resizes=False,
         stated=("spec: Forbidden: Pod running on node without support for resize",)),
    Case(name="the gate is off", new=RUNNING, minor=33, gates={IN_PLACE: False},
         stated=("the API server does not serve pods/resize: InPlacePodVerticalScaling is off",)),
    Case(name="up to 1.31 the pod itself is changed", new=RUNNING, minor=31,
         stated=(("the API server does not allow changing resources of pods: "
               "InPlacePodVerticalScaling is off"),)),
    Case(name="less memory in 1.33", minor=33, new=first(RUNNING, "cpu=2 memory=512Mi", "cpu=2 memory=512Mi"),
         stated=(LESS_MEMORY,)),
    Case(name="less memory in 1.33, restarting", minor=33, restarts={"a": frozenset({"memory"})},
         new=first(RUNNING, "cpu=2 memory=512Mi", "cpu=2 memory=512Mi"), stated=()),
    Case(name="less memory in 1.34", minor=34, stated=(),
         new=first(RUNNING, "cpu=2 memory=512Mi", "cpu=2 memory=512Mi")),
    Case(name="an init container in 1.35", old=WITH_INIT, new=inner(WITH_INIT, 0), minor=35,
         stated=(f"spec.initContainers[0].resources: Forbidden: {IMMUTABLE}",)),
    Case(name="an init container in 1.36", old=WITH_INIT, new=inner(WITH_INIT, 0), stated=()),
    Case(name="an init container in 1.36 without its gate", old=WITH_INIT, new=inner(WITH_INIT, 0),
         gates={INIT_CONTAINERS: False}, stated=(f"spec.initContainers[0]: Forbidden: {IMMUTABLE}",)),
    Case(name="an init container that would restart", old=WITH_INIT, new=inner(WITH_INIT, 0),
         restarts={"i": frozenset({"cpu"})},
         stated=(f"spec.initContainers[0]: Forbidden: {RESTARTING}",)),
    Case(name="a sidecar in 1.33", old=WITH_INIT, new=inner(WITH_INIT, 1), minor=33, stated=()),
    Case(name="a sidecar in 1.32", old=WITH_INIT, new=inner(WITH_INIT, 1), minor=32, gates={IN_PLACE: True},
         stated=(f"spec.initContainers[1].resources: Forbidden: {FIRST_ONES}",)),
    Case(name="pod-level resources in 1.34", old=LEVEL, minor=34,
         new=level(RUNNING, "cpu=5 memory=4Gi", "cpu=5 memory=4Gi"),
         stated=("[]: Forbidden: pods with pod-level resources cannot be resized",)),
    Case(name="pod-level resources in 1.36", old=LEVEL, stated=(),
         new=level(RUNNING, "cpu=5 memory=4Gi", "cpu=5 memory=4Gi")),
    Case(name="pod-level resources in 1.36 without the gate", old=LEVEL, gates={POD_LEVEL: False},
         new=level(RUNNING, "cpu=5 memory=4Gi", "cpu=5 memory=4Gi"),
         stated=(f"[]: Forbidden: {WITHOUT_POD_LEVEL}",)),
    Case(name="pod-level resources removed", old=LEVEL, new=RUNNING,
         stated=("spec.resources: Forbidden: pod-level resources cannot be removed",)),
    Case(name="fewer pod-level resources", old=LEVEL, new=level(RUNNING, "memory=4Gi", "memory=4Gi"),
         stated=(OTHER_CLASS,
               "spec.resources.requests: Forbidden: pod-level resource requests cannot be removed",
               "spec.resources.limits: Forbidden: pod-level resource limits cannot be removed")),
    Case(name="other pod-level resources", old=LEVEL,
         new=level(RUNNING, "cpu=4 memory=4Gi hugepages-2Mi=4Mi", "cpu=4 memory=4Gi hugepages-2Mi=4Mi"),
         stated=("spec: Forbidden: only cpu and memory resources are mutable at pod-level",)),
    Case(name="more than the node has", new=first(RUNNING, "cpu=9 memory=9Gi", "cpu=9 memory=9Gi"),
         allocatable={"cpu": 8000, "memory": 1 << 30},
         stated=(TOO_MUCH,)),
    Case(name="up to 1.35 the kubelet checks that", minor=35, stated=(),
         new=first(RUNNING, "cpu=9 memory=1Gi", "cpu=9 memory=1Gi"), allocatable={"cpu": 8000}),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_rejected(case: Case) -> None:
    gates = FeatureGates(case.minor, case.gates)
    server = ResizeServer.of(gates, node_resizes=case.node_resizes, allocatable=case.allocatable)
    running = RunningPod.settled(with_policies(case.old, case.restarts))
    assert server.refusals(PodResize(running, case.new)) == case.stated


def test_a_pod_keeps_the_qos_class_in_its_status() -> None:
    """The class in the status counts, whatever the resources imply."""
    burstable = RunningPod.settled(RUNNING._replace(qos_class=QosClass.BURSTABLE))
    more = first(RUNNING, "cpu=3 memory=1Gi", "cpu=3 memory=1Gi")
    (stated,) = ResizeServer().refusals(PodResize(burstable, more))
    assert stated == OTHER_CLASS.replace("Guaranteed", "Burstable")


def test_a_rejected_resize_changes_nothing_and_does_not_reach_the_kubelet() -> None:
    node = Setting().node()
    running = admitted(node, verbatim(guaranteed("2")))
    before = node.state.copy()
    unequal = PodResize(RunningPod.settled(running), first(running, "cpu=1 memory=1Gi", "cpu=2 memory=1Gi"))
    outcome = decide(node, unequal, ResizePath(kubelet=ResizeRules(), server=ResizeServer()))
    assert (outcome.result, outcome.decided_by) == (ResizeResult.FORBIDDEN, DecidedBy.API_SERVER)
    assert outcome.message.startswith("spec: Invalid value")
    assert node.state == before
    several = request(running, c="cpu=1")
    gone = replace(several, desired=first(running, "cpu=1", "cpu=2"))
    reported = decide(node, gone, ResizePath(server=ResizeServer())).message
    assert reported.startswith("[")
    assert reported.endswith("]")
