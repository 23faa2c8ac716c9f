"""Policies called as the engine calls them, on topologies as tests have them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from cpuctl.engine.cpu.manager import CPURequest, StaticPolicy
from cpuctl.engine.cpu.picking.distributed import Dealing
from cpuctl.engine.cpu.picking.packed import V1_36, PickerRules
from cpuctl.engine.cpu.picking.picker import Picker
from cpuctl.engine.cpu.state import CPUManagerState
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.masks import NO_CPUS, CPUMask, NodeMask
from cpuctl.engine.outcome import Picked, PickResult
from cpuctl.kubelet.policy_options import CPUPolicyOptions
from cpuctl.pods.model import Container, Pod
from cpuctl.pods.rules import PodRules
from cpuctl.pods.stored import stored_pod
from cpuctl.policies.answering import Server
from cpuctl.policies.model import Policy
from cpuctl.policies.what_if import Setting, SubstitutePolicy, describe, elements_of
from cpuctl.policies.worker import Worker

POD = stored_pod(Pod(name="web", uid="web", containers=(Container(name="app"),)), PodRules())


class InThisProcess(Worker):
    """A worker without a process: for harmless policies that are called thousands of times."""

    def __init__(self, policy: Policy, *, as_kubelet: bool = False) -> None:
        self.server = Server(policy, as_kubelet=as_kubelet)
        super().__init__("tested", lambda: self.server)

    def ask(self, question: Any) -> dict[str, Any]:
        return self.server(question, lambda _step: None)


def worker_of(make: Callable[[], Policy], *, budget: float = 10.0, as_kubelet: bool = False) -> Worker:
    return Worker("tested", lambda: Server(make(), as_kubelet=as_kubelet), budget)


def in_place(
    worker: Worker, topology: CPUTopology, settings: Mapping[str, str], *, as_kubelet: bool = False
) -> SubstitutePolicy:
    setting = Setting(elements_of(topology), tuple(sorted(settings.items())))
    return SubstitutePolicy(worker, describe(worker), setting, as_kubelet=as_kubelet)


def choose(
    requested: SubstitutePolicy,
    topology: CPUTopology,
    offered: CPUMask,
    number: int,
    nodes: NodeMask | None = None,
    rules: PickerRules = V1_36,
) -> PickResult:
    """Let a policy choose for one container, on these NUMA nodes, from CPUs on any node."""
    if number < 1:
        return Picked(NO_CPUS)
    picker = Picker(topology, distribute=False, prefer_uncore=False, dealing=Dealing(rules=rules))
    policy = StaticPolicy(topology, CPUPolicyOptions(), picker, NO_CPUS, chooser=requested)
    state = CPUManagerState(topology.cpus)
    return requested._picked(policy, state, CPURequest(POD, POD.containers[0], offered, number, nodes))
