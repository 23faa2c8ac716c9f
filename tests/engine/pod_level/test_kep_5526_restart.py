"""KEP-5526 across restarts of the kubelet: what its state files keep, and what releases before 1.38 lose.

The text says that a restart does not affect existing workloads. Up to 1.37, a kubelet admits a running pod
as if it held nothing (kubernetes issues 140989 for CPUs, 140906 for memory); from 1.38 on, the text is true.
"""

from __future__ import annotations

from typing import Any

import pytest

from cpuctl.checkpoints.cpu_state import read_cpu_state, write_cpu_state
from cpuctl.checkpoints.memory_state import read_memory_state, write_memory_state
from cpuctl.checkpoints.model import CPUStateFile
from cpuctl.checkpoints.reader import StateReader
from cpuctl.cpuset import CPUSet
from cpuctl.engine.admission import Admission
from cpuctl.engine.node import Node
from cpuctl.engine.node_fit import Allocatable
from cpuctl.engine.outcome import Admitted, KubeletFault, Rejected, StartRefused, Undetermined
from cpuctl.engine.readmission import CPU_ISSUE, MEMORY_ISSUE
from cpuctl.pods.model import StoredPod
from tests.support.pod_level import (
    GATES,
    POLICIES,
    cpus,
    divided,
    free_memory,
    memory,
    pool,
    size,
    started,
    undivided,
)

Refused = StartRefused | KubeletFault | Undetermined | None
DEFECTIVE = [36, 37]


def after_restart(
    node: Node, minor: int, *, on: bool = True, policy: str = "restricted", **config: Any
) -> tuple[Node, Refused]:
    """Start a kubelet with the written state files of another; *on* is its feature gate."""
    reader = StateReader(minor=minor, pod_level_managers=on)
    cpu = write_cpu_state(node.cpu.state_file(), StateReader(minor=minor, pod_level_managers=True))
    blocks = write_memory_state(node.memory.state_file(), StateReader(minor=minor, pod_level_managers=True))
    gates = GATES if on else {**GATES, "PodLevelResourceManagers": False}
    new = started(minor=minor, feature_gates=gates, topology_manager_policy=policy, **config)
    return new, new.restore(read_cpu_state(cpu, reader), read_memory_state(blocks, reader))


def readmitted(pod: StoredPod, minor: int, policy: str = "restricted") -> tuple[Node, Admission, Admission]:
    """Admit a pod, restart the kubelet, and admit it again; return the node and both decisions."""
    node = started(minor=minor, topology_manager_policy=policy)
    first = node.admit(pod)
    assert first.verdict == Admitted()
    new, refused = after_restart(node, minor, policy=policy)
    assert refused is None
    (again,) = new.readmit([pod])
    return new, first, again


@pytest.mark.parametrize("minor", [36, 37, 38])
def test_state_files_keep_pod_level_allocations(minor: int) -> None:
    """The text's PodCPUAssignments and PodMemoryAssignments are ``podEntries`` in the files."""
    node = started(minor=minor)
    node.admit(divided(6, "i2 s1 2 -"))
    new, refused = after_restart(node, minor)
    assert refused is None
    assert new.state_file() == node.state_file()
    assert isinstance(new.state_file(), CPUStateFile)
    assert {uid: str(CPUSet(held)) for uid, held in new.state.pod_entries.items()} == {"pod": "1-6"}
    assert size(new.memory.state.pod_blocks["pod"]) == "6Gi@0"


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("words", ["- -", "3 -", "3 2", "i2 s1 2 -", "s- 2 -"])
def test_from_1_38_a_running_pod_keeps_everything(words: str, policy: str) -> None:
    """As in the text, it keeps its bubble, slices and memory, and there are no findings."""
    node, first, again = readmitted(divided(5, words), 38, policy)
    assert again.verdict == Admitted()
    assert (cpus(again), memory(again)) == (cpus(first), memory(first))
    assert (pool(node), free_memory(node)) == ("0,6-15", {0: 10, 1: 16})
    assert again.readmission is None


