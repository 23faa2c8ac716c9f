"""A node through random histories: CPUs and memory divide by the policies, and restarts change nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import groupby
from typing import NamedTuple

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

from cpuctl.checkpoints.cpu_state import read_cpu_state, write_cpu_state
from cpuctl.checkpoints.memory_state import read_memory_state, write_memory_state
from cpuctl.checkpoints.model import MemoryBlock
from cpuctl.cpuset import CPUSet
from cpuctl.engine.masks import NO_CPUS, CPUMask
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted, KubeletFault, Rejected, StartRefused, Undetermined
from cpuctl.engine.start import start_node
from cpuctl.kubelet.config import KubeletConfiguration, ReservedMemory
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.machine.machine_info import MachineInfo
from cpuctl.pods.model import Container, ContainerKind, Pod, ResourceRequirements, StoredPod
from cpuctl.quantity import Quantity
from cpuctl.records import replace
from tests.support.pods import amounts, stored
from tests.support.topologies import CoreAt, machine_info

_CORES: MachineInfo = machine_info(
    CoreAt(cpus=(core, core + 12), numa_node=core // 3, socket=core // 6, cache=core // 3)
    for core in range(12)
)
MACHINE: MachineInfo = replace(
    _CORES,
    nodes=tuple(replace(node, memory_bytes=10 << 30, hugepages={2048: 8}) for node in _CORES.nodes),
    memory_bytes=40 << 30,
)
KEPT = ReservedMemory(numa_node=0, limits={"memory": Quantity.parse("1Gi")})
OPTIONS: list[dict[str, str]] = [
    {},
    {"full-pcpus-only": "true"},
    {"strict-cpu-reservation": "true"},
    {"distribute-cpus-across-numa": "true"},
    {"prefer-align-cpus-by-uncorecache": "true"},
    {"full-pcpus-only": "true", "distribute-cpus-across-numa": "true", "strict-cpu-reservation": "true"},
]


class Part(NamedTuple):
    """A container's kind and requests: CPUs, half a CPU more, GiB of memory, huge pages of 2 MiB."""

    kind: ContainerKind
    cpus: int
    half: bool = False
    memory: int = 1
    pages: int = 0


def parts(kinds: list[ContainerKind]) -> st.SearchStrategy[list[Part]]:
    each = st.builds(
        Part,
        st.sampled_from(kinds),
        cpus=st.integers(1, 9),
        half=st.booleans(),
        memory=st.integers(1, 12),
        pages=st.sampled_from([0, 0, 4, 10]),
    )
    return st.lists(each, min_size=0, max_size=3)


def build(name: str, requested: list[Part]) -> StoredPod:
    made = [_container(index, part) for index, part in enumerate(requested)]
    return stored(
        Pod(
            name=name,
            uid=name,
            containers=tuple(each for each in made if each.kind is ContainerKind.APP),
            init_containers=tuple(each for each in made if each.kind is not ContainerKind.APP),
        )
    )


def _container(index: int, part: Part) -> Container:
    pages = f" hugepages-2Mi={2 * part.pages}Mi" if part.pages else ""
    both = amounts(f"cpu={part.cpus}{'.5' if part.half else ''} memory={part.memory}Gi{pages}")
    resources = ResourceRequirements(requests=both, limits=both)
    return Container(name=f"c{index}", kind=part.kind, resources=resources)


