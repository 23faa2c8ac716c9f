"""Nodes with pod-level resource managers, and pods that hold resources as a whole (KEP-5526)."""

from __future__ import annotations

from functools import cache
from typing import Any

from cpuctl.cpuset import CPUSet
from cpuctl.engine.admission import Admission
from cpuctl.engine.memory.state import Blocks
from cpuctl.engine.node import Node
from cpuctl.engine.start import start_node
from cpuctl.kubelet.config import KubeletConfiguration, ReservedMemory
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.machine.machine_info import MachineInfo
from cpuctl.machine.sources import read_machine
from cpuctl.pods.model import Container, ContainerKind, StoredPod
from cpuctl.quantity import Format, Quantity
from tests.support.pods import pod, resources

TWO_NODES = "synthetic:2s2n8c1t,mem=16Gi"
"""CPUs 0-7 on NUMA node 0 and 8-15 on node 1, one per core; CPU 0 and 1 GiB of node 0 are reserved."""

SIBLINGS = "synthetic:2s2n8c2t,mem=16Gi"
"""The same with two CPUs per core: c and c+16."""

GATES = {"PodLevelResourceManagers": True, "CPUManagerPolicyAlphaOptions": True}
KINDS = {"": ContainerKind.APP, "i": ContainerKind.INIT, "s": ContainerKind.SIDECAR}
POLICIES = ("best-effort", "restricted", "single-numa-node")


def kubelet(minor: int = 36, *, memory: bool = True, **config: Any) -> Kubelet:
    """Return a kubelet; without *memory* the Memory Manager does nothing."""
    own = ReservedMemory(numa_node=0, limits={"memory": Quantity.parse("1Gi")})
    reported: dict[str, Any] = {
        "cpu_manager_policy": "static",
        "reserved_system_cpus": "0",
        "memory_manager_policy": "Static" if memory else "None",
        "kube_reserved": {"memory": "1Gi"},
        "reserved_memory": (own,),
        "topology_manager_policy": "restricted",
        "topology_manager_scope": "pod",
        "feature_gates": GATES,
    }
    return Kubelet(version=KubeletVersion(minor), config=KubeletConfiguration(**(reported | config)))


@cache
def info_of(machine: str) -> MachineInfo:
    return read_machine(machine).info


def started(machine: str = TWO_NODES, minor: int = 36, *, fit: bool = False, **config: Any) -> Node:
    node = start_node(info_of(machine), kubelet(minor, **config), fit=fit)
    assert isinstance(node, Node), node
    return node


def containers(words: str) -> tuple[Container, ...]:
    """Parse ``3 - i2 s- s1``: what containers request, after ``i`` for init and ``s`` for sidecar.

    A number means as many CPUs and GiB, a dash nothing. Containers are named by position: ``1``, ``2``...
    """
    return tuple(_container(str(place), word) for place, word in enumerate(words.split(), 1))


def _container(name: str, word: str) -> Container:
    kind, requested = (word[0], word[1:]) if word[0] in "is" else ("", word)
    amounts = "" if requested == "-" else f"cpu={requested} memory={requested}Gi"
    return Container(name=name, kind=KINDS[kind], resources=resources(amounts, amounts))


def made_of(*parts: Container, total: str = "", name: str = "pod") -> StoredPod:
    """Make a pod of containers; *total* is its pod-level request (``cpu=5 memory=5Gi``)."""
    whole = resources(total, total) if total else None
    return pod(*parts, pod_level=whole, name=name)._replace(uid=name)


def divided(total: int, words: str, name: str = "pod") -> StoredPod:
    """Make a pod with that many CPUs and GiB as a whole."""
    return made_of(*containers(words), total=f"cpu={total} memory={total}Gi", name=name)


def undivided(words: str, name: str = "pod") -> StoredPod:
    return made_of(*containers(words), name=name)


def cpus(admission: Admission) -> str:
    """Write the CPUs of all containers, init containers first; ``host`` for the node's pool."""
    return " ".join(
        str(CPUSet(each.cpus)) if each.exclusive or each.in_pod_pool else "host"
        for each in admission.placements
    )


def memory(admission: Admission) -> str:
    """Write the memory of all containers as ``3Gi@0``; ``-`` for none."""
    return " ".join(size(each.memory) for each in admission.placements)


def size(blocks: Blocks) -> str:
    shown = (
        f"{Quantity.from_value(block.size, Format.BINARY_SI)}@{CPUSet.of(block.numa_affinity)}"
        for block in blocks
        if block.type == "memory"
    )
    return ",".join(shown) or "-"


def pool(node: Node) -> str:
    return str(CPUSet(node.state.default))


def free_memory(node: Node) -> dict[int, int]:
    """Return the GiB that are free on each NUMA node."""
    tables = node.memory.state.tables
    return {number: table.memory_map["memory"].free >> 30 for number, table in tables.items()}
