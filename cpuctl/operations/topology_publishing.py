"""A node's NodeResourceTopology: the object that an exporter there would publish.

Rules: ``pkg/resourcemonitor`` and ``pkg/nrtupdater`` of resource-topology-exporter ef567ef, and
``pkg/resourcemonitor`` and ``pkg/nfd-topology-updater`` of node-feature-discovery 76e6cc8. Both query the
kubelet (``List``, ``GetAllocatableResources``) and count by NUMA node, each with its own mistakes, which are
reproduced and reported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.cpuset import CPUSet
from cpuctl.engine.capacity.probe import settled
from cpuctl.engine.memory.tables import is_huge_pages, page_bytes
from cpuctl.errors import InputError, UsageError
from cpuctl.phrases import counted
from cpuctl.pods.model import ContainerKind, QosClass
from cpuctl.pods.qos import pod_qos
from cpuctl.quantity import Quantity
from cpuctl.scheduler.node_topology import (
    FINGERPRINT_ANNOTATION,
    FINGERPRINT_ATTRIBUTE,
    METHOD_ATTRIBUTE,
    POLICY_ATTRIBUTE,
    POLICY_NAMES,
    SCOPE_ATTRIBUTE,
    UPDATE_ANNOTATION,
    FingerprintMethod,
    NodeTopology,
    Zone,
    ZoneResource,
    pods_fingerprint,
)

if TYPE_CHECKING:
    from cpuctl.engine.node import Node
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.machine.model import Machine, NumaNode
    from cpuctl.operations.plan_inputs import Planning
    from cpuctl.pods.model import Container

_COUNTED_PAGES = ("hugepages-2Mi", "hugepages-1Gi")
"""The huge pages whose number the resource topology exporter reads itself."""
_FINGERPRINT = "fingerprint="
OPTION = "--publisher"


class PublisherName(StrEnum):
    """The publisher: the resource topology exporter, or node-feature-discovery's topology updater."""

    RTE = "rte"
    NFD = "nfd"


class Publisher(NamedTuple):
    """An exporter, and which pods its fingerprint covers; None if it is configured to write none."""

    name: PublisherName = PublisherName.RTE
    method: FingerprintMethod | None = FingerprintMethod.EXCLUSIVE

    @classmethod
    def parse(cls, text: str) -> Publisher:
        """Read ``rte``, ``nfd`` or ``rte,fingerprint=all``; raise UsageError for anything else."""
        name, _, rest = text.partition(",")
        methods: dict[str, FingerprintMethod | None] = {
            f"{_FINGERPRINT}{method}": method for method in FingerprintMethod
        }
        methods[f"{_FINGERPRINT}none"] = None
        if (
            name not in list(PublisherName)
            or text.endswith(",")
            or (rest and (rest not in methods or name != PublisherName.RTE))
        ):
            wanted = f"rte, nfd, or rte with one of {', '.join(methods)}"
            raise UsageError(f"expected {wanted}, found {text!r}", where=OPTION)
        usual = FingerprintMethod.EXCLUSIVE if name == PublisherName.RTE else FingerprintMethod.ALL
        return cls(PublisherName(name), methods[rest] if rest else usual)


class Published(NamedTuple):
    """An object, and sentences about what is wrong with it or missing from it."""

    topology: NodeTopology
    notes: tuple[str, ...] = ()


class Held(NamedTuple):
    """What a container listed by the kubelet holds: CPUs, memory (type, size, NUMA nodes), and devices."""

    cpus: CPUSet
    memory: tuple[tuple[str, int, tuple[int, ...]], ...]
    devices: Mapping[str, int]


class Listed(NamedTuple):
    """A pod as ``List`` returns it.

    ``integral``: whether a container requests whole CPUs; ``due``: whether a listed one should have exclusive
    CPUs; ``whole``: the pod-level CPUs (KEP-5526).
    """

    namespace: str
    name: str
    qos: QosClass
    integral: bool
    containers: tuple[Held, ...]
    whole: CPUSet = CPUSet()
    due: bool = False


