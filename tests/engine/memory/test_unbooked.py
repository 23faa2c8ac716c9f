"""Guaranteed huge pages that pods not tracked by the Memory Manager could take."""

from __future__ import annotations

from cpuctl.checkpoints.model import MemoryBlock
from cpuctl.engine.memory.unbooked import PagesAtRisk, pages_at_risk
from cpuctl.pods.model import Container, Pod, ResourceRequirements, StoredPod
from cpuctl.quantity import Quantity
from tests.support.memory import HUGE, PAGE, fresh_state, memory_machine, take
from tests.support.pods import stored

GI = 1 << 30


def requesting(name: str, pages: int) -> StoredPod:
    amount = {HUGE: Quantity.from_value(pages * PAGE, Quantity.parse("1Mi").format)}
    container = Container(name="c", resources=ResourceRequirements(requests=amount, limits=amount))
    return stored(Pod(name=name, namespace="default", uid=name, containers=(container,)))


def test_the_pods_of_the_issue_become_a_risk_with_one_more_pod() -> None:
    """Kubernetes issue 134395: 20 pages on each node, 10 guaranteed on node 0; a Burstable pod takes 10."""
    state = fresh_state(memory_machine([GI, GI], [20, 20]))
    take(state, "guar", 0b1, memory=1 << 20, pages=10)
    pods = {"guar": requesting("guar", 10), "burst": requesting("burst", 10)}
    assert list(pages_at_risk(state, pods)) == []
    pods["burst2"] = requesting("burst2", 10)
    (found,) = pages_at_risk(state, pods)
    assert found == PagesAtRisk(
        numa_nodes=(0,),
        resource=HUGE,
        allocatable=20 * PAGE,
        guaranteed=10 * PAGE,
        outside=20 * PAGE,
        holders=("default/guar",),
        takers=("default/burst", "default/burst2"),
    )
    assert found.missing == 10 * PAGE


def test_on_one_node_there_is_no_risk() -> None:
    """The kubelet admits no more than the node has: other pods cannot take guaranteed pages."""
    state = fresh_state(memory_machine([GI], [20]))
    take(state, "guar", 0b1, memory=1 << 20, pages=10)
    assert list(pages_at_risk(state, {"burst": requesting("burst", 10)})) == []


def test_pods_tracked_by_the_memory_manager_are_not_a_risk() -> None:
    state = fresh_state(memory_machine([GI, GI], [20, 20]))
    take(state, "a", 0b1, memory=1 << 20, pages=20)
    take(state, "b", 0b10, memory=1 << 20, pages=20)
    assert list(pages_at_risk(state, {"a": requesting("a", 20), "b": requesting("b", 20)})) == []


def test_pages_of_several_nodes_are_counted_together() -> None:
    """A group of two nodes of eight can lose the pages that do not fit on the other nodes."""
    state = fresh_state(memory_machine([GI] * 8, [4] * 8))
    take(state, "wide", 0b11, memory=1 << 20, pages=8)
    take(state, "one", 0b100, memory=1 << 20, pages=1)
    found = list(pages_at_risk(state, {"burst": requesting("burst", 3), "plain": requesting("plain", 0)}))
    assert [(each.numa_nodes, each.missing // PAGE) for each in found] == [((0, 1), 3)]
    found = list(pages_at_risk(state, {"burst": requesting("burst", 20)}))
    assert [(each.numa_nodes, each.missing // PAGE) for each in found] == [((0, 1), 8), ((2,), 1)]


def test_pages_of_a_pod_as_a_whole_are_counted_once() -> None:
    """The blocks of its containers are part of the pod's block (KEP-5526)."""
    state = fresh_state(memory_machine([GI, GI], [4, 4]))
    take(state, "whole", 0b1, memory=1 << 20, pages=3)
    state.pod_blocks["whole"] = (MemoryBlock(numa_affinity=(0,), type=HUGE, size=3 * PAGE),)
    (found,) = pages_at_risk(state, {"burst": requesting("burst", 2)})
    assert (found.guaranteed, found.missing) == (3 * PAGE, PAGE)
