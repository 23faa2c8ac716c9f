"""A resize step by step: managers, swap, pod-level resources, and what a rejection leaves behind."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import pytest

from cpuctl.engine.cpu.resizing.request import Departure
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted, Undetermined
from cpuctl.engine.resize.handler import ResizePath, decide
from cpuctl.engine.resize.outcome import DecidedBy, ResizeOutcome, ResizeResult, conditions_of
from cpuctl.engine.resize.rules import EXCLUSIVE_MEMORY, POD_LEVEL, ResizeRules
from cpuctl.engine.resize.running import PodResize, RunningPod
from cpuctl.engine.resize.semantics import Semantics
from cpuctl.kubelet.config import ReservedMemory
from cpuctl.pods.model import StoredPod
from cpuctl.quantity import Quantity
from cpuctl.records import replace
from tests.support.pods import app, init, resources, sidecar
from tests.support.resizing import (
    NO_POLICY,
    PREVIEW,
    RESTRICTED,
    Setting,
    admitted,
    changed,
    guaranteed,
    held,
    pod_of,
    request,
    with_policies,
)

NOTHING: Mapping[str, bool] = {}
STATIC_MEMORY: Mapping[str, Any] = {
    **NO_POLICY,
    "memory_manager_policy": "Static",
    "kube_reserved": {"memory": "924Mi"},
    "eviction_hard": {"memory.available": "100Mi"},
    "reserved_memory": (ReservedMemory(numa_node=0, limits={"memory": Quantity.parse("1Gi")}),),
}


def test_a_resize_without_changes_reaches_no_manager() -> None:
    node = Setting().node()
    running = admitted(node, pod_of(guaranteed("2")))
    outcome = decide(
        node, PodResize(RunningPod.settled(running), changed(running, c="cpu=2000m")), ResizePath()
    )
    assert (outcome.result, outcome.decided_by, outcome.message) == (
        ResizeResult.UNCHANGED,
        DecidedBy.NONE,
        "",
    )
    assert (outcome.preview, outcome.delay) == (False, 0)
    assert conditions_of(outcome, ResizeRules()) == ()


def test_a_pod_that_does_not_run_is_an_error_of_the_caller() -> None:
    with pytest.raises(KeyError, match="p"):
        decide(Setting().node(), request(pod_of(guaranteed("2")), c="cpu=4"), ResizePath())


@pytest.mark.parametrize(
    ("gates", "want"),
    [
        (NOTHING, (ResizeResult.INFEASIBLE,
                   'Resize is infeasible for Guaranteed Pods alongside Memory Manager policy "Static"')),
        ({EXCLUSIVE_MEMORY: True}, (ResizeResult.ADMITTED, "")),
    ],
)  # fmt: skip
def test_a_static_memory_manager(gates: Mapping[str, bool], want: tuple[ResizeResult, str]) -> None:
    setting = Setting(minor=36, gates=gates, config=STATIC_MEMORY)
    node = setting.node()
    running = admitted(node, pod_of(guaranteed("500m")))
    outcome = decide(node, request(running, c="memory=2Gi"), ResizePath(kubelet=setting.rules()))
    assert (outcome.result, outcome.message) == want
    cpu_only = decide(node, request(node.active["p"], c="cpu=700m"), ResizePath(kubelet=setting.rules()))
    assert cpu_only.result is ResizeResult.ADMITTED


@pytest.mark.parametrize(
    ("gates", "minor", "message"),
    [
        (NOTHING, 33, "Resize is infeasible for Guaranteed Pods alongside Memory Manager static policy"),
        (PREVIEW, 33, ""),
    ],
)
def test_up_to_1_33_one_gate_allows_memory_too(gates: Mapping[str, bool], minor: int, message: str) -> None:
    setting = Setting(minor=minor, gates=gates, config=STATIC_MEMORY)
    node = setting.node()
    running = admitted(node, pod_of(guaranteed("500m")))
    assert (
        decide(node, request(running, c="cpu=700m"), ResizePath(kubelet=setting.rules())).message == message
    )


SWAP: Mapping[str, Any] = {**NO_POLICY, "swap_behavior": "LimitedSwap", "fail_swap_on": False}
NO_SWAP = "In-place resize of containers with swap is not supported."


@pytest.mark.parametrize(
    ("name", "before", "after", "restarts", "message"),
    [
        ("Burstable", ("memory=1Gi", "memory=2Gi"), "memory=3Gi", frozenset(), ""),
        ("its request changes", ("memory=1Gi", "memory=4Gi"), "memory=2Gi", frozenset(), NO_SWAP),
        ("it restarts for that", ("memory=1Gi", "memory=4Gi"), "memory=2Gi", frozenset({"memory"}), ""),
        ("it restarts for cpu", ("memory=1Gi", "memory=4Gi"), "memory=2Gi", frozenset({"cpu"}), NO_SWAP),
        ("no memory at all", ("cpu=1", "cpu=2"), "cpu=2", frozenset(), ""),
    ],
)
def test_swap(name: str, before: tuple[str, str], after: str, restarts: frozenset[str], message: str) -> None:
    """A container that may swap cannot change its memory request unless that restarts it."""
    setting = Setting(minor=36, gates=NOTHING, config=SWAP)
    node = setting.node()
    running = admitted(node, pod_of(app(*before, "c")))
    desired = changed(running, c=after)
    if name == "Burstable":
        desired = running._replace(containers=(app("memory=1Gi", "memory=3Gi", "c"),))
    else:
        limit = running.containers[0].resources.limits
        new = replace(desired.containers[0].resources, limits=limit)
        desired = desired._replace(containers=(replace(desired.containers[0], resources=new),))
    given = RunningPod.settled(with_policies(running, {"c": restarts}))
    outcome = decide(node, PodResize(given, desired), ResizePath(kubelet=setting.rules()))
    assert outcome.message == message


def level(running: StoredPod, text: str) -> StoredPod:
    return running._replace(resources=resources(text, text))


def test_pod_level_resources_need_their_own_gate() -> None:
    gates = {POD_LEVEL: False}
    setting = Setting(minor=36, gates=gates, config=NO_POLICY)
    node = setting.node()
    running = admitted(node, level(pod_of(app(name="c")), "cpu=2 memory=1Gi"))
    more = PodResize(RunningPod.settled(running), level(running, "cpu=3 memory=1Gi"))
    outcome = decide(node, more, ResizePath(kubelet=setting.rules()))
    assert (outcome.result, outcome.message) == (
        ResizeResult.INFEASIBLE,
        "InPlacePodLevelResourcesVerticalScaling is disabled",
    )
    assert (
        decide(node, more, path(dataclasses.replace(setting, gates=NOTHING))).result is ResizeResult.ADMITTED
    )


def path(setting: Setting, **more: Any) -> ResizePath:
    return ResizePath(kubelet=setting.rules(), **more)


def test_exclusive_cpus_of_pods_with_pod_level_resources_are_never_resized() -> None:
    """Their containers have none (KEP-2837), so they have no baseline."""
    setting = Setting(minor=38)
    node = setting.node()
    running = admitted(node, level(pod_of(guaranteed("2")), "cpu=4 memory=2Gi"))
    outcome = decide(node, request(running, c="cpu=3"), path(setting))
    assert (outcome.result, outcome.reason, held(node)) == (
        ResizeResult.INFEASIBLE,
        "getOriginalCPUSetError",
        "shared",
    )


def test_a_rejection_midway_keeps_what_earlier_containers_were_given() -> None:
    """Released kubelets admit the pod again, and admission undoes nothing."""
    setting = Setting(minor=36, gates=PREVIEW)
    node = setting.node()
    running = admitted(node, pod_of(guaranteed("1500m", "a"), guaranteed("500m", "b")))
    outcome = decide(node, request(running, a="cpu=2", b="cpu=40"), path(setting))
    assert (outcome.result, outcome.reason) == (ResizeResult.DEFERRED, "UnexpectedAdmissionError")
    assert (held(node, "a"), held(node, "b")) == ("6-7", "shared")
    assert node.active["p"] == running


def crowded(semantics: Semantics) -> tuple[Node, ResizeOutcome]:
    """Grow a container if CPUs are free but memory is not."""
    setting = Setting(minor=38)
    node = setting.node(fit=True)
    running = admitted(node, pod_of(guaranteed("2")))
    admitted(node, pod_of(app("memory=60Gi", name="big"), name="other"))
    return node, decide(node, request(running, c="cpu=4 memory=6Gi"), path(setting, semantics=semantics))


def test_a_pod_that_does_not_fit_is_deferred_and_keeps_its_cpus() -> None:
    node, outcome = crowded(Semantics.KEP)
    assert (outcome.result, outcome.decided_by, outcome.reason) == (
        ResizeResult.DEFERRED,
        DecidedBy.NODE_FIT,
        "OutOfmemory",
    )
    assert (held(node), outcome.departures) == ("6-7", (Departure.NOTHING_KEPT,))


def test_the_reference_assigns_cpus_before_it_checks_the_fit() -> None:
    node, outcome = crowded(Semantics.REFERENCE)
    assert (outcome.result, outcome.decided_by, held(node)) == (
        ResizeResult.DEFERRED,
        DecidedBy.NODE_FIT,
        "6-9",
    )
    assert node.active["p"].containers[0].resources.requests["cpu"] == Quantity.parse("2")


@pytest.mark.parametrize(
    ("semantics", "result", "departures"),
    [
        (Semantics.KEP, ResizeResult.INFEASIBLE, (Departure.FINAL,)),
        (Semantics.REFERENCE, ResizeResult.DEFERRED, ()),
    ],
)
def test_a_rejection_is_final_under_the_kep_and_retried_by_the_reference(
    semantics: Semantics, result: ResizeResult, departures: tuple[Departure, ...]
) -> None:
    setting = Setting(minor=38)
    node = setting.node()
    running = admitted(node, pod_of(guaranteed("4")))
    outcome = decide(node, request(running, c="cpu=2"), path(setting, semantics=semantics))
    assert (outcome.result, outcome.departures) == (result, departures)


def test_init_containers_and_sidecars() -> None:
    """A sidecar grows like an app container; an init container that has ended is left alone."""
    setting = Setting(minor=38)
    node = setting.node()
    two = "cpu=2 memory=1Gi"
    running = admitted(node, pod_of(init(two, two, "i"), sidecar(two, two, "s"), guaranteed("2")))
    before = {name: held(node, name) for name in ("s", "c")}
    node.remove_container("p", "i")
    outcome = decide(node, request(running, s="cpu=4"), path(setting))
    assert outcome.result is ResizeResult.ADMITTED
    assert (held(node, "i"), held(node, "c")) == ("shared", before["c"])
    assert outcome.shares["s"].after is not None
    assert outcome.shares["s"].after.bit_count() == 4
    assert Departure.ENDED in outcome.departures


def test_a_resize_that_depends_on_unknown_devices_is_undetermined() -> None:
    setting = Setting(minor=36, gates=NOTHING, config=NO_POLICY)
    node = setting.node()
    gpu = app("cpu=1 memory=1Gi example.com/gpu=1", "cpu=1 memory=1Gi example.com/gpu=1", "c")
    running = pod_of(gpu)
    node.resume([running])
    outcome = decide(node, request(running, c="cpu=2"), path(setting))
    assert outcome.result is ResizeResult.UNKNOWN
    assert isinstance(outcome.verdict, Undetermined)
    assert node.active["p"] == running


def test_the_order_of_running_pods_survives_a_rejection() -> None:
    """A restarted kubelet admits the oldest first."""
    setting = Setting(minor=36, gates=PREVIEW, config=RESTRICTED)
    node = setting.node()
    first = admitted(node, pod_of(guaranteed("2"), name="first"))
    admitted(node, pod_of(guaranteed("2"), name="second"))
    assert decide(node, request(first, c="cpu=4"), path(setting)).result is ResizeResult.DEFERRED
    assert list(node.active) == ["first", "second"]


def test_without_effect_but_granted() -> None:
    """Other pods are compared with what the kubelet has granted, exclusive or not."""
    setting = Setting(minor=36, gates=PREVIEW)
    node = setting.node(fit=True)
    running = admitted(node, pod_of(guaranteed("2")))
    assert decide(node, request(running, c="cpu=9"), path(setting)).result is ResizeResult.NO_EFFECT
    late = node.admit(pod_of(guaranteed("4"), name="late"))
    assert not isinstance(late.verdict, Admitted)
