"""Kubelets that start with state files in tests: their configuration, and the pods on the node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from cpuctl.checkpoints.model import CPUStateFile, MemoryStateFile, PodsStateFile, UnreadableState
from cpuctl.diagnostics import Severity
from cpuctl.engine.state_checks.file_findings import FileFacts, FoundFile, FoundStates
from cpuctl.engine.state_checks.findings import StateFinding, StatePlace
from cpuctl.engine.state_checks.owners import UNKNOWN_OWNERS, Owners
from cpuctl.engine.state_checks.verify import StateVerdict, verify_states
from cpuctl.kubelet.config import KubeletConfiguration, ReservedMemory
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.machine.machine_info import MachineInfo
from cpuctl.machine.pod_resources.model import PodResources
from cpuctl.machine.sources import read_machine
from cpuctl.pods.model import Container, ContainerKind, Pod, ResourceRequirements, StoredPod
from cpuctl.quantity import Quantity
from cpuctl.records import replace
from tests.support.pods import amounts, stored
from tests.support.state_files import CPU_STATE, DB, MACHINE, WEB, cpus

INFO = read_machine(MACHINE).info
CONFIG = KubeletConfiguration(
    cpu_manager_policy="static",
    reserved_system_cpus="0,8",
    memory_manager_policy="Static",
    kube_reserved={"memory": "1Gi"},
    eviction_hard={"memory.available": "0%"},
    reserved_memory=(ReservedMemory(numa_node=0, limits={"memory": Quantity.parse("1Gi")}),),
)
STRICT = replace(CONFIG, cpu_manager_policy_options={"strict-cpu-reservation": "true"})
PODS = replace(
    CONFIG,
    feature_gates={"PodLevelResourceManagers": True},
    topology_manager_policy="restricted",
    topology_manager_scope="pod",
)


def pod(
    uid: str, *containers: Container, inits: tuple[Container, ...] = (), phase: str = "Running"
) -> StoredPod:
    return stored(
        Pod(name=uid, namespace="shop", uid=uid, containers=containers, init_containers=inits, phase=phase)
    )


def container(name: str, count: int, kind: ContainerKind = ContainerKind.APP) -> Container:
    both = amounts(f"cpu={count} memory=1Gi")
    return Container(name=name, kind=kind, resources=ResourceRequirements(requests=both, limits=both))


RUNNING = Owners.of([pod(DB, container("server", 4)), pod(WEB, container("app", 2))])


def state(pool: str = str(CPU_STATE.default_cpu_set), **changes: Any) -> CPUStateFile:
    """Change the valid state."""
    return replace(CPU_STATE, default_cpu_set=cpus(pool), **changes)


def verify(
    cpu: CPUStateFile | UnreadableState | None = CPU_STATE,
    memory: MemoryStateFile | UnreadableState | None = None,
    *,
    info: MachineInfo = INFO,
    config: KubeletConfiguration = CONFIG,
    minor: int = 36,
    owners: Owners = UNKNOWN_OWNERS,
    whole: CPUStateFile | None = None,
    facts: FileFacts | None = None,
    pods: Mapping[str, FoundFile[PodsStateFile]] | None = None,
    answers: PodResources | None = None,
) -> StateVerdict:
    cpu_file = None
    if cpu is not None:
        stated = whole or (cpu if isinstance(cpu, CPUStateFile) else None)
        cpu_file = FoundFile(read=cpu, whole=stated, facts=facts or FileFacts())
    memory_file = None
    if memory is not None:
        memory_file = FoundFile(read=memory, whole=memory if isinstance(memory, MemoryStateFile) else None)
    found = FoundStates(cpu=cpu_file, memory=memory_file, pods=pods or {})
    return verify_states(info, Kubelet(version=KubeletVersion(minor), config=config), found, owners, answers)


def cpu_found(
    severity: Severity, *, code: str, message: str, pod_uid: str = "", container: str = "", **more: Any
) -> StateFinding:
    place = StatePlace("cpu_manager_state", pod_uid, container)
    return StateFinding(severity=severity, code=code, place=place, message=message, **more)


cpu_error = partial(cpu_found, Severity.ERROR)
cpu_warning = partial(cpu_found, Severity.WARNING)
cpu_note = partial(cpu_found, Severity.NOTE)


@dataclass(frozen=True)
class Case:
    """A state, and the expected findings."""

    name: str
    state: CPUStateFile
    found: tuple[StateFinding, ...]
    config: KubeletConfiguration = CONFIG
    owners: Owners = UNKNOWN_OWNERS
    whole: CPUStateFile | None = field(default=None)

    def check(self) -> None:
        """Compare the findings; a kubelet starts if none of them is an error."""
        verdict = verify(self.state, config=self.config, owners=self.owners, whole=self.whole)
        assert verdict.findings == self.found
        assert verdict.starts == all(each.severity is not Severity.ERROR for each in self.found)
