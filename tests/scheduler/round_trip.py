"""Plan, publish, read, filter: the plugin's decision on an object against the kubelet's on the node itself.

Every disagreement has to be one of ``DIFFERENCES``; if none of these applies, the plugin's model is exact.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.answering.topology.topology_object import topologies_document
from cpuctl.cpuset import CPUSet
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted, Rejected
from cpuctl.engine.saved_files import SavedFiles
from cpuctl.errors import InputError
from cpuctl.fleet.plan_nodes import allocatable_of
from cpuctl.fleet.topology_plugin import plugin_refusal
from cpuctl.inputs.configuration import KubeletInputs
from cpuctl.inputs.kubelet import load_kubelet
from cpuctl.inputs.pods import rules_of_pods
from cpuctl.inputs.sources import Sources
from cpuctl.inputs.starting_state import StartingState
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.machine.devices.inventory import DeviceGroup, DeviceInventory
from cpuctl.operations.plan_inputs import Planning, PlanningInputs, read_planning
from cpuctl.operations.topology_publishing import Publisher, publish
from cpuctl.pods.model import Container, ContainerKind, Pod, QosClass, ResourceRequirements
from cpuctl.pods.qos import pod_qos
from cpuctl.pods.stored import stored_pod
from cpuctl.quantity import Quantity
from cpuctl.records import replace
from cpuctl.scheduler.decisions import PodNeeds, bound_load, filter_reasons
from cpuctl.scheduler.model import Load, NodeObject
from cpuctl.scheduler.reading import read_node_topologies
from cpuctl.scheduler.topology_match import TopologyRequest

if TYPE_CHECKING:
    from cpuctl.engine.outcome import Verdict
    from cpuctl.engine.start import StartResult
    from cpuctl.pods.model import StoredPod
    from cpuctl.scheduler.node_topology import NodeTopology

GI = 1 << 30


class Setting(NamedTuple):
    """The kubelet's configuration and the publisher; ``before`` is its policy until its restart."""

    policy: str
    scope: str = "container"
    cpus: bool = True
    memory: bool = True
    whole_cores: bool = False
    pod_level: bool = False
    devices: bool = False
    publisher: str = "rte"
    before: str = ""

    def kubelet(self, planning: Planning, policy: str = "") -> Kubelet:
        """Configure the kubelet: one CPU and 100Mi of memory of the first NUMA node are reserved."""
        machine = planning.source.machine
        first = min((each.id for each in planning.source.info.nodes if each.memory_bytes), default=0)
        words = [
            f"--topology-manager-policy={policy or self.policy}",
            f"--topology-manager-scope={self.scope}",
            "--topology-manager-policy-options=max-allowable-numa-nodes=64",
        ]
        if self.cpus:
            cores = [core for core in machine.cores if min(core) == min(machine.online)]
            reserved = cores[0] if self.whole_cores else min(machine.online)
            words += ["--cpu-manager-policy=static", f"--reserved-cpus={reserved}"]
        if self.whole_cores:
            words.append("--cpu-manager-policy-options=full-pcpus-only=true")
        if self.memory:
            words += [
                "--memory-manager-policy=Static",
                "--kube-reserved=memory=100Mi",
                f"--reserved-memory={first}:memory=100Mi",
            ]
        gates = "PodLevelResourceManagers=true" if self.pod_level else ""
        reported = KubeletInputs(arguments=" ".join(words), version="1.36", gates=gates)
        return load_kubelet(reported, Sources(), machine=planning.source).kubelet


SINGLE = "single-numa-node"
SETTINGS = (
    Setting(SINGLE),
    Setting(SINGLE, "pod"),
    Setting(SINGLE, publisher="nfd"),
    Setting(SINGLE, memory=False),
    Setting(SINGLE, "pod", cpus=False),
    Setting(SINGLE, whole_cores=True),
    Setting(SINGLE, "pod", pod_level=True),
    Setting(SINGLE, before="best-effort"),
    Setting(SINGLE, devices=True),
    Setting(SINGLE, "pod", devices=True, publisher="nfd"),
    Setting("restricted"),
    Setting("restricted", "pod", whole_cores=True),
    Setting("best-effort"),
    Setting("none"),
)


