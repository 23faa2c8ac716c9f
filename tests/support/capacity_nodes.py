"""Nodes for tests of capacity: a small machine, a kubelet, and running pods."""

from __future__ import annotations

from collections.abc import Mapping

from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted
from cpuctl.engine.start import start_node
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.pods.model import Container, StoredPod
from cpuctl.records import replace
from tests.support.pods import app, pod
from tests.support.topologies import CoreAt, machine_info

GIB = 1 << 30
# Two sockets, four NUMA nodes of two caches of two CPUs: node n has CPUs 4n to 4n+3. CPU 0 is reserved.
MACHINE = replace(
    machine_info(
        CoreAt(cpus=(cpu,), numa_node=cpu // 4, socket=cpu // 8, cache=cpu // 2) for cpu in range(16)
    ),
    memory_bytes=32 * GIB,
)
# The same with two CPUs per core: core c has CPUs c and c+16.
THREADED = replace(
    machine_info(
        CoreAt(cpus=(core, core + 16), numa_node=core // 4, socket=core // 8, cache=core // 2)
        for core in range(16)
    ),
    memory_bytes=32 * GIB,
)


def kubelet(policy: str = "none", *, max_pods: int = 20, **options: str) -> Kubelet:
    """Return a kubelet of the static policy; options are those of the CPU Manager, with underscores."""
    config = KubeletConfiguration(
        cpu_manager_policy="static",
        cpu_manager_policy_options={name.replace("_", "-"): value for name, value in options.items()},
        topology_manager_policy=policy,
        reserved_system_cpus="0",
        max_pods=max_pods,
    )
    return Kubelet(version=KubeletVersion(36), config=config)


def node_with(*pods: StoredPod, reported: Kubelet | None = None, threaded: bool = False) -> Node:
    """Start a node and admit pods, which must all fit."""
    node = start_node(THREADED if threaded else MACHINE, reported or kubelet(), fit=True)
    assert isinstance(node, Node), node
    for each in pods:
        admission = node.admit(each)
        assert isinstance(admission.verdict, Admitted), admission
    return node


def whole(count: int, name: str = "main", memory: str = "1Gi") -> Container:
    both = f"cpu={count} memory={memory}"
    return app(both, both, name)


def named(name: str, *containers: Container) -> StoredPod:
    return pod(*containers, name=name)._replace(uid=name)


def exclusive(name: str, cpus: int) -> StoredPod:
    return named(name, whole(cpus))


def shared(name: str, requests: str = "cpu=500m") -> StoredPod:
    return named(name, app(requests))


def held(node: Node) -> Mapping[str, int]:
    """Return the exclusive CPUs of every pod."""
    union: dict[str, int] = {}
    for uid, containers in node.state.assignments.items():
        for cpus in containers.values():
            union[uid] = union.get(uid, 0) | cpus
    return union
