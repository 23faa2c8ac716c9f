"""The settings that a kubelet may have on a machine: which ones exist, and which of them are equivalent.

These are varied: policy and options of the CPU Manager; policy, scope and options of the Topology Manager;
policy of the Memory Manager with the reservation that it needs; the reserved CPUs; and, on request, policies
(plugins) that no kubelet has. Options that a release does not accept, or not together, are left out by the
rule by which the kubelet refuses them. Two settings are equivalent if the engine's rules make no difference
between them on this machine with these pods; every such rule is in ``Equivalence``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.topology import CPUTopology
from cpuctl.engine.hints.topology_manager import POLICIES
from cpuctl.engine.node_capacity import node_reservations
from cpuctl.engine.reserve import (
    CPUReserve,
    MemoryReserve,
    NoProposal,
    ReserveRequest,
    choose_reserved,
    propose,
)
from cpuctl.golang.conversions import reads_true
from cpuctl.golang.text import GoError
from cpuctl.kubelet.config import ATTRIBUTES, KubeletConfiguration, ReservedMemory, SettingError
from cpuctl.kubelet.policy_options import (
    ALIGN_BY_SOCKET,
    CPU_POLICY_OPTIONS,
    CPU_SWITCHES,
    DEFAULT_MAX_NODES,
    DISTRIBUTE_NUMA,
    FULL_PCPUS_ONLY,
    MAX_NODES,
    PREFER_CLOSEST,
    SCALE_DELAY,
    STRICT_RESERVATION,
    parse_cpu_policy_options,
    parse_topology_options,
)
from cpuctl.records import replace

if TYPE_CHECKING:
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.machine.machine_info import MachineInfo
    from cpuctl.machine.model import Machine
    from cpuctl.pods.model import StoredPod


class LeftOut(NamedTuple):
    """A setting that is not tried, and why."""

    setting: str
    why: str


class Choice(NamedTuple):
    """Settings to try: a configuration, what it changes in words, and a policy (plugin), if any.

    ``options`` are the CPU Manager's switches that are on, ``closest`` is that of the Topology Manager.
    """

    config: KubeletConfiguration
    changes: tuple[str, ...] = ()
    options: frozenset[str] = frozenset()
    closest: bool = False
    policy: str = ""


class _Topology(NamedTuple):
    policy: str
    scope: str
    closest: bool


class _CPUs(NamedTuple):
    policy: str
    options: frozenset[str] = frozenset()
    reserved: str = ""
    plugin: str = ""


class _Memory(NamedTuple):
    policy: str
    reserved: tuple[ReservedMemory, ...]


def _switched_on(options: Mapping[str, str]) -> frozenset[str]:
    return frozenset(name for name, value in options.items() if reads_true(value))


class Space:
    """All settings for one kubelet on one machine, those closest to the current ones first.

    ``left_out`` lists what is not among them. ``plugins`` are the names of policies to try in place of the
    kubelet's, with reserved CPUs and whole cores unchanged. *keep* (of ``VARIED``) are not varied.
    """

    def __init__(
        self,
        machine: Machine,
        info: MachineInfo,
        kubelet: Kubelet,
        *,
        plugins: Sequence[str] = (),
        keep: Collection[str] = (),
    ) -> None:
        self._machine = machine
        self._keep = keep
        self._info = info
        self._kubelet = kubelet
        self._plugins = plugins
        self._now = kubelet.config
        self._options_on = _switched_on(self._now.cpu_manager_policy_options)
        self._closest_on = PREFER_CLOSEST in _switched_on(self._now.topology_manager_policy_options)
        self.left_out: list[LeftOut] = []

    def choices(self) -> list[Choice]:
        """List the settings; those with policies that no kubelet has are last."""
        parts = product(self._cpus(), self._topologies(), self._memories())
        found = (self._choice(*each) for each in parts)
        kept = (each for each in found if all(self._stays(name, each) for name in self._keep))
        return sorted(kept, key=lambda each: (bool(each.policy), len(each.changes)))

    def _stays(self, name: str, choice: Choice) -> bool:
        if name in ATTRIBUTES:
            attribute = ATTRIBUTES[name]
            return bool(getattr(choice.config, attribute) == getattr(self._now, attribute))
        if name == PREFER_CLOSEST:
            return (name in _switched_on(choice.config.topology_manager_policy_options)) == self._closest_on
        return (name in _switched_on(choice.config.cpu_manager_policy_options)) == (name in self._options_on)

    def _choice(self, cpus: _CPUs, topology: _Topology, memory: _Memory) -> Choice:
        now = self._now
        config = replace(
            now,
            cpu_manager_policy=cpus.policy,
            cpu_manager_policy_options=self._cpu_options(cpus),
            reserved_system_cpus=cpus.reserved or now.reserved_system_cpus,
            topology_manager_policy=topology.policy,
            topology_manager_scope=topology.scope,
            topology_manager_policy_options=self._topology_options(topology),
            memory_manager_policy=memory.policy,
            reserved_memory=memory.reserved,
        )
        changes = (*self._cpu_changes(cpus), *self._topology_changes(topology), *self._memory_changes(memory))
        return Choice(config, changes, cpus.options, topology.closest, cpus.plugin)

    def _cpu_options(self, cpus: _CPUs) -> Mapping[str, str]:
        """Write options that are off if they are set now: omitted members would keep their values."""
        now = self._now.cpu_manager_policy_options
        if cpus.policy == "none":
            return {}
        if cpus.options == self._options_on:
            return now
        others = {name: value if name == SCALE_DELAY else "false" for name, value in now.items()}
        return {**others, **dict.fromkeys(sorted(cpus.options), "true")}

    def _topology_options(self, topology: _Topology) -> Mapping[str, str]:
        now = self._now.topology_manager_policy_options
        if topology.policy == "none":
            return now
        options = dict(now)
        if topology.closest != self._closest_on:
            options[PREFER_CLOSEST] = "true" if topology.closest else "false"
        if MAX_NODES not in now and len(self._info.nodes) > DEFAULT_MAX_NODES:
            options[MAX_NODES] = str(len(self._info.nodes))
        return options

    def _cpu_changes(self, cpus: _CPUs) -> Iterator[str]:
        now = self._now
        if cpus.plugin:
            yield f"policy={cpus.plugin}"
        if cpus.policy != now.cpu_manager_policy:
            yield "static" if cpus.policy == "static" else "cpuManagerPolicy=none"
        before = self._options_on
        if cpus.policy == "static":
            yield from (name for name in CPU_SWITCHES if name in cpus.options - before)
            yield from (f"{name}=false" for name in CPU_SWITCHES if name in before - cpus.options)
        if cpus.reserved and cpus.reserved != now.reserved_system_cpus:
            yield f"reservedSystemCPUs={cpus.reserved}"

    def _topology_changes(self, topology: _Topology) -> Iterator[str]:
        now = self._now
        if topology.policy != now.topology_manager_policy:
            yield "topologyManagerPolicy=none" if topology.policy == "none" else topology.policy
        if topology.scope != now.topology_manager_scope:
            yield topology.scope
        if topology.policy != "none" and topology.closest != self._closest_on:
            yield PREFER_CLOSEST if topology.closest else f"{PREFER_CLOSEST}=false"

    def _memory_changes(self, memory: _Memory) -> Iterator[str]:
        if memory.policy != self._now.memory_manager_policy:
            yield f"memoryManagerPolicy={memory.policy}"
        elif memory.reserved != self._now.reserved_memory:
            yield "reservedMemory"

    def _cpus(self) -> Iterator[_CPUs]:
        yield _CPUs("none")
        legal = list(self._legal_options())
        for reserved, options in product(("", *self._reserved_sets()), legal):
            yield _CPUs("static", options, reserved)
        kept = self._options_on & {FULL_PCPUS_ONLY, STRICT_RESERVATION}
        for plugin in self._plugins:
            # The other options control how the kubelet chooses CPUs, which the plugin does here.
            yield _CPUs("static", kept, plugin=plugin)

    def _legal_options(self) -> Iterator[frozenset[str]]:
        """Yield the sets of switches that the release accepts together, by its own rule."""
        gates = self._kubelet.gates
        known = []
        for name in CPU_SWITCHES:
            if not CPU_POLICY_OPTIONS[name].stage(gates.minor):
                continue
            try:
                parse_cpu_policy_options({name: "true"}, gates)
            except SettingError as error:
                self.left_out.append(LeftOut(name, str(error)))
            else:
                known.append(name)
        for chosen in _subsets(known):
            try:
                parse_cpu_policy_options(dict.fromkeys(chosen, "true"), gates)
            except SettingError:
                continue
            yield frozenset(chosen)

    def _topologies(self) -> Iterator[_Topology]:
        now, gates = self._now, self._kubelet.gates
        yield _Topology("none", now.topology_manager_scope, closest=False)
        ways = [False]
        try:
            parse_topology_options({PREFER_CLOSEST: "true"}, gates)
        except SettingError as error:
            self.left_out.append(LeftOut(PREFER_CLOSEST, str(error)))
        else:
            ways.append(True)
        for policy, scope, closest in product(POLICIES, ("container", "pod"), ways):
            yield _Topology(policy, scope, closest)

    def _memories(self) -> Iterator[_Memory]:
        """Yield policies with the current reservation or, if one is needed, that of ``config reserve``."""
        now = self._now
        yield _Memory("None", now.reserved_memory)
        if now.memory_manager_policy == "Static":
            yield _Memory("Static", now.reserved_memory)
        plain = replace(
            now,
            cpu_manager_policy="none",
            cpu_manager_policy_options={},
            reserved_system_cpus="",
            topology_manager_policy="none",
            topology_manager_policy_options={},
        )
        found = propose(
            self._info, replace(self._kubelet, config=plain), ReserveRequest(memory=MemoryReserve())
        )
        if isinstance(found, NoProposal):
            if now.memory_manager_policy != "Static":
                self.left_out.append(LeftOut("memoryManagerPolicy=Static", found.why))
        elif found.config.reserved_memory != now.reserved_memory or now.memory_manager_policy != "Static":
            yield _Memory("Static", found.config.reserved_memory)

    def _reserved_sets(self) -> list[str]:
        """Choose as many CPUs as are reserved now: the first, whole cores, or evenly from all NUMA nodes."""
        try:
            topology = CPUTopology.discover(self._info, knows_books=self._kubelet.gates.release.knows_books)
        except GoError:
            return []
        count = self._reserved_now() or topology.cpus_per_core or 1
        kinds = self._machine.core_kinds
        fast = kinds.performance.mask if kinds.efficiency else 0
        found: dict[str, None] = {}
        for per_numa, whole, last in product((False, True), (True, False), {0: None, fast: None}):
            request = CPUReserve(
                count=count,
                per_numa=per_numa,
                whole_cores=whole,
                performance=last,
                isolated=self._machine.isolated.mask,
            )
            try:
                found[str(CPUSet(choose_reserved(topology, request).cpus))] = None
            except ValueError:
                continue
        return [each for each in found if each != self._now.reserved_system_cpus]

    def _reserved_now(self) -> int:
        try:
            return node_reservations(self._info, self._now).cpus.number
        except GoError:
            return 0


def _subsets(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    return (each for size in range(len(names) + 1) for each in combinations(names, size))


class Equivalence:
    """Which settings cannot differ in effect on this machine, for these pods and one more.

    That one is a Guaranteed pod with one container (``exclusive_pod``). Rules, by what makes no difference:

    - distances (``prefer-closest-numa-nodes``) if all NUMA nodes are equally far apart, and for
      ``single-numa-node``, which has no sets of nodes;
    - the scope if every pod has a single container and no pod-level resources;
    - the whole Topology Manager if no manager gives hints: none manages CPUs, memory or devices;
    - ``distribute-cpus-across-numa`` with one NUMA node;
    - ``align-by-socket`` if no hints are requested, or NUMA nodes and sockets are the same, unless CPUs are
      distributed, which has its own rule about sockets;
    - ``full-pcpus-only`` if every core has one CPU, and no init container leaves its CPUs to others.
    """

    def __init__(self, info: MachineInfo, topology: CPUTopology, pods: Iterable[StoredPod]) -> None:
        pods = tuple(pods)
        containers = [(*pod.init_containers, *pod.containers) for pod in pods]
        self._scopes_alike = all(len(each) == 1 for each in containers) and not any(
            pod.resources or pod.overhead for pod in pods
        )
        self._has_inits = any(pod.init_containers for pod in pods)
        self._distances_alike = _equivalent(info)
        nodes = list(topology.numa_nodes.values())
        self._one_node = len(nodes) == 1 and nodes[0] == topology.cpus
        self._single_cpus = all(mask.bit_count() == 1 for mask in topology.cores.values())
        self._nodes_are_sockets = sorted(nodes) == sorted(topology.sockets.values())

    def key(self, choice: Choice, *, devices: bool) -> tuple[object, ...]:
        """Return a key that is equal for settings that can differ only in their reserved CPUs.

        *devices*: whether the node has devices that pods request.
        """
        config = choice.config
        hinted = config.cpu_manager_policy != "none" or config.memory_manager_policy != "None" or devices
        policy = config.topology_manager_policy if hinted else "none"
        aligned = policy != "none"
        measured = choice.closest and policy in ("best-effort", "restricted") and not self._distances_alike
        return (
            choice.policy,
            config.cpu_manager_policy,
            frozenset(name for name in choice.options if not self._idle(name, choice.options, policy)),
            policy,
            config.topology_manager_scope if aligned and not self._scopes_alike else "",
            measured,
            config.memory_manager_policy,
            tuple((each.numa_node, tuple(each.limits.items())) for each in config.reserved_memory)
            if config.memory_manager_policy != "None"
            else (),
        )

    def _idle(self, name: str, options: frozenset[str], policy: str) -> bool:
        """Return whether an option of the CPU Manager has no effect in combination with the others."""
        if name == DISTRIBUTE_NUMA:
            return self._one_node
        if name == FULL_PCPUS_ONLY:
            return self._single_cpus and not self._has_inits
        unnecessary = policy == "none" or self._nodes_are_sockets
        return name == ALIGN_BY_SOCKET and unnecessary and DISTRIBUTE_NUMA not in options


def _equivalent(info: MachineInfo) -> bool:
    """Return whether the distances between NUMA nodes cannot distinguish two sets of the same size."""
    ids = [node.id for node in info.nodes]
    if any(not 0 <= each < len(node.distances) for node in info.nodes for each in ids):
        return False
    own = {node.distances[node.id] for node in info.nodes}
    others = {node.distances[each] for node in info.nodes for each in ids if each != node.id}
    return len(own) <= 1 and (len(others) <= 1 or len(ids) <= 2)
