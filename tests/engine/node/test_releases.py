"""A node of older releases: each rule in the release that introduced it and in the one before."""

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


def pod_requesting(name: str, memory: str, cpu: str = "1") -> StoredPod:
    return named(name, asking(memory, cpu))


@pytest.mark.parametrize("minor", [27, 31, 32, 36])
def test_groups_of_numa_nodes_may_overlap_before_1_32(minor: int) -> None:
    """A pod needs both nodes, but one of them already has memory assigned alone (kubernetes issue 120733)."""
    node = started(minor, topology_manager_policy="best-effort")
    node.admit(pod_requesting("one", "4Gi"))
    verdict = node.admit(pod_requesting("wide", "12Gi", cpu="5")).verdict
    if minor < 32:
        assert isinstance(verdict, Admitted)
        assert cpuset_mems(node.memory.state.blocks["wide"]["main"]) == "0,1"
    else:
        assert isinstance(verdict, Rejected)
        assert verdict.message.startswith(GROUPS)


def after_a_deletion(minor: int) -> Node:
    """Two pods share a group; one is removed, and the group's memory is divided differently (113130)."""
    node = started(minor)
    for name, memory in (("big", "14Gi"), ("gone", "2Gi"), ("small", "1Gi")):
        assert isinstance(node.admit(pod_requesting(name, memory)).verdict, Admitted)
        if name == "gone":
            node.remove("gone")
    return node


@pytest.mark.parametrize("minor", [28, 31, 32, 36])
def test_a_state_is_compared_node_by_node_before_1_32(minor: int) -> None:
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
    # Even if the managers treat it as an init container, its kind is still sidecar.
    assert side.container.kind == "sidecar"


def shared(node: Node) -> str:
    return str(CPUSet(node.state.default))


@pytest.mark.parametrize("minor", [31, 32])
def test_the_last_pod_keeps_its_cpus_and_memory_before_1_32(minor: int) -> None:
    """The state file keeps the entry of a removed pod (kubernetes issue 107074)."""
    node = started(minor)
    node.admit(pod_requesting("first", "1Gi"))
    node.admit(pod_requesting("last", "1Gi"))
    node.remove("first")
    node.remove("last")
    node.clean_up()
    assert shared(node) == ("0-1,3-7" if minor == 31 else "0-7")
    assert set(node.memory.state.blocks) == ({"last"} if minor == 31 else set())
    node.admit(pod_requesting("next", "1Gi"))
    assert set(node.memory.state.blocks) == {"next"}


def test_a_restart_forgets_the_last_pod() -> None:
    before = started(31)
    before.admit(pod_requesting("last", "1Gi"))
    before.remove("last")
    node = started(31)
    assert node.restore(before.cpu.state_file(), before.memory.state_file()) is None
    node.resume(())
    node.clean_up()
    assert shared(node) == "0-7"


def test_a_rejected_pod_keeps_its_cpus_before_1_32() -> None:
    node = started(31)
    rejected = node.admit(pod_requesting("greedy", "30Gi")).verdict
    assert isinstance(rejected, Rejected)
    node.clean_up()
    assert shared(node) == "0,2-7"


@pytest.mark.parametrize("minor", [32, 33, 34])
def test_pods_with_pod_level_resources_are_pinned_before_1_34(minor: int) -> None:
    node = started(minor, feature_gates={"PodLevelResources": True})
    both = "cpu=2 memory=2Gi"
    level = resources(both, both)
    pod = named("level", asking("1Gi"))._replace(resources=level)
    (placement,) = node.admit(pod).placements
    assert placement.exclusive == (minor < 34)
    assert bool(placement.memory) == (minor < 34)


def test_a_running_pod_with_pod_level_resources_keeps_its_cpus_and_memory_in_1_34() -> None:
    """A kubelet from 1.34 allocates nothing to such a pod, and releases nothing while it runs."""
    gates, both = {"PodLevelResources": True}, "cpu=2 memory=2Gi"
    level = resources(both, both)
    pod = named("level", asking("1Gi"))._replace(resources=level)
    before, after = started(33, feature_gates=gates), started(34, feature_gates=gates)
    before.admit(pod)
    assert after.restore(before.cpu.state_file(), before.memory.state_file()) is None
    (admission,) = after.readmit([pod])
    (placement,) = admission.placements
    assert (placement.exclusive, placement.cpuset_mems, placement.why_no_memory) == (True, "0", "")
    assert after.cpu.state_file() == before.cpu.state_file()
    assert after.memory.state_file() == before.memory.state_file()


@pytest.mark.parametrize("minor", [31, 32])
def test_best_effort_is_not_a_policy_before_1_32(minor: int) -> None:
    refused = start(minor, memory_manager_policy="BestEffort")
    assert isinstance(refused, StartRefused)
    known = 'policy "BestEffort" is not available for platform "linux"'
    assert refused.error == ('unknown policy: "BestEffort"' if minor == 31 else known)


@pytest.mark.parametrize("minor", [31, 32])
def test_only_the_removed_pod_is_examined(minor: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full node has thousands of pods, and pods are admitted all the time."""
    node = started(minor)
    examined: list[str] = []
    beyond = state.beyond

    def watched(
        held: Mapping[str, Mapping[str, object]], containers: Mapping[str, Collection[str]]
    ) -> list[str]:
        examined.extend(held)
        return beyond(held, containers)

    monkeypatch.setattr(state, "beyond", watched)
    for name in ("one", "two", "three"):
        node.admit(pod_requesting(name, "1Gi"))
    assert not examined
    node.remove("three")
    node.admit(pod_requesting("four", "1Gi"))
    assert examined == ["three"]
    assert {"one", "two", "four"} == node.cpu.state.assignments.keys()