def test_from_1_38_a_running_pod_that_no_longer_fits_has_lost_nothing() -> None:
    node = started(minor=38)
    pod = divided(5, "3 2")
    node.admit(pod)
    new, _ = after_restart(node, 38)
    new.allocatable = Allocatable(amounts={}, pods=0)
    (again,) = new.readmit([pod])
    assert isinstance(again.verdict, Rejected)
    assert (again.verdict.reason, again.readmission) == ("OutOfpods", None)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("minor", DEFECTIVE)
@pytest.mark.parametrize(("words", "again"), [("5", "6-10"), ("3 2", "6-8 9-10")])
def test_before_1_38_a_pod_of_slices_is_allocated_twice(
    words: str, again: str, minor: int, policy: str
) -> None:
    """It gets other CPUs, and its memory again; what it had stays without an owner (140989 and 140906)."""
    node, _, second = readmitted(divided(5, words), minor, policy)
    assert (second.verdict, cpus(second)) == (Admitted(), again)
    found = second.readmission
    assert found is not None
    assert (str(CPUSet(found.lost_cpus)), size(found.lost_memory)) == ("1-5", "5Gi@0")
    assert found.held.issues == (CPU_ISSUE, MEMORY_ISSUE)
    node.remove("pod")
    node.clean_up()
    assert (pool(node), free_memory(node)) == ("0,6-15", {0: 10, 1: 16})


@pytest.mark.parametrize("policy", ["restricted", "single-numa-node"])
@pytest.mark.parametrize("minor", DEFECTIVE)
@pytest.mark.parametrize("words", ["- -", "3 -", "i2 s1 2 -", "s- 2 -"])
def test_before_1_38_a_pod_with_a_shared_container_is_rejected(words: str, minor: int, policy: str) -> None:
    """The hints compare the shared container's CPUs with a claim of none, and fail (140989).

    Nothing is lost: what the pod held is released after its removal.
    """
    node, _, again = readmitted(divided(5, words), minor, policy)
    assert isinstance(again.verdict, Rejected)
    assert again.verdict.reason == "TopologyAffinityError"
    assert again.readmission is not None
    assert not again.readmission.lost
    assert again.readmission.held.issues == (CPU_ISSUE, MEMORY_ISSUE)
    node.clean_up()
    assert (pool(node), free_memory(node)) == ("0-15", {0: 15, 1: 16})


@pytest.mark.parametrize("minor", DEFECTIVE)
def test_before_1_38_best_effort_allocates_shared_containers_twice(minor: int) -> None:
    """Impossible hints do not prevent this."""
    node, first, again = readmitted(divided(5, "- -"), minor, "best-effort")
    assert (again.verdict, cpus(first), cpus(again)) == (Admitted(), "1-5 1-5", "6-10 6-10")
    assert again.readmission is not None
    assert again.readmission.lost
    assert pool(node) == "0,11-15"


@pytest.mark.parametrize("minor", DEFECTIVE)
def test_before_1_38_cpus_are_lost_even_if_memory_is_rejected(minor: int) -> None:
    """The CPU Manager comes first: it has already allocated CPUs again when memory is rejected."""
    node, _, again = readmitted(divided(5, "3 -"), minor, "best-effort")
    assert isinstance(again.verdict, Rejected)
    assert "preferred hint violates NUMA node allocation" in again.verdict.message
    assert again.readmission is not None
    assert (str(CPUSet(again.readmission.lost_cpus)), again.readmission.lost_memory) == ("1-5", ())
    node.clean_up()
    assert (pool(node), free_memory(node)) == ("0,6-15", {0: 15, 1: 16})


