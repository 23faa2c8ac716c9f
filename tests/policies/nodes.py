"""Nodes and pods for policies: a kubelet with the static policy on a described machine."""

from __future__ import annotations

from collections.abc import Mapping

from cpuctl.engine.node import Node
from cpuctl.engine.start import start_node
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.version import DEFAULT_VERSION
from cpuctl.machine.sources import MachineSource
from cpuctl.pods.model import Container, Pod, ResourceRequirements, StoredPod
from cpuctl.pods.rules import PodRules
from cpuctl.pods.stored import stored_pod
from cpuctl.quantity import Quantity

NONE: Mapping[str, str] = {}


def kubelet(
    *,
    reserved: str = "0",
    topology: str = "none",
    scope: str = "container",
    options: Mapping[str, str] = NONE,
) -> Kubelet:
    config = KubeletConfiguration(
        cpu_manager_policy="static",
        cpu_manager_policy_options=options,
        topology_manager_policy=topology,
        topology_manager_scope=scope,
        reserved_system_cpus=reserved,
        feature_gates={"CPUManagerPolicyAlphaOptions": True},
    )
    return Kubelet(version=DEFAULT_VERSION, config=config)


def node_with(machine: MachineSource, reported: Kubelet | None = None) -> Node:
    node = start_node(machine.info, reported or kubelet())
    assert isinstance(node, Node), node
    return node


def pod(name: str, *cpus: int) -> StoredPod:
    """Describe a Guaranteed pod with a container for each number of CPUs."""
    containers = tuple(
        Container(name=f"c{place}", resources=ResourceRequirements(amounts(count), amounts(count)))
        for place, count in enumerate(cpus)
    )
    return stored_pod(Pod(name=name, uid=name, containers=containers), PodRules())


def amounts(cpus: int) -> dict[str, Quantity]:
    return {"cpu": Quantity.parse(str(cpus)), "memory": Quantity.parse("64Mi")}
