"""The kubelet's own metrics, derived by hand, with their oddities."""

from __future__ import annotations

from typing import Any

from cpuctl.engine.metrics import samples
from cpuctl.engine.node import Node
from cpuctl.engine.start import start_node
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.pods.model import Container, StoredPod
from tests.support.pods import app, init, pod, resources
from tests.support.topologies import CoreAt, machine_info, mask

TWO_NODES = machine_info(
    CoreAt(cpus=(core, core + 8), numa_node=core // 4, socket=core // 4, cache=core // 4) for core in range(8)
)  # siblings c and c+8; node 0 has CPUs 0-3 and 8-11
FOUR = "cpu=4 memory=1Gi"
POOL = "kubelet_cpu_manager_shared_pool_size_millicores"
EXCLUSIVE = "kubelet_cpu_manager_exclusive_cpu_allocation_count"
REQUESTS = "kubelet_cpu_manager_pinning_requests_total"
ERRORS = "kubelet_cpu_manager_pinning_errors_total"
PER_NODE = 'kubelet_cpu_manager_allocation_per_numa{numa_node="%s"}'
ALIGNED = 'kubelet_container_aligned_compute_resources_count{scope="%s",boundary="%s"}'
UNALIGNED = 'kubelet_container_aligned_compute_resources_failure_count{scope="%s",boundary="%s"}'
ASKED = "kubelet_topology_manager_admission_requests_total"
REFUSED = "kubelet_topology_manager_admission_errors_total"
BY_POD = 'resource_manager_%s{resource_name="cpu",%s="%s"}'


def started(policy: str = "none", **config: Any) -> Node:
    reported = KubeletConfiguration(
        cpu_manager_policy="static", reserved_system_cpus="0", topology_manager_policy=policy, **config
    )
    node = start_node(TWO_NODES, Kubelet(version=KubeletVersion(36), config=reported))
    assert isinstance(node, Node), node
    return node


def whole(count: int, name: str = "main") -> Container:
    return app(amounts := f"cpu={count} memory=1Gi", amounts, name)


def named(name: str, *containers: Container, **more: Any) -> StoredPod:
    return pod(*containers, **more)._replace(name=name, uid=name)


def read(node: Node) -> dict[str, int]:
    """Read the series as a scrape names them."""
    found = {}
    for sample in samples(node):
        labels = ",".join(f'{label}="{value}"' for label, value in sample.labels.items())
        found[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
    return found


def test_a_fresh_node() -> None:
    found = read(started())
    assert (found[POOL], found[EXCLUSIVE], found[REQUESTS], found[ASKED]) == (15_000, 0, 0, 0)
    assert PER_NODE % 0 not in found


def test_without_a_policy_nothing_is_counted() -> None:
    node = start_node(TWO_NODES, Kubelet(version=KubeletVersion(36), config=KubeletConfiguration()))
    assert isinstance(node, Node)
    node.admit(named("a", whole(4)))
    assert {name: value for name, value in read(node).items() if value} == {ASKED: 1}


def test_exclusive_cpus_leave_the_pool_and_come_back() -> None:
    node = started()
    node.admit(named("a", whole(4)))
    found = read(node)
    assert (found[POOL], found[EXCLUSIVE], found[REQUESTS]) == (11_000, 4, 1)
    assert found[PER_NODE % 0] == 4
    node.remove("a")
    assert read(node)[EXCLUSIVE] == 4  # clean-up is lazy
    node.clean_up()
    assert (read(node)[POOL], read(node)[EXCLUSIVE]) == (15_000, 0)


def test_a_numa_node_with_no_allocation_left_keeps_its_figure() -> None:
    node = started()
    node.admit(named("a", whole(4)))
    node.remove("a")
    node.clean_up()
    assert read(node)[PER_NODE % 0] == 4


def test_a_numa_node_with_allocations_left_shows_them() -> None:
    node = started()
    for name, count in (("a", 4), ("b", 3)):
        node.admit(named(name, whole(count)))
    node.remove_container("a", "main")
    assert (read(node)[PER_NODE % 0], read(node)[EXCLUSIVE], read(node)[POOL]) == (3, 3, 12_000)


def test_a_resize_corrects_the_gauges() -> None:
    node = started()
    node.admit(named("a", init(FOUR, FOUR), whole(2)))
    assert (read(node)[POOL], read(node)[EXCLUSIVE], read(node)[PER_NODE % 0]) == (9_000, 6, 4)
    node.state.assign("a", "init", mask("1"))
    node.state.assign("a", "main", mask("1-2"))
    node.cpu.resized()
    assert (read(node)[POOL], read(node)[EXCLUSIVE], read(node)[PER_NODE % 0]) == (11_000, 2, 2)


def test_reused_cpus_of_init_containers_make_the_gauges_drift_until_a_restart() -> None:
    node = started()
    amounts = "cpu=2 memory=1Gi"
    node.admit(named("a", init(amounts, amounts), whole(2)))
    assert node.cpu.state.assigned("a", "init") == node.cpu.state.assigned("a", "main")
    assert (read(node)[POOL], read(node)[EXCLUSIVE]) == (11_000, 4)  # 2 CPUs are exclusive
    node.remove("a")
    node.clean_up()
    assert (read(node)[POOL], read(node)[EXCLUSIVE]) == (13_000, 2)  # none are
    again = started()
    again.restore(node.state_file())
    assert (read(again)[POOL], read(again)[EXCLUSIVE]) == (15_000, 0)


def test_a_restart_counts_what_is_in_the_file() -> None:
    node = started()
    node.admit(named("a", whole(4)))
    again = started()
    again.restore(node.state_file())
    found = read(again)
    assert (found[POOL], found[EXCLUSIVE], found[REQUESTS]) == (11_000, 4, 0)
    assert found[PER_NODE % 0] == 4


def test_alignment_is_listed_at_zero() -> None:
    found = read(started())
    assert found[ALIGNED % ("container", "physical_cpu")] == 0
    assert found[ALIGNED % ("container", "uncore_cache")] == 0
    assert found[UNALIGNED % ("container", "physical_cpu")] == 0
    assert UNALIGNED % ("container", "uncore_cache") not in found


def test_a_container_that_is_admitted_again_counts_only_as_a_request() -> None:
    node = started(cpu_manager_policy_options={"full-pcpus-only": "true"})
    first = named("a", whole(4))
    node.admit(first)
    node.admit(first)
    found = read(node)
    assert (found[REQUESTS], found[EXCLUSIVE]) == (2, 4)
    assert found[ALIGNED % ("container", "physical_cpu")] == 2
    assert found[ALIGNED % ("container", "uncore_cache")] == 1


def test_a_rejected_pod_is_counted() -> None:
    node = started(cpu_manager_policy_options={"full-pcpus-only": "true"})
    node.admit(named("odd", whole(3)))
    found = read(node)
    assert (found[REQUESTS], found[ERRORS], found[POOL]) == (1, 1, 15_000)
    assert found[UNALIGNED % ("container", "physical_cpu")] == 1
    assert (found[ASKED], found[REFUSED]) == (1, 0)  # not counted with policy none


def test_shared_containers_request_no_pinning() -> None:
    node = started()
    node.admit(named("a", app("cpu=500m")))
    assert read(node)[REQUESTS] == 0
    assert read(node)[ASKED] == 1


def test_the_topology_manager_counts_containers_that_it_aligns() -> None:
    node = started("single-numa-node")
    assert read(node)[ALIGNED % ("pod", "numa_node")] == 0  # they exist from the start
    node.admit(named("a", whole(2), whole(2, "other")))
    assert read(node)[UNALIGNED % ("container", "numa_node")] == 0
    node.admit(named("b", whole(9)))
    node.admit(named("c", whole(2), whole(9, "other")))
    found = read(node)
    assert found[ALIGNED % ("container", "numa_node")] == 3
    assert found[UNALIGNED % ("container", "numa_node")] == 2
    assert (found[ASKED], found[REFUSED]) == (3, 2)
    assert found[ERRORS] == 0  # the CPU Manager was not even called


def test_other_policies_do_not_count_alignment() -> None:
    node = started("restricted")
    node.admit(named("a", whole(2)))
    assert read(node)[ALIGNED % ("container", "numa_node")] == 0
    assert ALIGNED % ("container", "numa_node") not in read(started())


def test_a_divided_pod_counts_every_container_as_an_allocation() -> None:
    node = started(
        "restricted", topology_manager_scope="pod", feature_gates={"PodLevelResourceManagers": True}
    )
    whole_pod = resources("cpu=4 memory=4Gi", "cpu=4 memory=4Gi")
    node.admit(named("a", whole(2), app(name="side"), app(name="log"), pod_level=whole_pod))
    found = read(node)
    assert found[BY_POD % ("allocations_total", "source", "pod")] == 3
    assert found[BY_POD % ("container_assignments", "assignment_type", "pod_exclusive")] == 1
    assert found[BY_POD % ("container_assignments", "assignment_type", "pod_shared")] == 2
    assert (found[REQUESTS], found[EXCLUSIVE], found[POOL]) == (1, 4, 11_000)


def test_without_the_gate_its_series_are_missing() -> None:
    node = started()
    node.admit(named("a", whole(2)))
    assert not [name for name in read(node) if name.startswith("resource_manager_")]