class NodeLife(RuleBasedStateMachine):
    """Pods are admitted and removed, containers are released, the kubelet restarts."""

    pods = Bundle("pods")

    def __init__(self) -> None:
        super().__init__()
        self.number = 0
        self.forced = False
        """Whether more or less memory may be taken than the blocks say, which fails the next start."""

    @initialize(
        options=st.sampled_from(OPTIONS),
        reserved=st.sampled_from(["0,12", "0", "0-1,12-13"]),
        topology=st.sampled_from(["none", "best-effort", "restricted", "single-numa-node"]),
        scope=st.sampled_from(["container", "pod"]),
    )
    def start(self, options: dict[str, str], reserved: str, topology: str, scope: str) -> None:
        self.config = KubeletConfiguration(
            cpu_manager_policy="static",
            cpu_manager_policy_options=options,
            reserved_system_cpus=reserved,
            memory_manager_policy="Static",
            reserved_memory=(KEPT,),
            kube_reserved={"memory": "1Gi"},
            topology_manager_policy=topology,
            topology_manager_scope=scope,
        )
        self.node = self.fresh()

    def fresh(self) -> Node:
        node = start_node(MACHINE, Kubelet(version=KubeletVersion(36), config=self.config))
        assert isinstance(node, Node), node
        return node

    @rule(
        target=pods,
        first=parts([ContainerKind.INIT, ContainerKind.SIDECAR]),
        rest=parts([ContainerKind.APP]),
    )
    def admit(self, first: list[Part], rest: list[Part]) -> object:
        self.number += 1
        pod = build(f"p{self.number}", [*first, *rest, Part(ContainerKind.APP, 1)])
        admission = self.node.admit(pod)
        if isinstance(admission.verdict, KubeletFault):
            self.node, self.forced = self.fresh(), False
            return multiple()
        for placement in admission.placements:
            if placement.exclusive:
                assert placement.cpus.bit_count() == placement.claim.cpus
        assert isinstance(admission.verdict, Admitted | Rejected)
        return multiple(pod) if isinstance(admission.verdict, Admitted) else multiple()

    @rule(pod=consumes(pods), at_once=st.booleans())
    def remove(self, pod: StoredPod, at_once: bool) -> None:
        self.node.remove(pod.uid)
        if at_once:
            self.node.clean_up()
            assert pod.uid not in self.node.state.assignments
            assert pod.uid not in self.node.memory.state.blocks

    @rule(pod=pods)
    def release_a_container(self, pod: StoredPod) -> None:
        self.node.remove_container(pod.uid, pod.all_containers[0].name)

    @rule(pod=pods)
    def start_a_container(self, pod: StoredPod) -> None:
        self.node.start_container(pod, pod.all_containers[-1].name)

    @rule()
    def restart(self) -> None:
        """The files are complete: reading them back changes nothing, however often.

        But a kubelet rejects its own file once strict reservation has left nothing to share (kubernetes
        issue 141196), and may do so if memory was forced out of a group, or init containers that had
        ended were admitted again around one that had not.
        """
        node = self.restarted()
        if node is not None:
            assert node.cpu.state_file() == self.node.cpu.state_file()
            assert node.memory.state_file() == self.node.memory.state_file()
            node.resume(self.node.active.values())
            self.node = node

    @rule()
    def restart_and_admit_running_pods_again(self) -> None:
        """Containers that have CPUs keep exactly these, unless the pod is rejected."""
        pods, before = list(self.node.active.values()), self.node.copy().state.assignments
        held = {uid: set(blocks) for uid, blocks in self.node.memory.state.blocks.items()}
        node = self.restarted()
        if node is None:
            return
        self.node = node
        for admission in node.readmit(pods):
            for placement in admission.placements:
                had = before.get(admission.pod.uid, {}).get(placement.container.name)
                assert had is None or placement.cpus == had
        self.forced |= self.holes(pods, held)
        if node.fault:
            self.node, self.forced = self.fresh(), False

    def holes(self, pods: list[StoredPod], held: dict[str, set[str]]) -> bool:
        """Return whether a container kept its memory between init containers that were allocated again."""
        kept = [[each.name in held.get(pod.uid, ()) for each in pod.init_containers] for pod in pods]
        return any(len([*groupby(each)]) - each[:1].count(True) - each[-1:].count(True) > 1 for each in kept)

    def restarted(self) -> Node | None:
        """Start another kubelet on the files; return None if it rejects them for a known reason."""
        cpu = read_cpu_state(write_cpu_state(self.node.cpu.state_file()))
        memory = read_memory_state(write_memory_state(self.node.memory.state_file()))
        node = self.fresh()
        refused = node.restore(cpu, memory)
        if not self.node.state.default:
            assert refused == StartRefused(stage="cpuManagerStart", error="default cpuset cannot be empty")
        elif refused is not None:
            assert self.forced
            assert isinstance(refused, Undetermined) or refused == StartRefused(
                stage="memoryManagerStart",
                error="[memorymanager] the expected machine state is different from the real one",
            )
        return node if refused is None else None

    @invariant()
    def cpus_divide_by_the_policy(self) -> None:
        policy, state = self.node.policy, self.node.state
        assert policy is not None
        by_pod = {uid: _union(held) for uid, held in state.assignments.items()}
        assert state.exclusive == _union(by_pod)
        everything = state.default | _union(by_pod)
        strict = policy.options.strict_cpu_reservation
        assert everything == (policy.allocatable if strict else policy.topology.cpus)
        assert not strict or not state.default & policy.reserved
        assert strict or state.default & policy.reserved == policy.reserved
        seen = state.default
        for cpus in by_pod.values():
            assert not cpus & seen, str(CPUSet(cpus & seen))
            seen |= cpus

    @invariant()
    def memory_adds_up(self) -> None:
        """Nothing is lost or created, and every block is counted on each of its nodes."""
        state = self.node.memory.state
        blocks = [block for held in state.blocks.values() for each in held.values() for block in each]
        counted = Counter(node for block in blocks for node in block.numa_affinity)
        for number, node in state.tables.items():
            assert node.number_of_assignments == counted[number]
            assert node.number_of_assignments or node.cells == (number,)
            assert all(each.free + each.reserved == each.allocatable for each in node.memory_map.values())
            self.forced |= any(state.tables[other].cells != node.cells for other in node.cells)
        if not self.forced:
            self.recorded_memory_is_taken_memory(blocks)

    def recorded_memory_is_taken_memory(self, blocks: list[MemoryBlock]) -> None:
        """Every group has taken what its blocks say from its nodes, unless a node was in two groups."""
        tables = self.node.memory.state.tables
        for cells in {node.cells for node in tables.values()}:
            for name in tables[cells[0]].memory_map:
                recorded = sum(
                    each.size for each in blocks if (each.numa_affinity, each.type) == (cells, name)
                )
                assert sum(tables[cell].memory_map[name].reserved for cell in cells) == recorded

    @invariant()
    def only_init_containers_share_with_their_pod(self) -> None:
        for uid, held in self.node.state.assignments.items():
            pod = self.node.active.get(uid)
            if pod is not None:
                lasting = [
                    held[each.name]
                    for each in pod.all_containers
                    if each.kind is not ContainerKind.INIT and each.name in held
                ]
                assert _union(dict(enumerate(lasting))).bit_count() == sum(map(int.bit_count, lasting))


def _union(masks: Mapping[str, CPUMask] | Mapping[int, CPUMask]) -> CPUMask:
    union = NO_CPUS
    for mask in masks.values():
        union |= mask
    return union


TestNodeLife = NodeLife.TestCase
