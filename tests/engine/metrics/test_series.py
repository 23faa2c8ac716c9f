"""All series of a node: their names and values, and what divided pods add to them."""

from __future__ import annotations

from cpuctl.engine.metrics import samples
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import KubeletFault
from tests.support.pod_level import SIBLINGS, divided, made_of, started, undivided
from tests.support.pods import app

DESCRIBED = {
    "kubelet_cpu_manager_pinning_requests_total": (
        "counter: Pinning requests of containers that should get exclusive CPUs."
    ),
    "kubelet_cpu_manager_pinning_errors_total": "counter: Pinning requests that failed.",
    "kubelet_cpu_manager_shared_pool_size_millicores": (
        "gauge: Size of the shared pool without reserved CPUs, in millicores."
    ),
    "kubelet_cpu_manager_exclusive_cpu_allocation_count": "gauge: Exclusive CPUs.",
    "kubelet_cpu_manager_allocation_per_numa": (
        "gauge: Exclusive CPUs by NUMA node; a node that has none left keeps its last value."
    ),
    "kubelet_memory_manager_pinning_requests_total": (
        "counter: Pinning requests of containers that should get pinned memory."
    ),
    "kubelet_memory_manager_pinning_errors_total": "counter: Pinning requests that failed.",
    "kubelet_topology_manager_admission_requests_total": "counter: Pods to be admitted.",
    "kubelet_topology_manager_admission_errors_total": (
        "counter: Pods rejected, by the policy or by a manager; not counted with policy none."
    ),
    "kubelet_container_aligned_compute_resources_count": (
        "counter: Containers, or pods, whose resources are aligned."
    ),
    "kubelet_container_aligned_compute_resources_failure_count": (
        "counter: Containers, or pods, that could not be aligned."
    ),
    "resource_manager_allocations_total": "counter: Exclusive allocations.",
    "resource_manager_allocation_errors_total": "counter: Exclusive allocations that failed.",
    "resource_manager_container_assignments": "counter: Containers by kind of assignment.",
}


def written(node: Node) -> list[str]:
    """Write series as ``name{label=value} figure``."""
    return [
        f"{each.name}{{{','.join(f'{label}={value}' for label, value in each.labels.items())}}} {each.value}"
        for each in samples(node)
    ]


def of_divided_pods() -> Node:
    """Admit a divided pod; reject one whose containers take all of it, and one that is too large."""
    node = started(topology_manager_policy="best-effort")
    node.admit(divided(3, "2 -", name="fits"))
    node.admit(divided(2, "2 -", name="divides-all"))
    node.admit(divided(20, "2 -", name="too-large"))
    return node


def of_ordinary_pods() -> Node:
    """Admit a pod on each NUMA node, one of them twice; reject one for its CPUs and one for its memory."""
    node = started(topology_manager_policy="best-effort", topology_manager_scope="container")
    node.admit(undivided("3", name="three"))
    node.admit(undivided("6", name="six"))
    node.admit(undivided("3", name="three"))
    node.admit(undivided("20", name="too-large"))
    node.admit(made_of(app("cpu=1 memory=100Gi", "cpu=1 memory=100Gi"), name="too-much-memory"))
    return node


def test_every_metric_has_its_kind_and_help_text() -> None:
    found = [*samples(of_divided_pods()), *samples(of_ordinary_pods())]
    assert {(each.name, f"{each.kind}: {each.help}") for each in found} == set(DESCRIBED.items())


def test_series_of_divided_pods() -> None:
    """The Memory Manager does not see pods that the CPU Manager rejects."""
    assert written(of_divided_pods()) == [
        "kubelet_cpu_manager_pinning_requests_total{} 1",
        "kubelet_cpu_manager_pinning_errors_total{} 2",
        "kubelet_cpu_manager_shared_pool_size_millicores{} 12000",
        "kubelet_cpu_manager_exclusive_cpu_allocation_count{} 3",
        "kubelet_memory_manager_pinning_requests_total{} 1",
        "kubelet_memory_manager_pinning_errors_total{} 0",
        "kubelet_topology_manager_admission_requests_total{} 3",
        "kubelet_topology_manager_admission_errors_total{} 2",
        "kubelet_container_aligned_compute_resources_count{scope=container,boundary=numa_node} 0",
        "kubelet_container_aligned_compute_resources_count{scope=pod,boundary=numa_node} 0",
        "kubelet_container_aligned_compute_resources_count{scope=container,boundary=physical_cpu} 0",
        "kubelet_container_aligned_compute_resources_count{scope=container,boundary=uncore_cache} 1",
        "kubelet_container_aligned_compute_resources_failure_count{scope=container,boundary=numa_node} 0",
        "kubelet_container_aligned_compute_resources_failure_count{scope=pod,boundary=numa_node} 0",
        "kubelet_container_aligned_compute_resources_failure_count{scope=container,boundary=physical_cpu} 0",
        "resource_manager_allocations_total{resource_name=cpu,source=pod} 2",
        "resource_manager_allocations_total{resource_name=memory,source=pod} 2",
        "resource_manager_allocation_errors_total{resource_name=cpu,source=pod} 2",
        "resource_manager_container_assignments{resource_name=cpu,assignment_type=pod_exclusive} 1",
        "resource_manager_container_assignments{resource_name=cpu,assignment_type=pod_shared} 1",
        "resource_manager_container_assignments{resource_name=memory,assignment_type=pod_exclusive} 1",
        "resource_manager_container_assignments{resource_name=memory,assignment_type=pod_shared} 1",
    ]


