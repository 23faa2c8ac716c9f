"""What ``cpuctl pods`` evaluates pods with: node, kubelet, API server, and objects that govern namespaces."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cpuctl import option_names
from cpuctl.errors import UsageError
from cpuctl.inputs.configuration import ServerInputs
from cpuctl.inputs.kubelet import kubelet_gates, load_cgroup_version, load_kubelet, server_gates
from cpuctl.inputs.machine import load_machine, load_memory, load_runtime
from cpuctl.inputs.sources import Sources
from cpuctl.records import Record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpuctl.engine.pod_facts import NodeOfPods, PodFacts
    from cpuctl.inputs.configuration import KubeletInputs
    from cpuctl.inputs.pods import GivenPods
    from cpuctl.kubelet.config import KubeletConfiguration
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.kubelet.releases.difference import Difference
    from cpuctl.machine.model import Machine
    from cpuctl.machine.sources import MachineSource
    from cpuctl.pods.cgroups.files import WeightFormula
    from cpuctl.pods.limit_ranges import LimitRange
    from cpuctl.pods.model import Pod
    from cpuctl.pods.out_of_memory import Ranked
    from cpuctl.pods.resource_quotas import ResourceQuota
    from cpuctl.quantity import Quantity


class PodViewInputs(NamedTuple):
    """The inputs that determine the rules and the node for pods."""

    kubelet: KubeletInputs
    machine: str = ""
    memory: str = ""
    cgroup_version: str = ""
    server: ServerInputs = ServerInputs()
    runtime: str = ""


class NodeView(Record):
    """The node, its kubelet and API server. ``formula`` is None if the container runtime is unknown."""

    node: NodeOfPods
    kubelet: Kubelet
    server_version: str
    formula: WeightFormula | None
    differences: Mapping[str, Difference]
    machine: Machine | None = None

    @property
    def systemd(self) -> bool:
        """Whether the kubelet is configured for the systemd cgroup driver."""
        return self.kubelet.config.cgroup_driver == "systemd"


class ShownPods(Record):
    """Pods, quotas with their final usage, and the order of eviction, None if no usage is known."""

    pods: Sequence[PodFacts]
    limit_ranges: Sequence[LimitRange] = ()
    quotas: Sequence[tuple[ResourceQuota, Mapping[str, Quantity]]] = ()
    eviction: Sequence[Ranked] | None = None


def show_pods(
    found: GivenPods, view: NodeView, usage: Mapping[str, int] | None, sources: Sources
) -> ShownPods:
    """Create pods one after another, and work out the facts about each."""
    from cpuctl.engine.pod_facts import pod_facts
    from cpuctl.engine.pod_server import PodServer
    from cpuctl.pods.stored import stored_pod

    found = found if view.machine is None else found.on(view.machine)
    node = view.node._replace(limit_ranges=found.limit_ranges)
    server = PodServer(node.rules.server, found.limit_ranges, found.quotas)
    server.count(stored_pod(pod, node.rules) for pod in found.pods if pod.phase)
    facts = [pod_facts(pod, node, server) for pod in found.pods]
    return ShownPods(
        pods=facts,
        limit_ranges=found.limit_ranges,
        quotas=list(zip(found.quotas, server.used, strict=True)),
        eviction=None if usage is None else _eviction([each.view for each in facts], usage, sources),
    )


def _eviction(pods: Sequence[Pod], usage: Mapping[str, int], sources: Sources) -> Sequence[Ranked]:
    from cpuctl.pods.out_of_memory import eviction_order

    running = [pod for pod in pods if not pod.terminal]
    unknown = sorted(usage.keys() - {pod.full_name for pod in running})
    if unknown:
        sources.warnings.append(f"usage is given for pods that are missing: {', '.join(unknown[:3])}")
    return eviction_order((pod, usage.get(pod.full_name)) for pod in running)


def load_view(inputs: PodViewInputs, sources: Sources) -> NodeView:
    """Read node, kubelet and API server; raise UsageError as :func:`view_on` does."""
    return view_on(load_machine(inputs.machine, sources) if inputs.machine else None, inputs, sources)


def view_on(machine: MachineSource | None, inputs: PodViewInputs, sources: Sources) -> NodeView:
    """Read kubelet and API server of a machine that has been read.

    Raise UsageError if a node's memory is given together with a machine.
    """
    from cpuctl.engine.pod_facts import NodeOfPods
    from cpuctl.engine.pod_rules import cgroup_settings, differences_in_force, node_rules, server_rules
    from cpuctl.pods.rules import PodRules

    if machine and inputs.memory:
        message = "-m selects a machine, which has its own memory"
        raise UsageError(message, where=option_names.MEMORY, hint="use one of them")
    kubelet = load_kubelet(inputs.kubelet, sources, machine=machine).kubelet
    sources.add_unrecorded(kubelet.version.minor, ("QoS classes and OOM scores", "cgroup values"))
    gates = kubelet_gates(kubelet, sources)
    server = server_gates(inputs.server, gates, sources)
    allocatable = allocatable_of_node(machine, kubelet.config, sources) if machine else None
    memory = allocatable.get("memory") if allocatable else None
    node = NodeOfPods(
        rules=PodRules(server=server_rules(server), node=node_rules(gates)),
        settings=cgroup_settings(
            kubelet.config,
            gates,
            allocatable_memory=memory.value if memory else None,
            page_sizes=page_sizes(machine),
        ),
        static=_static(kubelet.config),
        scope=_scope(kubelet.config),
        policy=kubelet.config.topology_manager_policy,
        unit=_unit(machine, kubelet) if machine else 1,
        cgroup_version=load_cgroup_version(inputs.cgroup_version, machine, sources),
        memory=(machine.info.memory_bytes or None) if machine else load_memory(inputs.memory, sources),
        allocatable=allocatable,
    )
    return NodeView(
        node=node,
        kubelet=kubelet,
        server_version=f"1.{server.minor}",
        formula=load_runtime(inputs.runtime, sources),
        differences=differences_in_force(server, gates),
        machine=machine.machine if machine else None,
    )


def allocatable_of_node(
    machine: MachineSource, config: KubeletConfiguration, sources: Sources
) -> dict[str, Quantity] | None:
    """Compute what a configuration leaves of a machine for pods; None, with a warning, if that fails."""
    from cpuctl.engine.node_resources import reservations_of_node
    from cpuctl.golang.text import GoError

    try:
        lines = reservations_of_node(machine.info, config).lines
    except GoError as error:
        sources.warnings.append(f"the resources reserved on the node are unknown: {error}")
        return None
    return {line.resource: line.allocatable for line in lines if line.allocatable is not None}


def page_sizes(machine: MachineSource | None) -> tuple[int, ...]:
    """Return the sizes of huge pages that a machine has, in bytes."""
    nodes = machine.info.nodes if machine else ()
    return tuple(sorted({kib << 10 for node in nodes for kib in node.hugepages}))


def _static(config: KubeletConfiguration) -> frozenset[str]:
    policies = {
        "cpu": config.cpu_manager_policy == "static",
        "memory": config.memory_manager_policy == "Static",
        "topology": config.topology_manager_policy != "none",
    }
    return frozenset(manager for manager, static in policies.items() if static)


def _unit(machine: MachineSource, kubelet: Kubelet) -> int:
    """Return the number of CPUs that a node allocates together; one if its kubelet does not start."""
    if kubelet.config.cpu_manager_policy != "static":
        return 1

    from cpuctl.engine.cpu.manager import request_step
    from cpuctl.engine.start import Started, check_start

    started = check_start(machine.info, kubelet)
    return request_step(started.policy if isinstance(started, Started) else None)


def _scope(config: KubeletConfiguration) -> str:
    return config.topology_manager_scope if config.topology_manager_policy != "none" else "none"