class Case(NamedTuple):
    """A pod on a node: the plugin's decision on the object, and the kubelet's on the pod."""

    machine: str
    numa_nodes: tuple[int, ...]
    setting: Setting
    pod: StoredPod
    node: Node
    topology: NodeTopology | None
    message: str
    verdict: Verdict

    @property
    def agrees(self) -> bool:
        """Whether the plugin lets the pod pass exactly if the kubelet admits it."""
        return bool(self.message) is not isinstance(self.verdict, Admitted)

    @property
    def reason(self) -> str | None:
        """Why the kubelet rejects the pod."""
        return self.verdict.reason if isinstance(self.verdict, Rejected) else None

    def __str__(self) -> str:
        stated = self.message or "passes"
        return (
            f"{self.machine} {self.setting} {self.pod.name}: plugin {stated}, kubelet {self.verdict}; "
            f"CPUs: {self.node.cpu.state.assignments}"
        )


def read_machine(name: str) -> Planning:
    """Read a machine; one with partly unrecorded memory gets 64Gi."""
    inputs = PlanningInputs(machine=name, kubelet=KubeletInputs(version="1.36"))
    planning = read_planning(inputs, pods_needed=False)
    info = planning.source.info
    if info.memory_bytes and all(node.memory_known for node in info.nodes):
        return planning
    return read_planning(replace(inputs, memory="64Gi"), pods_needed=False)


def cases(name: str, planning: Planning, settings: Iterable[Setting] = SETTINGS) -> Iterator[Case]:
    """Yield the decisions on pods of every shape while a node fills up, one pod after the other."""
    numbers = tuple(each.id for each in planning.source.machine.numa_nodes)
    for setting in settings:
        planning = replace(planning, devices=devices_on(numbers) if setting.devices else None)
        kubelet = setting.kubelet(planning)
        for node in _nodes(setting, kubelet, planning):
            topology = _published(setting, kubelet, planning, node)
            seen, load = NodeObject("n1", allocatable_of(node)), Load()
            for each in node.active.values():
                load = load.plus(bound_load(each))
            for pod in shapes(node, setting):
                stored = stored_pod(pod, rules_of_pods(kubelet))
                if filter_reasons(PodNeeds.of(stored), seen, load):
                    continue  # the scheduler never sends it here, with the plugin or without
                refusal = plugin_refusal(TopologyRequest.of(stored), topology, seen.allocatable)
                verdict = node.copy().admit(stored).verdict
                if not isinstance(verdict, Admitted | Rejected):
                    continue  # a crashing kubelet has no decision to compare
                message = refusal.message if refusal else ""
                yield Case(name, numbers, setting, stored, node, topology, message, verdict)


def _nodes(setting: Setting, kubelet: Kubelet, planning: Planning) -> Iterator[Node]:
    """Yield a node while it fills up; with a policy ``before``, always restarted with the new one."""
    first = setting.kubelet(planning, setting.before) if setting.before else kubelet
    node = planning.start(first, Sources())
    if not isinstance(node, Node):
        return
    for pod in (None, *fillers(node, setting)):
        if pod is not None:
            after = node.copy()
            if not isinstance(after.admit(stored_pod(pod, rules_of_pods(kubelet))).verdict, Admitted):
                continue
            node = after
        started = _restarted(node, kubelet, planning) if setting.before else node
        if not isinstance(started, Node):
            return
        yield started


def _restarted(node: Node, kubelet: Kubelet, planning: Planning) -> StartResult:
    files = SavedFiles(cpu=node.cpu.state_file(), memory=node.memory.state_file())
    initial = StartingState(files, tuple(node.active.values()), known=True)
    return replace(planning, initial=initial).start(kubelet, Sources())


def _published(setting: Setting, kubelet: Kubelet, planning: Planning, node: Node) -> NodeTopology | None:
    """Publish and read back what ``kubectl get`` would print; None if the exporter crashes."""
    publisher, machine = Publisher.parse(setting.publisher), planning.source.machine
    try:
        found = publish("n1", machine, kubelet, node, publisher)
    except InputError:
        return None
    text = json.dumps(topologies_document([found.topology]))
    (read,) = read_node_topologies(text.encode(), "nrt.json")
    assert read == found.topology
    return read