def publish(
    name: str,
    machine: Machine,
    kubelet: Kubelet,
    node: Node,
    publisher: Publisher,
    names: Mapping[str, tuple[str, str]] | None = None,
) -> Published:
    """Create the object of a started node; *names* are namespaces and names of pods, by UID.

    Raise InputError if the exporter crashes, and publishes nothing.
    """
    writer = _Writer(machine, kubelet, settled(node), publisher, names or {})
    attributes, annotations = writer.fingerprint()
    settings = [
        (SCOPE_ATTRIBUTE, kubelet.config.topology_manager_scope),
        (POLICY_ATTRIBUTE, kubelet.config.topology_manager_policy),
    ]
    policies: tuple[str, ...] = ()
    if publisher.name is PublisherName.NFD:
        settings.reverse()
        wanted = (kubelet.config.topology_manager_policy, kubelet.config.topology_manager_scope)
        policies = (next((each for each, meant in POLICY_NAMES.items() if meant == wanted), "None"),)
        settings += writer.core_kinds()
    elif [each.id for each in machine.numa_nodes] != list(range(len(machine.numa_nodes))):
        numbers = ",".join(str(each.id) for each in machine.numa_nodes)
        raise InputError(
            f"the resource topology exporter crashes on NUMA nodes {numbers}, which it treats as 0 to "
            f"{len(machine.numa_nodes) - 1}: nothing is published",
            where=name,
            hint="use node-feature-discovery instead (--publisher nfd)",
        )
    zones = tuple(map(writer.zone, range(len(machine.numa_nodes))))
    topology = NodeTopology(name, zones, (*attributes, *settings), policies, tuple(annotations))
    return Published(topology, tuple(writer.notes()))


def publish_node(name: str, planning: Planning, node: Node, publisher: Publisher) -> Published:
    """Create the object of a node that *planning* has started; raise InputError as ``publish`` does."""
    machine, names = planning.source.machine, planning.initial.names
    return publish(name, machine, planning.kubelet, node, publisher, names)