def test_series_of_ordinary_pods() -> None:
    """A pod that gets no memory already has its CPUs by then."""
    assert written(of_ordinary_pods()) == [
        "kubelet_cpu_manager_pinning_requests_total{} 5",
        "kubelet_cpu_manager_pinning_errors_total{} 1",
        "kubelet_cpu_manager_shared_pool_size_millicores{} 5000",
        "kubelet_cpu_manager_exclusive_cpu_allocation_count{} 10",
        "kubelet_cpu_manager_allocation_per_numa{numa_node=0} 4",
        "kubelet_cpu_manager_allocation_per_numa{numa_node=1} 6",
        "kubelet_memory_manager_pinning_requests_total{} 4",
        "kubelet_memory_manager_pinning_errors_total{} 1",
        "kubelet_topology_manager_admission_requests_total{} 5",
        "kubelet_topology_manager_admission_errors_total{} 2",
        "kubelet_container_aligned_compute_resources_count{scope=container,boundary=numa_node} 0",
        "kubelet_container_aligned_compute_resources_count{scope=pod,boundary=numa_node} 0",
        "kubelet_container_aligned_compute_resources_count{scope=container,boundary=physical_cpu} 0",
        "kubelet_container_aligned_compute_resources_count{scope=container,boundary=uncore_cache} 3",
        "kubelet_container_aligned_compute_resources_failure_count{scope=container,boundary=numa_node} 0",
        "kubelet_container_aligned_compute_resources_failure_count{scope=pod,boundary=numa_node} 0",
        "kubelet_container_aligned_compute_resources_failure_count{scope=container,boundary=physical_cpu} 0",
        "resource_manager_allocations_total{resource_name=cpu,source=node} 3",
        "resource_manager_allocations_total{resource_name=memory,source=node} 2",
        "resource_manager_allocation_errors_total{resource_name=cpu,source=node} 1",
        "resource_manager_allocation_errors_total{resource_name=memory,source=node} 1",
        "resource_manager_container_assignments{resource_name=cpu,assignment_type=node_exclusive} 3",
        "resource_manager_container_assignments{resource_name=memory,assignment_type=node_exclusive} 2",
    ]


def figures(node: Node, *names: str) -> list[int]:
    found = {each.name.removeprefix("kubelet_"): each.value for each in samples(node)}
    return [found[name] for name in names]


def test_numa_nodes_show_a_divided_pod_at_the_next_change() -> None:
    """The kubelet counts before it records what the pod's containers have."""
    node = started(topology_manager_policy="best-effort")
    shown = []
    for name in ("a", "b"):
        node.admit(divided(3, "2 -", name=name))
        shown.append([line for line in written(node) if "per_numa" in line])
    assert shown == [[], ["kubelet_cpu_manager_allocation_per_numa{numa_node=0} 3"]]


def test_a_pod_whose_slices_do_not_fit_is_counted_up_to_the_failure() -> None:
    """Its CPUs are lost: the kubelet never frees them."""
    node = started(topology_manager_policy="best-effort")
    node.admit(divided(4, "i- i- i- s1 s- i1 i4 2 -"))
    assert figures(
        node,
        "cpu_manager_pinning_requests_total",
        "cpu_manager_pinning_errors_total",
        "cpu_manager_exclusive_cpu_allocation_count",
        "cpu_manager_shared_pool_size_millicores",
    ) == [3, 1, 4, 11_000]
    assert [line for line in written(node) if line.startswith("resource_manager_")] == [
        "resource_manager_allocation_errors_total{resource_name=cpu,source=pod} 1",
        "resource_manager_container_assignments{resource_name=cpu,assignment_type=pod_exclusive} 2",
        "resource_manager_container_assignments{resource_name=cpu,assignment_type=pod_shared} 3",
    ]


def test_a_pod_that_crashes_the_kubelet_counts_no_container() -> None:
    node = started(
        "synthetic:2s4n16c2t",
        memory=False,
        topology_manager_policy="best-effort",
        reserved_system_cpus="0,8,16,24",
        cpu_manager_policy_options={"full-pcpus-only": "true", "distribute-cpus-across-numa": "true"},
    )
    assert isinstance(node.admit(divided(54, "2 -")).verdict, KubeletFault)
    names = ("cpu_manager_pinning_requests_total", "cpu_manager_pinning_errors_total")
    assert figures(node, *names) == [0, 1]


def test_a_restarted_kubelet_does_not_count_kept_cpus_twice() -> None:
    node = started(minor=38, topology_manager_policy="best-effort")
    pod = divided(3, "2 -")
    node.admit(pod)
    again = started(minor=38, topology_manager_policy="best-effort")
    again.restore(node.state_file(), node.memory.state_file())
    list(again.readmit([pod]))
    gauges = ("cpu_manager_exclusive_cpu_allocation_count", "cpu_manager_shared_pool_size_millicores")
    assert figures(again, *gauges) == figures(node, *gauges) == [3, 12_000]


def test_a_copy_counts_separately() -> None:
    """Every figure of the copy changes, and none of the original."""
    busy = of_ordinary_pods()
    assert written(busy.copy()) == written(busy)
    node = started(
        SIBLINGS,
        topology_manager_policy="single-numa-node",
        topology_manager_scope="container",
        cpu_manager_policy_options={"full-pcpus-only": "true"},
    )
    before = written(node)
    other = node.copy()
    assert written(other) == before
    for requested in ("cpu=2 memory=1Gi", "cpu=3 memory=1Gi", "cpu=20 memory=1Gi", "cpu=2 memory=1.5"):
        other.admit(made_of(app(requested, requested), name=requested))
    assert not [each for each in written(other) if each in before and "scope=pod" not in each]
    assert written(node) == before