NIC = "vendor.com/nic"


def devices_on(numbers: tuple[int, ...]) -> DeviceInventory:
    """Put devices near the first and the last NUMA node, near both, and near none."""
    first, last = CPUSet.of(numbers[:1]), CPUSet.of(numbers[-1:])
    groups = {first: 3, last: 2, first | last: 1, CPUSet(): 1}
    if first == last:
        groups = {first: 3, CPUSet(): 1}
    return DeviceInventory(
        resources={
            NIC: tuple(
                DeviceGroup(numa_nodes=nodes, total=count, healthy=count, free=count)
                for nodes, count in groups.items()
            )
        }
    )


# Pods, in sizes that the machine's NUMA nodes make interesting


def container(
    name: str, cpu: str | int, memory: int, kind: ContainerKind = ContainerKind.APP, *, limited: bool = True
) -> Container:
    amounts = {"cpu": Quantity.parse(str(cpu)), "memory": Quantity.from_value(max(memory, 1 << 20))}
    return Container(name, kind, ResourceRequirements(amounts, amounts if limited else {}))


def with_devices(container: Container, count: int) -> Container:
    """Let a container request devices, too."""
    more = {NIC: Quantity.from_value(count)}
    requests, limits = ({**amounts, **more} for _, amounts in container.resources.sides)
    return replace(container, resources=ResourceRequirements(requests, limits))


def pod(name: str, *apps: Container, init: tuple[Container, ...] = ()) -> Pod:
    return Pod(name, apps, init, uid=name)


