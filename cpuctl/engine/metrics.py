"""All metrics of a node as series: names, labels and values, ready to be published.

Rule: kubelet v1.36 ``pkg/kubelet/metrics``. Histograms of durations are left out.
"""

from collections.abc import Iterator, Mapping
from typing import Literal

from cpuctl.engine.cpu.metrics import CPUMetrics
from cpuctl.engine.memory.provider import MemoryMetrics
from cpuctl.engine.node import Node
from cpuctl.records import Record

_PREFIX = "kubelet_"
_ALIGNED = "container_aligned_compute_resources_count"
_UNALIGNED = "container_aligned_compute_resources_failure_count"


class Sample(Record):
    """One value of one series; ``kind`` is ``counter`` or ``gauge``."""

    name: str
    kind: Literal["counter", "gauge"]
    help: str
    value: int
    labels: Mapping[str, str]


def samples(node: Node) -> list[Sample]:
    """List what a scrape of the kubelet's managers would read now, series by series."""
    return [*_cpu(node), *_memory(node), *_topology(node), *_aligned(node), *_divided(node)]


def _cpu(node: Node) -> Iterator[Sample]:
    metrics = node.cpu.metrics
    yield _counter(
        "cpu_manager_pinning_requests_total",
        "Pinning requests of containers that should get exclusive CPUs.",
        metrics.pinning_requests,
    )
    yield _counter(
        "cpu_manager_pinning_errors_total",
        "Pinning requests that failed.",
        metrics.pinning_errors,
    )
    yield _gauge(
        "cpu_manager_shared_pool_size_millicores",
        "Size of the shared pool without reserved CPUs, in millicores.",
        metrics.shared_millicores,
    )
    yield _gauge("cpu_manager_exclusive_cpu_allocation_count", "Exclusive CPUs.", metrics.exclusive)
    for number, count in sorted(metrics.per_numa_node.items()):
        yield _gauge(
            "cpu_manager_allocation_per_numa",
            "Exclusive CPUs by NUMA node; a node that has none left keeps its last value.",
            count,
            numa_node=str(number),
        )


def _memory(node: Node) -> Iterator[Sample]:
    metrics = node.memory.metrics
    yield _counter(
        "memory_manager_pinning_requests_total",
        "Pinning requests of containers that should get pinned memory.",
        metrics.pinning_requests,
    )
    yield _counter(
        "memory_manager_pinning_errors_total", "Pinning requests that failed.", metrics.pinning_errors
    )


def _topology(node: Node) -> Iterator[Sample]:
    metrics = node.topology_metrics
    yield _counter("topology_manager_admission_requests_total", "Pods to be admitted.", metrics.requests)
    yield _counter(
        "topology_manager_admission_errors_total",
        "Pods rejected, by the policy or by a manager; not counted with policy none.",
        metrics.errors,
    )


def _aligned(node: Node) -> Iterator[Sample]:
    scopes = ("container", "pod") if node.topology_manager.policy != "none" else ()
    cpu, topology = node.cpu.metrics, node.topology_metrics
    for name, text, by_scope, by_boundary in (
        (_ALIGNED, "Containers, or pods, whose resources are aligned.", topology.aligned, cpu.aligned),
        (_UNALIGNED, "Containers, or pods, that could not be aligned.", topology.unaligned, cpu.unaligned),
    ):
        for scope in scopes:
            yield _counter(name, text, by_scope[scope], scope=scope, boundary="numa_node")
        for boundary, count in sorted(by_boundary.items()):
            yield _counter(name, text, count, scope="container", boundary=boundary)


def _divided(node: Node) -> Iterator[Sample]:
    """List the series of the gate PodLevelResourceManagers, which have no prefix."""
    if not node.cpu.rules.managers:
        return
    both: tuple[tuple[str, CPUMetrics | MemoryMetrics], ...] = (
        ("cpu", node.cpu.metrics),
        ("memory", node.memory.metrics),
    )
    for name, text, label, figure in (
        ("allocations_total", "Exclusive allocations.", "source", "allocations"),
        ("allocation_errors_total", "Exclusive allocations that failed.", "source", "errors"),
        ("container_assignments", "Containers by kind of assignment.", "assignment_type", "assignments"),
    ):
        for resource, metrics in both:
            for value, count in sorted(getattr(metrics, figure).items()):
                yield Sample(
                    name=f"resource_manager_{name}",
                    kind="counter",
                    help=text,
                    value=count,
                    labels={"resource_name": resource, label: value},
                )


def _counter(name: str, text: str, value: int, **labels: str) -> Sample:
    return Sample(name=_PREFIX + name, kind="counter", help=text, value=value, labels=labels)


def _gauge(name: str, text: str, value: int, **labels: str) -> Sample:
    return Sample(name=_PREFIX + name, kind="gauge", help=text, value=value, labels=labels)
