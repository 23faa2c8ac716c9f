"""Nodes with devices: inventories, and pods that request some."""

from __future__ import annotations

from typing import Any

from cpuctl.cpuset import CPUSet
from cpuctl.engine.admission import Admission
from cpuctl.engine.hints.topology_manager import Merged
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Rejected
from cpuctl.engine.start import start_node
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.machine.devices.inventory import DeviceGroup, DeviceInventory, HeldDevices
from cpuctl.pods.model import Container, ContainerKind
from tests.support.pods import app, init, sidecar
from tests.support.topologies import CoreAt, machine_info

FOUR_NODES = machine_info(CoreAt(cpus=(core,), numa_node=core // 4, socket=core // 8) for core in range(16))
GPU = "x.com/gpu"


def group(nodes: str, free: int, *, used: int = 0, unhealthy: int = 0) -> DeviceGroup:
    healthy = free + used
    return DeviceGroup(numa_nodes=CPUSet.parse(nodes), total=healthy + unhealthy, healthy=healthy, free=free)


def inventory(**resources: list[DeviceGroup]) -> DeviceInventory:
    """Write ``gpu=...`` for ``x.com/gpu``."""
    return DeviceInventory(resources={f"x.com/{name}": tuple(groups) for name, groups in resources.items()})


def started(devices: DeviceInventory | None, policy: str = "restricted", **config: Any) -> Node:
    reported = KubeletConfiguration(
        cpu_manager_policy="static",
        reserved_system_cpus="0",
        topology_manager_policy=policy,
        **config,
    )
    kubelet = Kubelet(version=KubeletVersion(36), config=reported)
    node = start_node(FOUR_NODES, kubelet, fit=True, devices=devices)
    assert isinstance(node, Node), node
    return node


def asking(count: int, name: str = "main", resource: str = GPU) -> Container:
    requested = f"{resource}={count}"
    return app(requested, requested, name)


def with_cpus(cpus: int, count: int, name: str = "main") -> Container:
    requested = f"cpu={cpus} memory=1Mi {GPU}={count}"
    return app(requested, requested, name)


def initial(count: int, name: str = "init", kind: ContainerKind = ContainerKind.INIT) -> Container:
    make = init if kind is ContainerKind.INIT else sidecar
    return make(f"{GPU}={count}", f"{GPU}={count}", name)


def given(admission: Admission) -> list[str]:
    """Show the devices of every container: ``main 2@0 1@0-1``."""
    return [
        " ".join([each.container.name, *(f"{count}@{CPUSet(nodes)}" for nodes, count in got)])
        for each in admission.placements
        for grant in each.devices
        for got in [sorted(grant.by_nodes.items())]
    ]


def merged(admission: Admission) -> list[str]:
    """Show the resulting NUMA nodes of every round."""
    rounds = [requested.merged for requested in admission.hint_rounds]
    return [str(CPUSet(each.hint.nodes or 0)) for each in rounds if isinstance(each, Merged)]


def error(admission: Admission) -> str:
    assert isinstance(admission.verdict, Rejected), admission.verdict
    return admission.verdict.message


def left(node: Node, resource: str = GPU) -> dict[str, int]:
    counts = node.devices.pools[resource].counts(node.devices.free(resource))
    return {str(CPUSet(nodes)): count for nodes, count in counts.items()}


def held(count: int, *, unhealthy: int = 0) -> DeviceInventory:
    """Make two devices at node 0, some of which the running pod ``default/p`` holds."""
    holder = HeldDevices(namespace="default", pod="p", container="main", count=count, unhealthy=unhealthy)
    healthy = 2 - unhealthy
    group = DeviceGroup(
        numa_nodes=CPUSet.of([0]),
        total=2,
        healthy=healthy,
        free=healthy - (count - unhealthy),
        held=(holder,),
    )
    return DeviceInventory(resources={GPU: (group,)})
