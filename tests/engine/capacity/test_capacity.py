"""Everything reported about a node's capacity for the pods of a plan."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.admission import Admission
from cpuctl.engine.capacity import capacity as module
from cpuctl.engine.capacity.capacity import Capacity, Headroom, Largest, Scatter, capacity_of
from cpuctl.engine.capacity.remedy import RemedyKind
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import StartRefused
from cpuctl.engine.start import start_node
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.pods.model import StoredPod
from cpuctl.records import replace
from tests.support.capacity_nodes import MACHINE, exclusive, kubelet, named, node_with, shared, whole

SINGLE = kubelet("single-numa-node")
FULL = [exclusive(f"p{number}", cpus) for number, cpus in enumerate((3, 3, 3, 3))]


def capacity(node: Node, requested: Sequence[StoredPod], reported: Kubelet = SINGLE) -> Capacity:
    return capacity_of(node, MACHINE, reported, [node.admit(pod) for pod in requested])


def names(pods: Sequence[StoredPod]) -> str:
    return " ".join(pod.name for pod in pods)


@pytest.fixture
def found() -> Capacity:
    """Request one pod that fits, two equal ones that do not, and one that no node of this kind admits.

    NUMA node 0 is full; the others have one free CPU each. The last pod is rejected, but leaves behind what
    its first container was given.
    """
    node = node_with(*FULL[1:], reported=SINGLE)
    too_much = named("huge", whole(1, "first"), whole(5, "second"))
    return capacity(node, [FULL[0], exclusive("x", 2), exclusive("y", 2), too_much])


def test_copies_of_every_kind_are_counted(found: Capacity) -> None:
    assert [(names(each.pods), each.fits) for each in found.copies] == [("p0", 0), ("x y", 0), ("huge", 0)]
    assert found.left_out == 0


def test_every_policy_has_its_largest_request(found: Capacity) -> None:
    assert {policy: space.cpus for policy, space in found.largest.items() if isinstance(space, Largest)} == {
        "none": 3,
        "best-effort": 3,
        "restricted": 1,
        "single-numa-node": 1,
    }


def test_every_element_has_its_own_headroom(found: Capacity) -> None:
    def seen(elements: Sequence[Headroom]) -> list[tuple[int, str, str, int]]:
        return [
            (each.number, str(CPUSet(each.cpus)), str(CPUSet(each.free)), each.largest) for each in elements
        ]

    assert seen(found.numa_nodes) == [
        (0, "0-3", "", 0),
        (1, "4-7", "7", 1),
        (2, "8-11", "11", 1),
        (3, "12-15", "15", 1),
    ]
    assert seen(found.uncore_caches)[2:4] == [(2, "4-5", "", 0), (3, "6-7", "7", 1)]
    assert len(found.uncore_caches) == 8
    assert found.fragmentation is not None
    assert found.fragmentation.numa_node == Scatter(1, 3)


def test_every_kind_of_rejected_pod_has_a_remedy(found: Capacity) -> None:
    assert [(names(each.pods), each.kind) for each in found.remedies] == [
        ("x y", RemedyKind.EVICTIONS),
        ("huge", RemedyKind.IMPOSSIBLE),
    ]


def test_a_policy_with_which_the_kubelet_would_not_start_has_no_largest_request() -> None:
    reported = replace(kubelet(align_by_socket="true"), gate_flags={"CPUManagerPolicyAlphaOptions": True})
    largest = capacity(node_with(reported=reported), [], reported).largest
    assert isinstance(largest["single-numa-node"], StartRefused)
    assert largest["restricted"] == Largest(15)


def test_without_a_static_policy_only_copies_and_remedies_are_reported() -> None:
    reported = Kubelet(version=KubeletVersion(36), config=KubeletConfiguration(max_pods=2))
    node = start_node(MACHINE, reported, fit=True)
    assert isinstance(node, Node)
    found = capacity(node, [shared("a"), shared("b"), shared("c")], reported)
    assert [(names(each.pods), each.fits) for each in found.copies] == [("a b c", 0)]
    assert [(names(each.pods), each.kind) for each in found.remedies] == [("c", RemedyKind.EVICTIONS)]
    assert (found.largest, found.numa_nodes, found.uncore_caches, found.fragmentation) == ({}, (), (), None)


def test_measuring_capacity_changes_nothing() -> None:
    node = node_with(*FULL, reported=SINGLE)
    admissions: list[Admission] = [node.admit(named("a", whole(1, "first"), whole(5, "second")))]
    before = node.copy()
    capacity_of(node, MACHINE, SINGLE, admissions)
    assert (node.state, node.active) == (before.state, before.active)


def test_the_number_of_kinds_of_pods_is_limited() -> None:
    kinds = [shared(f"p{number}", f"cpu={number}m") for number in range(1, 35)]
    found = capacity(node_with(reported=kubelet(max_pods=34)), kinds, kubelet(max_pods=34))
    assert (len(found.copies), found.left_out) == (32, 2)


def test_slow_searches_report_progress_and_share_the_budget() -> None:
    """Two kinds of rejected pods get half of the runs each, and half of those are for moves."""
    reported: list[tuple[str, int, int]] = []
    node = node_with(*FULL, reported=SINGLE)
    admissions = [node.admit(exclusive("x", 2)), node.admit(exclusive("y", 3))]
    capacity_of(node, MACHINE, SINGLE, admissions, lambda *words: reported.append(words))
    assert {(what, total) for what, _, total in reported} == {
        ("admitting copies", 0),
        ("looking for pods to move", module.MAX_RUNS // 4),
    }