@pytest.mark.parametrize("minor", DEFECTIVE)
def test_before_1_38_a_full_node_rejects_the_pod_that_fills_it(minor: int) -> None:
    """The pod does not fit a second time; nothing is lost."""
    _, _, again = readmitted(divided(9, "9"), minor, "best-effort")
    assert isinstance(again.verdict, Rejected)
    assert "not enough cpus available to satisfy request: requested=3, available=0" in again.verdict.message
    assert again.readmission is not None
    assert not again.readmission.lost


@pytest.mark.parametrize("memory_too", [True, False])
@pytest.mark.parametrize("minor", DEFECTIVE)
def test_the_restart_after_a_loss_fails(minor: int, memory_too: bool) -> None:
    """As recorded, the next kubelet detects the missing CPUs and memory, and does not start."""
    pod = divided(5, "5")
    node = started(minor=minor, memory=memory_too)
    node.admit(pod)
    new, _ = after_restart(node, minor, memory=memory_too)
    list(new.readmit([pod]))
    _, refused = after_restart(new, minor, memory=memory_too)
    assert isinstance(refused, StartRefused)
    assert refused.error == (
        'current set of available CPUs "0-15" doesn\'t match with CPUs in state "0,6-15"'
    )
    without_cpus = started(minor=minor, memory=memory_too)
    memory_refused = without_cpus.memory.restore(new.memory.state_file())
    assert (memory_refused is None) == (not memory_too)
    if memory_too:
        assert memory_refused == StartRefused(
            stage="memoryManagerStart",
            error="[memorymanager] the expected machine state is different from the real one",
        )


@pytest.mark.parametrize("scope", ["pod", "container"])
@pytest.mark.parametrize("minor", DEFECTIVE)
def test_other_pods_are_not_affected(minor: int, scope: str) -> None:
    """Containers with exclusive CPUs keep them in every release."""
    node = started(minor=minor, topology_manager_scope=scope)
    pods = (
        [undivided("3 2", "plain"), divided(5, "3 2", "inside")]
        if scope == "container"
        else [undivided("3 2")]
    )
    before = [cpus(node.admit(pod)) for pod in pods]
    new, _ = after_restart(node, minor, topology_manager_scope=scope)
    again = list(new.readmit(pods))
    assert [cpus(admission) for admission in again] == before
    assert [admission.readmission for admission in again] == [None] * len(pods)


def test_a_second_admission_without_a_restart_is_the_same_defect() -> None:
    node = started()
    node.admit(divided(5, "5"))
    again = node.admit(divided(5, "5"))
    assert again.readmission is not None
    assert again.readmission.lost


def test_the_allocation_of_another_pod_is_not_a_loss() -> None:
    node = started()
    node.admit(divided(5, "5", "first"))
    assert node.admit(divided(5, "5", "second")).readmission is None


def test_switching_the_gate_on_needs_no_migration() -> None:
    """Rollout: state files from before the gate are read, and new pods get pod-level allocations."""
    old = started(feature_gates={"PodLevelResourceManagers": False})
    old.admit(undivided("3"))
    cpu = read_cpu_state(write_cpu_state(old.cpu.state_file()), StateReader(pod_level_managers=True))
    blocks = read_memory_state(
        write_memory_state(old.memory.state_file()), StateReader(pod_level_managers=True)
    )
    new = started()
    assert new.restore(cpu, blocks) is None
    new.resume([undivided("3")])
    assert cpus(new.admit(divided(5, "- -", "new"))) == "8-12 8-12"


@pytest.mark.parametrize("pods", [["pod"], []], ids=["with a pod", "without"])
def test_switching_the_gate_off_requires_deleting_the_files(pods: list[str]) -> None:
    """Rollback: the text warns of a corrupted checkpoint. In 1.36 this includes files without such a pod."""
    node = started()
    for name in pods:
        node.admit(divided(5, "- -", name))
    _, refused = after_restart(node, 36, on=False)
    assert isinstance(refused, StartRefused)
    assert "could not restore state from checkpoint" in refused.error
    assert "please drain this node and delete the CPU manager checkpoint file" in refused.error
