"""Nodes and pods whose resizes tests decide, and short ways to write both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.resizing.kep import KEPResize
from cpuctl.engine.cpu.resizing.reference import Resizing
from cpuctl.engine.cpu.resizing.request import Resized
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted
from cpuctl.engine.resize.rules import EXCLUSIVE_CPUS, ResizeRules
from cpuctl.engine.resize.running import PodResize, RunningPod, with_requirements
from cpuctl.engine.start import start_node
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.machine.machine_info import MachineInfo
from cpuctl.pods.model import Container, ResourceRequirements, StoredPod
from cpuctl.records import replace
from tests.support.pods import amounts, app, manifest, pod
from tests.support.topologies import CoreAt, machine_info

GIB = 1 << 30
PREVIEW: Mapping[str, bool] = {EXCLUSIVE_CPUS: True}
NO_POLICY: Mapping[str, Any] = {"cpu_manager_policy": "none", "reserved_system_cpus": ""}
BEST_EFFORT: Mapping[str, Any] = {"topology_manager_policy": "best-effort"}
RESTRICTED: Mapping[str, Any] = {"topology_manager_policy": "restricted"}


def with_memory(info: MachineInfo, gib: int = 64) -> MachineInfo:
    share = gib * GIB // len(info.nodes)
    nodes = tuple(replace(node, memory_bytes=share) for node in info.nodes)
    return replace(info, nodes=nodes, memory_bytes=share * len(nodes))


def two_nodes(cores: int = 3) -> MachineInfo:
    """Two NUMA nodes, siblings 2c and 2c+1: the machine of KEP-5554's diagram with three cores each."""
    total = 2 * cores
    return with_memory(
        machine_info(
            CoreAt(cpus=(2 * core, 2 * core + 1), numa_node=core // cores, socket=core // cores)
            for core in range(total)
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A kubelet on a machine; by default one with the preview of the allocator."""

    machine: MachineInfo = field(default_factory=two_nodes)
    minor: int = 38
    gates: Mapping[str, bool] = field(default_factory=lambda: PREVIEW)
    config: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kubelet(self) -> Kubelet:
        reported = {"cpu_manager_policy": "static", "reserved_system_cpus": "11", **self.config}
        return Kubelet(
            version=KubeletVersion(self.minor), config=KubeletConfiguration(**reported), gate_flags=self.gates
        )

    def node(self, *, fit: bool = False) -> Node:
        node = start_node(self.machine, self.kubelet, fit=fit)
        assert isinstance(node, Node), node
        return node

    def rules(self, *, preview: bool = False) -> ResizeRules:
        return ResizeRules.of(FeatureGates(self.minor, self.gates), self.kubelet.config, preview=preview)


def guaranteed(cpus: str, name: str = "c", memory: str = "1Gi") -> Container:
    both = f"cpu={cpus} memory={memory}"
    return app(both, both, name)


def pod_of(*containers: Container, name: str = "p", **more: Any) -> StoredPod:
    return pod(*containers, name=name)._replace(uid=name, **more)


def verbatim(*containers: Container, name: str = "p", **more: Any) -> StoredPod:
    """Make a pod without defaults: rules also apply to pods that no API server makes from a manifest."""
    return StoredPod(manifest(*containers, name=name)._replace(uid=name, **more))


def admitted(node: Node, given: StoredPod) -> StoredPod:
    admission = node.admit(given)
    assert isinstance(admission.verdict, Admitted), admission.verdict
    return given


def changed(given: StoredPod, **containers: str) -> StoredPod:
    """Give containers new quantities of some resources, equal as request and limit: ``c="cpu=4"``."""
    old = {each.name: each.resources for each in given.all_containers}
    wanted = {
        name: ResourceRequirements(
            requests={**old[name].requests, **amounts(text)}, limits={**old[name].limits, **amounts(text)}
        )
        for name, text in containers.items()
    }
    return with_requirements(given, wanted)


def with_policies(pod: StoredPod, policies: Mapping[str, frozenset[str]]) -> StoredPod:
    """Give containers a ``resizePolicy``: the resources whose change restarts them."""

    def reported(containers: tuple[Container, ...]) -> tuple[Container, ...]:
        return tuple(replace(each, restarts=policies.get(each.name, frozenset())) for each in containers)

    return pod._replace(containers=reported(pod.containers), init_containers=reported(pod.init_containers))


def request(given: StoredPod, **containers: str) -> PodResize:
    return PodResize(RunningPod.settled(given), changed(given, **containers))


def held(node: Node, container: str = "c", uid: str = "p") -> str:
    cpus = node.state.assigned(uid, container)
    return "shared" if cpus is None else str(CPUSet(cpus))


def by_kep_text(requested: Resizing) -> Resized:
    """Resize as the KEP describes it without trying its reference implementation first."""
    return requested.answer(KEPResize(requested).run())
