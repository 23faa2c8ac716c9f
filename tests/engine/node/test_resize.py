"""What a node requests from its allocator when a pod is resized, and how it handles the answer."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cpuctl.engine.cpu.resizing.reference import Resizing
from cpuctl.engine.cpu.resizing.request import Resized
from cpuctl.engine.metrics import samples
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted, FaultKind, KubeletFault, Rejected
from cpuctl.engine.provider import Refusal
from tests.support.resizing import NO_POLICY, Setting, admitted, changed, guaranteed, held, pod_of

ALPHA = {"CPUManagerPolicyAlphaOptions": True, "InPlacePodVerticalScalingExclusiveCPUs": True}
FAULT = KubeletFault(kind=FaultKind.CRASH, where="here", why="unknown")


def slow(delay: str = "1ns") -> Node:
    """Start a node that removes CPUs from containers after a delay."""
    options = {"scale-delay-time": delay} if delay else {}
    return Setting(gates=ALPHA, config={"cpu_manager_policy_options": options}).node()


def answering(verdict: Admitted | Refusal, requested: list[Resizing]) -> Callable[[Resizing], Resized]:
    """Return an allocator that always gives the same answer, and records the requests."""

    def answer(resizing: Resizing) -> Resized:
        requested.append(resizing)
        return Resized(verdict=verdict)

    return answer


def test_without_a_policy_every_resize_is_admitted() -> None:
    node, requested = Setting(config=NO_POLICY).node(), list[Resizing]()
    running = admitted(node, pod_of(guaranteed("4")))
    larger = changed(running, c="cpu=8")
    assert node.resize(larger, answering(FAULT, requested)) == Resized(verdict=Admitted())
    assert (node.active["p"], requested) == (larger, [])


@pytest.mark.parametrize(
    "verdict", [Admitted(), Rejected(reason="R", message="no"), FAULT], ids=["yes", "no", "fault"]
)
def test_only_an_admitted_resize_counts_and_only_a_fault_persists(verdict: Admitted | Refusal) -> None:
    node = Setting().node()
    running = admitted(node, pod_of(guaranteed("4")))
    larger = changed(running, c="cpu=5")
    assert node.resize(larger, answering(verdict, [])).verdict == verdict
    assert node.active["p"] == (larger if verdict == Admitted() else running)
    assert node.fault == (FAULT if verdict == FAULT else None)


def test_an_allocator_sees_released_cpus() -> None:
    node, requested = Setting().node(), list[Resizing]()
    running = admitted(node, pod_of(guaranteed("4")))
    gone = admitted(node, pod_of(guaranteed("2"), name="gone"))
    node.remove(gone.uid)
    node.resize(changed(running, c="cpu=5"), answering(Admitted(), requested))
    (resizing,) = requested
    assert set(resizing.state.assignments) == {"p"}
    assert [provider.name for provider in resizing.others] == ["memory"]


@pytest.mark.parametrize(("delay", "postpones"), [("", False), ("0s", False), ("1ns", True), ("5s", True)])
def test_an_allocator_knows_whether_there_is_a_delay(delay: str, postpones: bool) -> None:
    node, requested = slow(delay), list[Resizing]()
    running = admitted(node, pod_of(guaranteed("4")))
    node.resize(changed(running, c="cpu=2"), answering(Admitted(), requested))
    assert [each.postpones for each in requested] == [postpones]


def test_a_container_that_waits_for_its_delay_still_has_its_cpus() -> None:
    """This does not apply if its status is given."""
    node, requested = slow(), list[Resizing]()
    running = admitted(node, pod_of(guaranteed("2")))
    node.resize(running := changed(running, c="cpu=4"))
    node.resize(running := changed(running, c="cpu=2"))
    assert held(node) == "6-9"
    node.resize(changed(running, c="cpu=3"), answering(Admitted(), requested))
    node.resize(changed(running, c="cpu=3"), answering(Admitted(), requested), status={})
    seen = [{name: str(cpus) for name, cpus in each.request.allocated.items()} for each in requested]
    assert seen == [{"c": "4"}, {}]


def test_metrics_follow_a_resize() -> None:
    node = Setting().node()
    running = admitted(node, pod_of(guaranteed("2")))
    node.resize(changed(running, c="cpu=4"))
    values = {sample.name: sample.value for sample in samples(node)}
    assert values["kubelet_cpu_manager_exclusive_cpu_allocation_count"] == 4
