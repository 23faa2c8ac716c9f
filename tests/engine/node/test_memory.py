"""A node with the static Memory Manager policy: the memory that pods get, and when it is released."""

from __future__ import annotations

from typing import Any

from cpuctl.engine.memory.hints import MemoryHints
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted, KubeletFault, Rejected
from cpuctl.engine.start import start_node
from cpuctl.kubelet.config import KubeletConfiguration, ReservedMemory
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.machine.machine_info import InfoCore, InfoNode, MachineInfo
from cpuctl.pods.model import Container
from cpuctl.quantity import Quantity
from tests.engine.node.test_node import named, whole
from tests.support.pods import app, init, resources
from tests.support.pods import pod as pod_of

GI = 1 << 30
MACHINE = MachineInfo(
    nodes=tuple(
        InfoNode(
            id=node,
            cores=tuple(InfoCore(socket_id=node, threads=(cpu,)) for cpu in range(4 * node, 4 * node + 4)),
            memory_bytes=10 * GI,
        )
        for node in (0, 1)
    ),
    num_cpus=8,
    num_sockets=2,
    memory_bytes=20 * GI,
)
KEPT = ReservedMemory(numa_node=0, limits={"memory": Quantity.parse("1Gi")})


def started(**config: Any) -> Node:
    reported = {
        "cpu_manager_policy": "static",
        "reserved_system_cpus": "0",
        "memory_manager_policy": "Static",
        "kube_reserved": {"memory": "1Gi"},
        "reserved_memory": (KEPT,),
        **config,
    }
    kubelet = Kubelet(version=KubeletVersion(36), config=KubeletConfiguration(**reported))
    node = start_node(MACHINE, kubelet)
    assert isinstance(node, Node), node
    return node


def asking(memory: str, cpu: str = "1", name: str = "main") -> Container:
    both = f"cpu={cpu} memory={memory}"
    return app(both, both, name)


def holders(node: Node) -> set[str]:
    return set(node.memory.state.blocks)


def test_a_container_gets_memory_in_addition_to_its_cpus() -> None:
    (placed,) = started().admit(named("p", asking("12Gi"))).placements
    assert (placed.exclusive, placed.cpuset_mems) == (True, "0,1")
    assert [(block.type, block.size) for block in placed.memory] == [("memory", 12 * GI)]


def test_a_container_without_exclusive_cpus_also_gets_memory() -> None:
    (placed,) = started().admit(named("p", asking("1Gi", cpu="500m"))).placements
    assert (placed.exclusive, placed.cpuset_mems) == (False, "0")


def test_the_reason_for_no_memory_is_reported() -> None:
    node = started()
    (burstable,) = node.admit(named("p", app("cpu=1 memory=1Gi", "", "main"))).placements
    assert "the pod is Burstable, not Guaranteed" in burstable.why_no_memory
    whole_pod = pod_of(asking("1Gi"), pod_level=resources("cpu=1 memory=1Gi", "cpu=1 memory=1Gi"))
    (placed,) = node.admit(whole_pod).placements
    assert "sets spec.resources" in placed.why_no_memory
    assert (placed.memory, holders(node)) == ((), set())


def test_both_managers_hints_are_merged() -> None:
    """Node 0 has enough CPUs, but too little memory; node 1 has enough of both."""
    node = started(topology_manager_policy="restricted")
    admission = node.admit(named("p", asking("9728Mi")))
    assert list(admission.hint_rounds[0].answers) == ["cpu", "memory"]
    assert [placed.cpuset_mems for placed in admission.placements] == ["1"]
    assert [placed.cpus for placed in admission.placements] == [1 << 4]


def test_each_resource_has_its_own_list() -> None:
    (requested,) = started(topology_manager_policy="restricted").admit(named("p", asking("1Gi"))).hint_rounds
    answer = requested.answers["memory"]
    assert answer is not None
    assert isinstance(answer["memory"], MemoryHints)


def test_a_pod_rejected_for_memory_keeps_its_cpus_until_the_next_pod_is_admitted() -> None:
    node = started()
    admission = node.admit(named("p", asking("20Gi", cpu="2")))
    assert isinstance(admission.verdict, Rejected)
    assert node.state.assigned("p", "main") is not None
    node.admit(named("q", asking("1Gi")))
    assert node.state.assigned("p", "main") is None


def test_each_manager_cleans_up_only_when_it_is_called() -> None:
    """Without a topology policy, the CPU Manager rejects the pod before the Memory Manager is called."""
    node = started()
    node.admit(named("gone", asking("1Gi")))
    node.remove("gone")
    node.admit(named("large", asking("1Gi", cpu="8")))
    assert (set(node.state.assignments), holders(node)) == (set(), {"gone"})
    node.admit(named("small", asking("1Gi")))
    assert holders(node) == {"small"}


def test_a_started_container_ends_the_init_containers_before_it() -> None:
    both = "cpu=1 memory=2Gi"
    pod = named("p", init(both, both, "first"), init(both, both, "second"), asking("1Gi", name="third"))
    node = started()
    node.admit(pod)
    node.start_container(pod, "second")
    assert set(node.memory.state.blocks["p"]) == {"second", "third"}
    assert set(node.state.assignments["p"]) == {"first", "second", "third"}
    node.start_container(pod, "third")
    assert set(node.memory.state.blocks["p"]) == {"third"}


def test_removing_a_container_releases_cpus_and_memory() -> None:
    node = started()
    node.admit(named("p", asking("1Gi")))
    node.remove_container("p", "main")
    assert (node.state.assignments, holders(node)) == ({}, set())


def test_a_copy_is_independent() -> None:
    node = started()
    node.admit(named("p", asking("1Gi")))
    copy = node.copy()
    copy.admit(named("q", asking("1Gi")))
    copy.remove_container("p", "main")
    assert holders(node) == {"p"}
    assert node.memory.state.tables[0].memory_map["memory"].reserved == GI


def test_running_pods_keep_their_memory_after_a_restart() -> None:
    old, pod = started(topology_manager_policy="best-effort"), named("p", asking("12Gi"))
    old.admit(pod)
    node = started(topology_manager_policy="best-effort")
    assert node.restore(old.state_file(), old.memory.state_file()) is None
    (admission,) = node.readmit([pod])
    assert isinstance(admission.verdict, Admitted)
    assert node.memory.state_file() == old.memory.state_file()


def test_readmission_may_be_stopped_halfway() -> None:
    node = started()
    for _ in node.readmit([named("p", whole(1)), named("q", whole(1))]):
        break
    assert node.sources_ready


def test_huge_pages_unknown_to_the_node_crash_the_kubelet() -> None:
    both = "cpu=1 memory=1Gi hugepages-1Gi=1Gi"
    admission = started(topology_manager_policy="restricted").admit(named("p", app(both, both)))
    assert isinstance(admission.verdict, KubeletFault)
    assert admission.hint_rounds[0].merged == admission.verdict
    assert list(admission.hint_rounds[0].answers) == ["cpu"]
    assert admission.hint_rounds[0].container is admission.pod.containers[0]
