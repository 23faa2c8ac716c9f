"""A node as older releases have it: each rule on the side where it is new and on the one before it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pytest

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu import state
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted, Rejected, StartRefused
from cpuctl.engine.placement import cpuset_mems
from cpuctl.engine.start import StartResult, start_node
from cpuctl.kubelet.config import KubeletConfiguration, ReservedMemory
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.pods.model import StoredPod
from cpuctl.quantity import Quantity
from tests.engine.node.test_memory import MACHINE, asking
from tests.engine.node.test_node import named
from tests.support.pods import resources, sidecar

GROUPS = "Allocate failed due to [memorymanager] preferred hint violates NUMA node allocation"
DIFFERENT = "[memorymanager] the expected machine state is different from the real one"


def start(minor: int, **config: Any) -> StartResult:
    reported = {
        "cpu_manager_policy": "static",
        "reserved_system_cpus": "0",
        "memory_manager_policy": "Static",
        "kube_reserved": {"memory": "1Gi"},
        "reserved_memory": (ReservedMemory(numa_node=0, limits={"memory": Quantity.parse("1Gi")}),),
        **config,
    }
    kubelet = Kubelet(version=KubeletVersion(minor), config=KubeletConfiguration(**reported))
    return start_node(MACHINE, kubelet)


def started(minor: int, **config: Any) -> Node:
    node = start(minor, **config)
    assert isinstance(node, Node), node
    return node


def asks(name: str, memory: str, cpu: str = "1") -> StoredPod:
    return named(name, asking(memory, cpu))


@pytest.mark.parametrize("minor", [27, 31, 32, 36])
def test_groups_of_numa_nodes_may_overlap_before_1_32(minor: int) -> None:
    """CPUs of both nodes, and memory that one of them has given away alone (kubernetes issue 120733)."""
    node = started(minor, topology_manager_policy="best-effort")
    node.admit(asks("one", "4Gi"))
    verdict = node.admit(asks("wide", "12Gi", cpu="5")).verdict
    if minor < 32:
        assert isinstance(verdict, Admitted)
        assert cpuset_mems(node.memory.state.blocks["wide"]["main"]) == "0,1"
    else:
        assert isinstance(verdict, Rejected)
        assert verdict.message.startswith(GROUPS)


def after_a_deletion(minor: int) -> Node:
    """Two pods share a group; the first goes, and what its group has is divided in another way (113130)."""
    node = started(minor)
    for name, memory in (("big", "14Gi"), ("gone", "2Gi"), ("small", "1Gi")):
        assert isinstance(node.admit(asks(name, memory)).verdict, Admitted)
        if name == "gone":
            node.remove("gone")
    return node


@pytest.mark.parametrize("minor", [28, 31, 32, 36])
def test_a_state_is_held_against_every_node_before_1_32(minor: int) -> None:
    before = after_a_deletion(minor)
    refused = started(minor).restore(before.cpu.state_file(), before.memory.state_file())
    if minor < 32:
        assert refused == StartRefused(stage="memoryManagerStart", error=DIFFERENT)
    else:
        assert refused is None


@pytest.mark.parametrize("minor", [28, 29])
def test_a_sidecar_lends_what_it_has_in_1_28(minor: int) -> None:
    node = started(minor)
    both = "cpu=1 memory=2Gi"
    admission = node.admit(named("p", sidecar(both, both, "side"), asking("2Gi")))
    side, main = admission.placements
    assert (side.cpus == main.cpus) == (minor == 28)
    left = node.memory.state.tables[0].memory_map["memory"].reserved >> 30
    assert left == (2 if minor == 28 else 4)
    # Whatever the managers read, it is a sidecar to everybody else.
    assert side.container.kind == "sidecar"


def shared(node: Node) -> str:
    return str(CPUSet(node.state.default))


@pytest.mark.parametrize("minor", [31, 32])
def test_the_last_pod_keeps_its_cpus_and_memory_before_1_32(minor: int) -> None:
    """Kubernetes issue 107074: the state file goes on naming a pod that has gone."""
    node = started(minor)
    node.admit(asks("first", "1Gi"))
    node.admit(asks("last", "1Gi"))
    node.remove("first")
    node.remove("last")
    node.clean_up()
    assert shared(node) == ("0-1,3-7" if minor == 31 else "0-7")
    assert set(node.memory.state.blocks) == ({"last"} if minor == 31 else set())
    node.admit(asks("next", "1Gi"))
    assert set(node.memory.state.blocks) == {"next"}


def test_the_last_pod_is_forgotten_by_a_restart() -> None:
    before = started(31)
    before.admit(asks("last", "1Gi"))
    before.remove("last")
    node = started(31)
    assert node.restore(before.cpu.state_file(), before.memory.state_file()) is None
    node.resume(())
    node.clean_up()
    assert shared(node) == "0-7"


def test_a_pod_that_was_refused_keeps_what_it_got_before_1_32() -> None:
    node = started(31)
    rejected = node.admit(asks("greedy", "30Gi")).verdict
    assert isinstance(rejected, Rejected)
    node.clean_up()
    assert shared(node) == "0,2-7"


@pytest.mark.parametrize("minor", [32, 33, 34])
def test_pods_with_resources_of_their_own_are_pinned_before_1_34(minor: int) -> None:
    node = started(minor, feature_gates={"PodLevelResources": True})
    both = "cpu=2 memory=2Gi"
    level = resources(both, both)
    pod = named("level", asking("1Gi"))._replace(resources=level)
    (placement,) = node.admit(pod).placements
    assert placement.exclusive == (minor < 34)
    assert bool(placement.memory) == (minor < 34)


@pytest.mark.parametrize("minor", [31, 32])
def test_best_effort_is_no_policy_before_1_32(minor: int) -> None:
    refused = start(minor, memory_manager_policy="BestEffort")
    assert isinstance(refused, StartRefused)
    known = 'policy "BestEffort" is not available for platform "linux"'
    assert refused.error == ('unknown policy: "BestEffort"' if minor == 31 else known)


@pytest.mark.parametrize("minor", [31, 32])
def test_only_the_pod_that_has_gone_is_looked_through(minor: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full node has thousands of them, and pods come all the time."""
    node = started(minor)
    looked: list[str] = []
    beyond = state.beyond

    def watched(
        held: Mapping[str, Mapping[str, object]], containers: Mapping[str, Collection[str]]
    ) -> list[str]:
        looked.extend(held)
        return beyond(held, containers)

    monkeypatch.setattr(state, "beyond", watched)
    for name in ("one", "two", "three"):
        node.admit(asks(name, "1Gi"))
    assert not looked
    node.remove("three")
    node.admit(asks("four", "1Gi"))
    assert looked == ["three"]
    assert {"one", "two", "four"} == node.cpu.state.assignments.keys()
