"""What KEP-5554 never allows, regardless of the reference implementation, and what stays possible."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from cpuctl.engine.cpu.resizing.kep import resize_by_kep, resize_by_reference
from cpuctl.engine.cpu.resizing.request import Departure
from cpuctl.engine.hints.topology_manager import Answer
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted, FaultKind, KubeletFault, Rejected
from cpuctl.engine.provider import Candidate
from cpuctl.pods.model import Container, StoredPod
from cpuctl.records import replace
from tests.support.pods import app, init, resources, sidecar
from tests.support.resizing import Setting, admitted, changed, guaranteed, held, pod_of, two_nodes

POD_SCOPE: Mapping[str, Any] = {
    "topology_manager_policy": "restricted",
    "topology_manager_scope": "pod",
}


def on(**config: Any) -> Node:
    return Setting(machine=two_nodes(cores=8), config={"reserved_system_cpus": "0-1", **config}).node()


def of_all_kinds() -> StoredPod:
    """Return a pod of an init container, a sidecar and an app container with four CPUs each."""
    four = "cpu=4 memory=1Gi"
    return pod_of(init(four, four, "i"), sidecar(four, four, "s"), guaranteed("4", "a"))


def rejection(node: Node, wanted: StoredPod) -> tuple[str, str, tuple[Departure, ...]]:
    resized = node.resize(wanted)
    assert isinstance(resized.verdict, Rejected), resized.verdict
    return resized.verdict.container, str(resized.verdict.reason), resized.departures


FORBIDDEN, POSSIBLE = (Departure.FORBIDDEN,), (Departure.POSSIBLE,)
ALLOCATION, INCONSISTENT = "ResizeAllocateCPUsError", "inconsistentCPUAllocationError"


@pytest.mark.parametrize(
    ("to", "want"),
    [
        ({"a": "cpu=12"}, ("a", ALLOCATION, ())),
        ({"a": "cpu=6", "b": "cpu=500m"}, ("b", INCONSISTENT, FORBIDDEN)),
        ({"a": "cpu=6", "b": "cpu=9"}, ("b", ALLOCATION, POSSIBLE)),
        ({"a": "cpu=6", "b": "cpu=9", "c": "cpu=500m"}, ("b", ALLOCATION, POSSIBLE)),
        ({"a": "cpu=6", "b": "cpu=2", "c": "cpu=500m"}, ("c", INCONSISTENT, FORBIDDEN)),
        ({"a": "cpu=12", "c": "cpu=500m"}, ("a", ALLOCATION, ())),
    ],
)
def test_the_first_obstacle_and_the_departure_from_the_reference_are_named(
    to: Mapping[str, str], want: tuple[str, str, tuple[Departure, ...]]
) -> None:
    """The reference implementation rejects six CPUs for a, because its eight CPUs are on two NUMA nodes."""
    node = Setting(config={"topology_manager_policy": "best-effort"}).node()
    running = admitted(node, pod_of(guaranteed("4", "a"), guaranteed("1", "b"), guaranteed("1", "c")))
    running = changed(running, a="cpu=8")
    assert node.resize(running).verdict == Admitted()
    assert rejection(node, changed(running, **to)) == want


def test_a_forbidden_move_is_named_before_a_rejection_of_the_whole_pod() -> None:
    node = Setting(config=POD_SCOPE).node()
    running = admitted(node, pod_of(guaranteed("2", "a"), guaranteed("2", "b")))
    assert rejection(node, changed(running, b="cpu=20")) == ("", "TopologyAffinityError", ())
    assert rejection(node, changed(running, a="cpu=500m", b="cpu=20")) == ("a", INCONSISTENT, FORBIDDEN)


@pytest.mark.parametrize("name", ["i", "s"])
def test_part_of_a_core_is_rejected_independently_of_the_promise(name: str) -> None:
    """With full-pcpus-only, three CPUs fail the check for whole cores, below the promise or not."""
    node = on(cpu_manager_policy_options={"full-pcpus-only": "true"})
    running = admitted(node, of_all_kinds())
    assert rejection(node, changed(running, **{name: "cpu=3"})) == (name, "SMTAlignmentError", ())
    assert rejection(node, changed(running, **{name: "cpu=2"})) == (
        name,
        "prohibitedCPUAllocationError",
        FORBIDDEN,
    )


def test_cpus_that_a_container_holds_by_mistake_are_reported() -> None:
    """The reference implementation leaves a sidecar its CPUs when it moves to the shared pool."""
    node = on()
    running = changed(admitted(node, of_all_kinds()), s="cpu=3500m")
    assert node.resize(running, resize_by_reference).verdict == Admitted()
    assert held(node, "s") == "2-5"
    verdict = node.resize(changed(running, a="cpu=5")).verdict
    assert isinstance(verdict, Rejected)
    assert verdict.container == "s"
    assert "(requested CPUs = 3500m, allocated CPUs = 4)" in verdict.message


@pytest.mark.parametrize("to", ["cpu=5", "cpu=4"])
def test_without_a_promise_nothing_is_done(to: str) -> None:
    node = on()
    running = admitted(node, pod_of(guaranteed("4", "a")))
    node.state.baselines.clear()
    assert rejection(node, changed(running, a=to)) == ("a", "getOriginalCPUSetError", ())


def test_only_guaranteed_pods_have_something_to_lose() -> None:
    node = on()
    running = admitted(node, pod_of(app("cpu=1500m", "cpu=4", "a")))
    resized = node.resize(changed(running, a="cpu=2"))
    assert (resized.verdict, resized.departures) == (Admitted(), ())


def test_a_shared_init_container_that_has_ended_may_not_request_cpus() -> None:
    """One that had CPUs may: its new size arrives long after it gave them back, and it gets none."""
    for cpus, want in (("1500m", INCONSISTENT), ("2", "")):
        node = on()
        both = f"cpu={cpus} memory=1Gi"
        running = admitted(node, pod_of(init(both, both, "i"), guaranteed("2", "a")))
        node.remove_container("p", "i")
        verdict = node.resize(changed(running, i="cpu=3")).verdict
        assert (verdict.reason if isinstance(verdict, Rejected) else "") == want
        assert held(node, "i") == "shared"


def test_zero_cpus_are_not_exclusive_cpus() -> None:
    """A container of a pod with pod-level resources may request no CPUs; keeping that is not a move."""
    none, both = "cpu=0 memory=1Gi", resources("cpu=4 memory=4Gi", "cpu=4 memory=4Gi")
    half = app("cpu=500m memory=1Gi", "cpu=500m memory=1Gi", "a")
    node = on()
    running = admitted(node, pod_of(init(none, none, "i"), sidecar(none, none, "s"), half, resources=both))
    assert rejection(node, changed(running, i="cpu=2")) == ("i", INCONSISTENT, FORBIDDEN)
    assert rejection(node, changed(running, s="cpu=2")) == ("s", INCONSISTENT, FORBIDDEN)
    assert node.resize(changed(running, a="cpu=700m")).verdict == Admitted()


@dataclass
class HangsLater:
    """A resource manager that answers the first rounds only."""

    rounds: int
    name: str = "hangs"

    def hints(self, candidate: Candidate, container: Container | None) -> Answer | KubeletFault:
        assert container in (None, *candidate.pod.all_containers)
        self.rounds -= 1
        fault = KubeletFault(kind=FaultKind.ENDLESS_LOOP, where="a resource manager", why="it is busy")
        return fault if self.rounds < 0 else None


def test_a_kubelet_that_would_hang_gets_no_further_than_one_that_rejects() -> None:
    """The reference implementation rejects every resize of the pod as a whole."""
    node = on(**POD_SCOPE)
    running = admitted(node, pod_of(guaranteed("2", "a")))
    wanted = changed(running, a="cpu=4")
    other: Any = HangsLater(rounds=1)
    resized = node.copy().resize(wanted, lambda requested: resize_by_kep(replace(requested, others=(other,))))
    assert isinstance(resized.verdict, Rejected)
    assert (resized.verdict.container, str(resized.verdict.reason)) == ("", "TopologyAffinityError")
    assert node.resize(wanted).departures == POSSIBLE
