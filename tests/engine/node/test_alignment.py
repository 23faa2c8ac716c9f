"""A node with a Topology Manager: the hints of each scope, and what a rejection leaves behind."""

from __future__ import annotations

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.admission import Admission
from cpuctl.engine.cpu.manager import StaticPolicy
from cpuctl.engine.cpu.provider import CPUProvider
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.hints.topology_manager import Merged, TopologyManager
from cpuctl.engine.memory.provider import MemoryProvider
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted, FaultKind, KubeletFault, Rejected
from cpuctl.kubelet.policy_options import CPUPolicyOptions
from cpuctl.kubelet.releases.behaviours import behaviours
from cpuctl.kubelet.reservations import CPUReservation
from cpuctl.pods.model import Container
from cpuctl.records import replace
from tests.engine.node.test_node import named, whole
from tests.support.pods import app
from tests.support.topologies import CoreAt, machine_info


def aligned(policy: str, scope: str = "container", *, second_node: int = 1) -> Node:
    """Start a node with two NUMA nodes, with CPUs 0-3 and 4-7; CPU 0 is reserved."""
    numbers = (0, second_node)
    info = machine_info(CoreAt(cpus=(cpu,), numa_node=numbers[cpu // 4]) for cpu in range(8))
    topology, reserved = CPUTopology.discover(info), CPUReservation(1, CPUSet.parse("0"))
    static = StaticPolicy.construct(topology, CPUPolicyOptions(), reserved, behaviours(36))
    return Node(
        topology,
        CPUProvider(static, topology),
        MemoryProvider(None),
        TopologyManager.of(info, policy, scope, closest=False),
    )


def half(name: str) -> Container:
    return app("cpu=500m memory=1Gi", "cpu=500m memory=1Gi", name)


def rounds(admission: Admission) -> list[str]:
    """Show the result of every round: the container or ``pod``, and the NUMA nodes."""
    return [
        f"{each.container.name if each.container else 'pod'}: {CPUSet(each.merged.hint.nodes or 0)}"
        for each in admission.hint_rounds
        if isinstance(each.merged, Merged)
    ]


def exclusive(admission: Admission) -> list[str]:
    return [str(CPUSet(each.cpus)) for each in admission.placements if each.exclusive]


def test_container_scope_gets_hints_for_each_container_after_the_previous_one_has_its_cpus() -> None:
    admission = aligned("restricted").admit(named("p", whole(2, "a"), half("b"), whole(2, "c")))
    assert isinstance(admission.verdict, Admitted)
    assert rounds(admission) == ["a: 0", "b: 0-1", "c: 1"]
    assert exclusive(admission) == ["1-2", "4-5"]


def test_pod_scope_gets_hints_once_for_all_containers() -> None:
    admission = aligned("restricted", "pod").admit(named("p", whole(2, "a"), half("b"), whole(2, "c")))
    assert isinstance(admission.verdict, Admitted)
    assert rounds(admission) == ["pod: 1"]
    assert exclusive(admission) == ["4-5", "6-7"]


def test_a_container_that_cannot_be_aligned_is_named_and_those_before_it_keep_their_cpus() -> None:
    node = aligned("single-numa-node")
    admission = node.admit(named("p", whole(3, "a"), whole(5, "b"), whole(1, "c")))
    assert admission.verdict == Rejected(
        reason="TopologyAffinityError",
        message="Resources cannot be allocated with Topology locality",
        container="b",
    )
    assert rounds(admission) == ["a: 0", "b: "]
    assert node.state.assigned("p", "a") == 0b1110


def test_a_pod_that_cannot_be_aligned_as_a_whole_gets_nothing() -> None:
    node = aligned("single-numa-node", "pod")
    admission = node.admit(named("p", whole(3, "a"), whole(3, "b")))
    assert isinstance(admission.verdict, Rejected)
    assert admission.verdict.container == ""
    assert admission.placements == ()


@pytest.mark.parametrize(("policy", "taken"), [("best-effort", ["3,7"]), ("restricted", [])])
def test_only_best_effort_admits_what_fits_on_two_nodes_but_not_on_one(policy: str, taken: list[str]) -> None:
    node = aligned(policy)
    node.admit(named("p", whole(2)))
    node.admit(named("q", whole(3)))
    admission = node.admit(named("r", whole(2)))
    assert rounds(admission) == ["main: 0-1"]
    assert exclusive(admission) == taken


@pytest.mark.parametrize("scope", ["container", "pod"])
def test_a_kubelet_that_crashes_over_hints_answers_no_pod(scope: str) -> None:
    node = aligned("best-effort", scope, second_node=64)
    admission = node.admit(named("p", whole(1)))
    assert isinstance(admission.verdict, KubeletFault)
    assert admission.verdict.kind is FaultKind.CRASH
    assert (admission.hint_rounds[0].merged, admission.placements) == (admission.verdict, ())
    crashed_on = admission.hint_rounds[0].container
    assert (crashed_on.name if crashed_on else "pod") == ("main" if scope == "container" else "pod")
    assert node.admit(named("q", app())).verdict == admission.verdict


def test_requesting_hints_admits_nothing() -> None:
    node = aligned("restricted")
    before = node.copy()
    pod = named("p", whole(3))
    assert node.ask(pod, pod.containers[0]).merged == node.ask(pod, None).merged
    assert (node.state, node.active) == (before.state, before.active)


def test_hints_for_a_container_are_about_that_container() -> None:
    pod = named("p", whole(2, "a"), whole(4, "b"))
    node = aligned("single-numa-node")
    first, second = (node.ask(pod, container) for container in pod.containers)
    assert (first.container, second.container) == pod.containers
    assert rounds(replace(node.admit(named("q")), hint_rounds=(first, second))) == ["a: 0", "b: 1"]