def _sizes(node: Node, setting: Setting) -> tuple[int, int]:
    """Return how many CPUs and how much memory the largest NUMA node has for pods."""
    step = 2 if setting.whole_cores else 1
    kept = node.policy.allocatable if node.policy else node.topology.cpus
    cpus = max((kept & each).bit_count() for each in node.topology.numa_nodes.values())
    tables = node.memory.state.tables.values()
    memory = max(
        (table.memory_map["memory"].allocatable for table in tables if "memory" in table.memory_map),
        default=4 * GI,
    )
    return max(cpus // step * step, 1), memory


def fillers(node: Node, setting: Setting) -> Iterator[Pod]:
    """Yield pods that are bound to a node one after the other, as far as it admits them."""
    cpus, memory = _sizes(node, setting)
    app = partial(container, memory=1 << 24)
    if setting.pod_level:
        yield pod_level("held-as-a-whole", cpus - cpus // 4, app("a", 1))
    if setting.devices:
        yield pod("held-device", with_devices(app("a", 1), 1))
        yield pod("held-devices", with_devices(app("a", 1), 2))
    yield pod("held-node-and-more", app("a", cpus + 1))
    yield pod("held-memory", container("a", 1, memory * 5 // 4))
    yield pod("held-most", app("a", max(cpus * 3 // 4, 1)))
    yield pod("held-half", app("a", max(cpus // 2, 1)))
    yield pod("held-two", app("a", max(cpus // 4, 1)), app("b", max(cpus // 2, 1)))


def pod_level(name: str, cpus: int, *apps: Container) -> Pod:
    amounts = {"cpu": Quantity.from_value(max(cpus, 2)), "memory": Quantity.from_value(1 << 25)}
    return pod(name, *apps)._replace(resources=ResourceRequirements(amounts, amounts))


def shapes(node: Node, setting: Setting) -> Iterator[Pod]:
    """Yield the pods that are tried on a node."""
    cpus, memory = _sizes(node, setting)
    half, quarter = max(cpus // 2, 1), max(cpus // 4, 1)
    app = partial(container, memory=1 << 24)
    init = partial(container, memory=1 << 24, kind=ContainerKind.INIT)
    sidecar = partial(container, memory=1 << 24, kind=ContainerKind.SIDECAR)
    yield pod("one", app("a", 1))
    yield pod("half", app("a", half))
    yield pod("whole", app("a", cpus))
    yield pod("more", app("a", cpus + 2))
    yield pod("odd", app("a", half + 1))
    yield pod("much-memory", container("a", 1, memory * 3 // 4))
    yield pod("more-memory", container("a", 1, memory * 9 // 8))
    yield pod("two", app("a", half), app("b", half + 1))
    yield pod("three", app("a", quarter), app("b", half), app("c", quarter))
    yield pod("fraction", app("a", f"{half}.5"))
    yield pod("fractions", app("a", half), app("b", f"{cpus - half}.5"))
    yield pod("burstable", container("a", cpus, memory * 3 // 4, limited=False))
    yield pod("init", app("a", max(cpus - 2, 1)), app("b", half), init=(init("i", max(cpus - 1, 1)),))
    yield pod("sidecar", app("a", half), init=(sidecar("s", half + 1),))
    yield Pod("best-effort", (Container("a"),), uid="best-effort")
    if setting.pod_level:
        yield pod_level("as-a-whole", cpus, app("a", 1))
        yield pod_level("more-as-a-whole", cpus + 2, app("a", 1))
    if setting.devices:
        for count in (1, 2, 3, 4, 5):
            yield pod(f"devices-{count}", with_devices(app("a", half), count))
        yield pod("devices-twice", with_devices(app("a", 1), 2), with_devices(app("b", half), 2))
        shared = with_devices(container("a", half, memory // 2, limited=False), 3)
        limits = {NIC: shared.resources.requests[NIC]}
        yield pod("devices-burstable", replace(shared, resources=replace(shared.resources, limits=limits)))


# Where the plugin and the kubelet differ

Applies = Callable[[Case], bool]


def _spread(case: Case) -> bool:
    return any(
        len(block.numa_affinity) > 1
        for held in case.node.memory.state.blocks.values()
        for blocks in held.values()
        for block in blocks
    )


def _sparse(case: Case) -> bool:
    return case.numa_nodes != tuple(range(len(case.numa_nodes)))


def _requests_fraction(case: Case) -> bool:
    cpus = (each.resources.requests.get("cpu", Quantity()) for each in case.pod.all_containers)
    return any(each.sign and not each.is_integral_cpu for each in cpus)


def _has(kind: ContainerKind, case: Case) -> bool:
    return any(each.kind is kind for each in case.pod.init_containers)


PASSES: dict[str, Applies] = {
    "other policies are not filtered": lambda case: (
        case.setting.policy != SINGLE and case.reason != "SMTAlignmentError"
    ),
    "whole cores": lambda case: case.setting.whole_cores and case.reason == "SMTAlignmentError",
    "sidecars": partial(_has, ContainerKind.SIDECAR),
    "init containers": partial(_has, ContainerKind.INIT),
    "groups of NUMA nodes": lambda case: case.setting.memory and _spread(case),
    "devices of several NUMA nodes": lambda case: case.setting.devices and case.setting.publisher == "nfd",
    "pod-level requests": lambda case: case.pod.resources is not None,
    "pod-level CPUs": lambda case: bool(case.node.cpu.state.pod_entries),
    "sparse NUMA nodes": _sparse,
}
"""Why the plugin may let a pod pass that the kubelet rejects."""


def _misses_resources(case: Case) -> bool:
    """Return whether zones have no CPUs or memory, which the kubelet does not align for this pod."""
    requested = {name for each in case.pod.all_containers for name in each.resources.requests}
    listed = [{each.name for each in zone.resources} for zone in case.topology.zones] if case.topology else []
    return pod_qos(case.pod).qos_class is QosClass.BURSTABLE and not all(requested <= each for each in listed)


FILTERS: dict[str, Applies] = {
    "NUMA nodes without CPUs or memory": _misses_resources,
    "no NUMA nodes": lambda case: not case.numa_nodes,
    "devices without a NUMA node": lambda case: case.setting.devices and len(case.numa_nodes) == 1,
    "no memory in zones": lambda case: not case.setting.memory,
    "no CPUs in zones": lambda case: not case.setting.cpus,
    "fractions of CPUs": _requests_fraction,
    "sparse NUMA nodes": _sparse,
}
"""Why the plugin may filter a node whose kubelet admits the pod."""


def explanations(case: Case) -> list[str]:
    """Name possible reasons why the plugin and the kubelet differ on a pod."""
    known = FILTERS if case.message else PASSES
    return [name for name, applies in known.items() if applies(case)]