class _Writer:
    """Counts what one node's kubelet answers, as an exporter does."""

    def __init__(
        self,
        machine: Machine,
        kubelet: Kubelet,
        node: Node,
        publisher: Publisher,
        names: Mapping[str, tuple[str, str]],
    ) -> None:
        self.machine, self.kubelet, self.node, self.publisher = machine, kubelet, node, publisher
        self.by_rte = publisher.name is PublisherName.RTE
        # By directories, as the libraries of kubelet and exporter read them, not by the lists in them.
        known = node.topology.numa_nodes
        self.cpus = {each.id: CPUSet(known.get(each.id, 0)) for each in machine.numa_nodes}
        self.sidecars = kubelet.gates.enabled("SidecarContainers")
        self.names = names
        self.by_state: list[str] = []
        self.unnamed: list[str] = []
        self.pods = list(self._listed())
        self.allocatable = self._allocatable()
        self.available = self._available()

    def _listed(self) -> Iterator[Listed]:
        """Yield the pods that ``List`` names, with what their containers hold."""
        for uid, pod in self.node.active.items():
            listed = [
                each
                for each in pod.all_containers
                if each.kind is ContainerKind.APP or (self.sidecars and each.kind is ContainerKind.SIDECAR)
            ]
            integral = any(map(_requests_whole_cpus, pod.all_containers))
            qos = pod_qos(pod).qos_class
            # A pod known only from a state file has its UID as name, and holds what Guaranteed pods do.
            by_state = pod.name == uid
            namespace, name = pod.namespace, pod.name
            if by_state:
                self.by_state.append(uid)
                if uid in self.names:
                    namespace, name = self.names[uid]
                else:
                    self.unnamed.append(uid)
            yield Listed(
                namespace,
                name,
                QosClass.GUARANTEED if by_state else qos,
                integral=integral or by_state,
                containers=tuple(self._held(uid, each.name) for each in listed),
                whole=CPUSet(self.node.cpu.state.pod_entries.get(uid, 0)),
                due=bool(self.node.policy)
                and qos is QosClass.GUARANTEED
                and any(map(_requests_whole_cpus, listed))
                and not pod.resources,
            )

    def _held(self, uid: str, name: str) -> Held:
        blocks = self.node.memory.state.blocks.get(uid, {}).get(name, ())
        return Held(
            CPUSet(self.node.cpu.state.assigned(uid, name) or 0),
            tuple((each.type, each.size, tuple(sorted(each.numa_affinity))) for each in blocks),
            self.node.devices.state.held.get(uid, {}).get(name, {}),
        )

    def _allocatable(self) -> dict[int, Counter[str]]:
        """Count ``GetAllocatableResources`` by NUMA node."""
        found: dict[int, Counter[str]] = {}
        policy = self.node.policy
        for number, cpus in self.cpus.items():
            count = (policy.allocatable & cpus.mask).bit_count() if policy else 0
            if count:
                found.setdefault(number, Counter())["cpu"] = count
        for number, table in self.node.memory.state.tables.items():
            for name, amounts in table.memory_map.items():
                if amounts.allocatable:
                    found.setdefault(number, Counter())[name] += amounts.allocatable
        for resource, pool in self.node.devices.pools.items():
            for nodes, devices in pool.by_nodes.items():
                if count := (devices & pool.healthy).bit_count():
                    for number in CPUSet(nodes):
                        found.setdefault(number, Counter())[resource] += count
        return found

    def _available(self) -> dict[int, Counter[str]]:
        left = {number: Counter(amounts) for number, amounts in self.allocatable.items()}
        for pod in self.pods:
            with_devices = any(any(held.devices.values()) for held in pod.containers)
            if not (self.by_rte or pod.qos is QosClass.GUARANTEED or with_devices):
                continue
            for held in pod.containers:
                if self.by_rte or (pod.qos is QosClass.GUARANTEED and pod.integral):
                    for number, cpus in self.cpus.items():
                        _take(left, number, "cpu", len(held.cpus & cpus))
                self._take_memory(left, held)
                self._take_devices(left, held)
        return left

    def _take_memory(self, left: dict[int, Counter[str]], held: Held) -> None:
        for resource, size, nodes in held.memory:
            rest = size
            for number in nodes:
                # RTE subtracts the whole block from each of its nodes, NFD drains one node after another.
                taken = size if self.by_rte else min(rest, left.get(number, Counter())[resource])
                _take(left, number, resource, taken)
                rest -= taken

    def _take_devices(self, left: dict[int, Counter[str]], held: Held) -> None:
        for resource, devices in held.devices.items():
            for nodes, members in self.node.devices.pools[resource].by_nodes.items():
                numbers = list(CPUSet(nodes))
                # RTE counts a device at each of its nodes, NFD only at the last one.
                for number in numbers if self.by_rte else numbers[-1:]:
                    _take(left, number, resource, (devices & members).bit_count())

    def zone(self, number: int) -> Zone:
        """Return the zone for an index in the list of NUMA nodes, which an exporter uses as the node's id."""
        known = {each.id: each for each in self.machine.numa_nodes}
        node = known.get(number)
        amounts = self.allocatable.get(number) or Counter(cpu=0)
        resources = [self._resource(node, number, name, amount) for name, amount in sorted(amounts.items())]
        costs = enumerate(node.distances) if node else ()
        return Zone(
            f"node-{number}",
            resources=tuple(resources),
            costs=tuple((f"node-{other}", distance) for other, distance in costs),
        )

    def _resource(self, node: NumaNode | None, number: int, name: str, amount: int) -> ZoneResource:
        capacity = max(self._capacity(node, name), amount) if node else amount
        available = max(self.available.get(number, Counter())[name], 0)
        return ZoneResource(name, *map(Quantity.from_value, (capacity, amount, available)))

    def _capacity(self, node: NumaNode, name: str) -> int:
        if name == "cpu":
            return len(self.cpus[node.id])
        if name == "memory":
            return node.memory_bytes or 0
        if is_huge_pages(name) and (not self.by_rte or name in _COUNTED_PAGES):
            size = page_bytes(name)
            return node.hugepages.get(size >> 10, 0) * size
        return 0

    def fingerprint(self) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """Return the attributes and the annotations that identify the running pods."""
        method = self.publisher.method
        attributes, annotations = [], []
        if method is not None and not self._left_out():
            exclusive = method is FingerprintMethod.EXCLUSIVE
            pods = ((pod.namespace, pod.name) for pod in self.pods if not exclusive or self._exclusive(pod))
            value = pods_fingerprint(pods)
            attributes.append((FINGERPRINT_ATTRIBUTE, value))
            if self.by_rte:
                attributes.append((METHOD_ATTRIBUTE, method.value))
                annotations.append((FINGERPRINT_ANNOTATION, value))
        if self.by_rte:
            annotations.append((UPDATE_ANNOTATION, "periodic"))
        return attributes, annotations

    def _left_out(self) -> str:
        """Return why there is no fingerprint if there should be one, else an empty text."""
        if self.publisher.method is None:
            return ""
        if self.unnamed:
            return f"state files identify {counted(len(self.unnamed), 'pod')} by UID only"
        if self.by_state and self.publisher.method is FingerprintMethod.ALL:
            return "it also covers pods without exclusive resources, which are not in state files"
        return ""

    def _exclusive(self, pod: Listed) -> bool:
        return any(held.cpus or held.memory or self._near_a_node(held) for held in pod.containers)

    def _near_a_node(self, held: Held) -> bool:
        pools = self.node.devices.pools
        return any(
            nodes and devices & members
            for resource, devices in held.devices.items()
            for nodes, members in pools[resource].by_nodes.items()
        )

    def core_kinds(self) -> Iterator[tuple[str, str]]:
        """Yield the attributes of machines with two kinds of cores, by the kernel's names for them."""
        for name, cpus in (
            ("cpu_atom", self.machine.efficiency_cpus),
            ("cpu_core", self.machine.performance_cpus),
        ):
            if cpus:
                yield name, str(cpus)

    def notes(self) -> Iterator[str]:
        """Yield what is wrong with the object, or missing from it."""
        owner = "the Node" if self.by_rte else "the exporter's Namespace"
        yield f"ownerReferences are skipped: the UID of {owner} is unknown"
        numbers = [each.id for each in self.machine.numa_nodes]
        if numbers != list(range(len(numbers))):
            lost = ",".join(str(number) for number in numbers if number >= len(numbers))
            yield (
                f"node-feature-discovery assumes NUMA nodes 0 to {len(numbers) - 1}: nodes {lost} are missing"
            )
        if self.node.policy is None:
            yield "the CPU Manager's policy is none: the kubelet lists no CPUs as allocatable, zones have 0"
        if self.node.memory.policy is None:
            yield (
                "the Memory Manager's policy is None: the kubelet lists no memory, and neither do zones "
                "(NodeResourceTopologyMatch then rejects every pod that requests memory)"
            )
        if why := self._left_out():
            yield f"the fingerprint is skipped: {why}; use --pods FILE to list the running pods"
        yield from self._miscounts()

    def _miscounts(self) -> Iterator[str]:
        spread = {
            pod.name
            for pod in self.pods
            for held in pod.containers
            for _, _, nodes in held.memory
            if len(nodes) > 1
        }
        if spread and self.by_rte:
            yield (
                f"memory of {_few(spread)} is on several NUMA nodes and is subtracted in full from each: "
                "less is reported as available than there is"
            )
        without = {pod.name for pod in self.pods if pod.due and not any(held.cpus for held in pod.containers)}
        if without:
            yield (
                f"the CPUs of {_few(without)} are not in the state files: they are reported as available "
                "although they are not"
            )
        pools = {
            pod.name
            for pod in self.pods
            if pod.whole.mask & ~_joined(held.cpus.mask for held in pod.containers)
        }
        if pools:
            yield (
                f"CPUs that {_few(pools)} holds as a pod, not in one of its containers, are reported as "
                "available although they are not"
            )


def _requests_whole_cpus(container: Container) -> bool:
    amount = container.resources.requests.get("cpu", Quantity())
    return bool(amount.sign) and amount.is_integral_cpu


def _take(left: dict[int, Counter[str]], number: int, resource: str, amount: int) -> None:
    if number in left and resource in left[number]:
        left[number][resource] -= amount


def _joined(masks: Iterable[int]) -> int:
    joined = 0
    for mask in masks:
        joined |= mask
    return joined


def _few(names: Iterable[str]) -> str:
    from cpuctl.phrases import few

    return few(sorted(names))
