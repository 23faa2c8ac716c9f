"""The largest request by policy and within one element."""

from __future__ import annotations

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.capacity.capacity import (
    TOPOLOGY_POLICIES,
    Largest,
    RefusedRequest,
    headroom_of,
    largest_request,
    under_policy,
)
from cpuctl.engine.capacity.probe import settled
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import FaultKind, KubeletFault, Rejected, StartRefused
from cpuctl.pods.model import StoredPod
from cpuctl.records import replace
from tests.support.capacity_nodes import MACHINE, THREADED, exclusive, kubelet, node_with, shared


def by_policy(*running: StoredPod) -> dict[str, int]:
    reported = kubelet()
    node = settled(node_with(*running, reported=reported))
    answer: dict[str, int] = {}
    for policy in TOPOLOGY_POLICIES:
        other = under_policy(node, MACHINE, reported, policy)
        assert isinstance(other, Node)
        answer[policy] = largest_request(other).cpus
    return answer


@pytest.mark.parametrize(
    ("running", "want"),
    [
        ((), {"none": 15, "best-effort": 15, "restricted": 15, "single-numa-node": 4}),
        # CPUs 9 to 15 are left; five to eight CPUs need two nodes, and that many are left.
        (
            (exclusive("a", 8),),
            {"none": 7, "best-effort": 7, "restricted": 7, "single-numa-node": 4},
        ),
        ((exclusive("a", 13),), {"none": 2, "best-effort": 2, "restricted": 2, "single-numa-node": 2}),
        ((exclusive("a", 15),), {"none": 0, "best-effort": 0, "restricted": 0, "single-numa-node": 0}),
    ],
    ids=["empty", "half full", "two left", "full"],
)
def test_each_policy_has_its_own_largest_request(
    running: tuple[StoredPod, ...], want: dict[str, int]
) -> None:
    assert by_policy(*running) == want


def test_a_smaller_request_may_be_rejected() -> None:
    """One CPU is free on every node: two CPUs must come from a single node, as must three and four."""
    singles = [exclusive(f"p{n}", 1) for n in range(15)]
    node = node_with(*singles, reported=kubelet("restricted"))
    for gone in (1, 4, 8, 12):
        node.remove(next(uid for uid, held in node.state.assignments.items() if held["main"] == 1 << gone))
    largest = largest_request(settled(node))
    assert largest.cpus == 1
    assert largest.stop is not None
    assert largest.stop.cpus == 2
    assert isinstance(largest.stop.verdict, Rejected)
    assert largest.stop.verdict.reason == "TopologyAffinityError"


def test_a_request_for_all_free_cpus_may_be_rejected() -> None:
    """Four CPUs are free on one node and one on another: five are free, but on two nodes."""
    reported = kubelet("single-numa-node")
    node = node_with(
        *(exclusive(f"p{number}", 4) for number in range(3)), exclusive("q", 2), reported=reported
    )
    node.remove("p0")
    largest = largest_request(settled(node))
    assert largest.cpus == 4
    assert largest.stop is not None
    assert isinstance(largest.stop.verdict, Rejected)
    assert (largest.stop.cpus, largest.stop.verdict.reason) == (5, "TopologyAffinityError")


def test_shared_pods_use_up_cpu_without_owning_cpus() -> None:
    node = settled(node_with(*(shared(f"s{n}", "cpu=1500m") for n in range(6))))
    largest = largest_request(node)
    assert largest.cpus == 6
    assert largest.stop is not None
    assert isinstance(largest.stop.verdict, Rejected)
    assert (largest.stop.cpus, largest.stop.verdict.reason) == (7, "OutOfcpu")


def test_a_node_with_its_maximum_of_pods_admits_nothing() -> None:
    node = settled(node_with(shared("a"), shared("b"), reported=kubelet(max_pods=2)))
    largest = largest_request(node)
    assert largest.cpus == 0
    assert largest.stop is not None
    assert isinstance(largest.stop.verdict, Rejected)
    assert largest.stop.verdict.reason == "OutOfpods"


def test_a_kubelet_that_hangs_admits_nothing() -> None:
    node = settled(node_with())
    node.fault = KubeletFault(kind=FaultKind.ENDLESS_LOOP, where="somewhere", why="for a test")
    assert largest_request(node) == Largest(0, RefusedRequest(1, node.fault))


def test_requests_for_whole_cores_grow_by_cores() -> None:
    """CPUs 0 and 16 are a core that is never free as a whole, so 30 of 31 free CPUs can be requested."""
    reported = kubelet(full_pcpus_only="true")
    largest = largest_request(settled(node_with(reported=reported, threaded=True)))
    assert (largest.cpus, largest.stop) == (30, None)
    used = settled(
        node_with(exclusive("a", 14), reported=kubelet("restricted", full_pcpus_only="true"), threaded=True)
    )
    assert isinstance(under_policy(used, THREADED, reported, "best-effort"), Node)
    largest = largest_request(used)
    assert largest.cpus == 16
    assert largest.stop is None


def test_headroom_is_measured_element_by_element() -> None:
    node = settled(node_with(exclusive("a", 2), reported=kubelet("single-numa-node")))
    nodes = {space.number: space for space in headroom_of(node, node.topology.numa_nodes)}
    assert {
        number: (str(CPUSet(space.cpus)), str(CPUSet(space.free)), space.largest)
        for number, space in nodes.items()
    } == {
        0: ("0-3", "3", 1),
        1: ("4-7", "4-7", 4),
        2: ("8-11", "8-11", 4),
        3: ("12-15", "12-15", 4),
    }
    caches = {space.number: space.largest for space in headroom_of(node, node.topology.uncore_caches)}
    assert caches == {0: 0, 1: 1, 2: 2, 3: 2, 4: 2, 5: 2, 6: 2, 7: 2}


@pytest.mark.parametrize(
    ("running", "max_pods", "want"),
    [
        ((shared("a"), shared("b")), 2, [0, 0, 0, 0]),
        ((shared("a", "cpu=13500m"),), 20, [1, 1, 1, 1]),
        ((shared("a", "cpu=11500m"),), 20, [3, 3, 3, 3]),
    ],
    ids=["pods", "one CPU", "three CPUs"],
)
def test_headroom_is_no_more_than_the_node_has_left(
    running: tuple[StoredPod, ...], max_pods: int, want: list[int]
) -> None:
    node = settled(node_with(*running, reported=kubelet(max_pods=max_pods)))
    assert largest_request(node).cpus == max(want)
    assert [space.largest for space in headroom_of(node, node.topology.numa_nodes)] == want


def test_a_policy_with_which_the_kubelet_would_not_start_is_reported() -> None:
    reported = replace(kubelet(align_by_socket="true"), gate_flags={"CPUManagerPolicyAlphaOptions": True})
    node = settled(node_with(reported=reported))
    other = under_policy(node, MACHINE, reported, "single-numa-node")
    assert isinstance(other, StartRefused)
    assert "align-by-socket" in other.error
