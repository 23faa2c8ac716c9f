"""A node through random lives: the CPUs always divide as the policy says, and restarts change nothing."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

from cpuctl.checkpoints.cpu_state import read_cpu_state, write_cpu_state
from cpuctl.cpuset import CPUSet
from cpuctl.engine.admission import Admitted
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import KubeletFault, Rejected, StartRefused
from cpuctl.engine.start import Kubelet, start_node
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.version import KubeletVersion
from cpuctl.machine.machine_info import MachineInfo
from cpuctl.pods.model import Container, ContainerKind, Pod, ResourceRequirements
from tests.support.pods import amounts
from tests.support.topologies import CoreAt, machine_info

MACHINE: MachineInfo = machine_info(
    CoreAt(cpus=(core, core + 12), numa_node=core // 3, socket=core // 6, cache=core // 3)
    for core in range(12)
)
OPTIONS: list[dict[str, str]] = [
    {},
    {"full-pcpus-only": "true"},
    {"strict-cpu-reservation": "true"},
    {"distribute-cpus-across-numa": "true"},
    {"prefer-align-cpus-by-uncorecache": "true"},
    {"full-pcpus-only": "true", "distribute-cpus-across-numa": "true", "strict-cpu-reservation": "true"},
]


@st.composite
def containers(draw: st.DrawFn, kinds: list[ContainerKind]) -> list[tuple[ContainerKind, int, bool]]:
    """Draw container kinds with a CPU count, whole or half."""
    each = st.tuples(st.sampled_from(kinds), st.integers(1, 9), st.booleans())
    return draw(st.lists(each, min_size=0, max_size=3))


def build(name: str, parts: list[tuple[ContainerKind, int, bool]]) -> Pod:
    made = [_container(index, *part) for index, part in enumerate(parts)]
    return Pod(
        name=name,
        uid=name,
        containers=tuple(each for each in made if each.kind is ContainerKind.APP),
        init_containers=tuple(each for each in made if each.kind is not ContainerKind.APP),
    )


def _container(index: int, kind: ContainerKind, count: int, half: bool) -> Container:
    both = amounts(f"cpu={count}{'.5' if half else ''} memory=1Gi")
    return Container(name=f"c{index}", kind=kind, resources=ResourceRequirements(requests=both, limits=both))


class NodeLife(RuleBasedStateMachine):
    """Pods come and go, containers are released, the kubelet restarts."""

    pods = Bundle("pods")

    def __init__(self) -> None:
        super().__init__()
        self.number = 0

    @initialize(options=st.sampled_from(OPTIONS), reserved=st.sampled_from(["0,12", "0", "0-1,12-13"]))
    def start(self, options: dict[str, str], reserved: str) -> None:
        self.config = KubeletConfiguration(
            cpu_manager_policy="static", cpu_manager_policy_options=options, reserved_system_cpus=reserved
        )
        self.node = self.fresh()

    def fresh(self) -> Node:
        node = start_node(MACHINE, Kubelet(version=KubeletVersion(36), config=self.config))
        assert isinstance(node, Node), node
        return node

    @rule(
        target=pods,
        first=containers([ContainerKind.INIT, ContainerKind.SIDECAR]),
        rest=containers([ContainerKind.APP]),
    )
    def admit(
        self, first: list[tuple[ContainerKind, int, bool]], rest: list[tuple[ContainerKind, int, bool]]
    ) -> object:
        self.number += 1
        pod = build(f"p{self.number}", [*first, *rest, (ContainerKind.APP, 1, False)])
        admission = self.node.admit(pod)
        if isinstance(admission.verdict, KubeletFault):
            self.node = self.fresh()
            return multiple()
        for placement in admission.placements:
            if placement.exclusive:
                assert placement.cpus.bit_count() == placement.claim.count
        assert isinstance(admission.verdict, Admitted | Rejected)
        return multiple(pod) if isinstance(admission.verdict, Admitted) else multiple()

    @rule(pod=consumes(pods), at_once=st.booleans())
    def remove(self, pod: Pod, at_once: bool) -> None:
        self.node.remove(pod.uid)
        if at_once:
            self.node.clean_up()
            assert pod.uid not in self.node.state.assignments

    @rule(pod=pods)
    def release_a_container(self, pod: Pod) -> None:
        self.node.remove_container(pod.uid, pod.all_containers[0].name)

    @rule()
    def restart(self) -> None:
        """The file says all there is to say: reading it back changes nothing, however often.

        But a kubelet refuses its own file once strict reservation has left nothing to share (kubernetes
        issue 141196).
        """
        text = write_cpu_state(self.node.state_file())
        node = self.fresh()
        refused = node.restore(read_cpu_state(text))
        if not self.node.state.default:
            assert refused == StartRefused(stage="cpuManagerStart", error="default cpuset cannot be empty")
            return
        assert refused is None
        assert write_cpu_state(node.state_file()) == text
        node.resume(self.node.active.values())
        self.node = node

    @rule()
    def admit_running_pods_again(self) -> None:
        """Containers that have CPUs keep exactly these, unless the pod is refused."""
        before = self.node.copy().state.assignments
        for admission in self.node.readmit(list(self.node.active.values())):
            for placement in admission.placements:
                had = before.get(admission.pod.uid, {}).get(placement.container.name)
                assert had is None or placement.cpus == had
        if self.node.fault:
            self.node = self.fresh()

    @invariant()
    def cpus_divide_as_the_policy_says(self) -> None:
        policy, state = self.node.policy, self.node.state
        assert policy is not None
        by_pod = {uid: _union(held) for uid, held in state.assignments.items()}
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


def _union(masks: dict[str, int] | dict[int, int]) -> int:
    union = 0
    for mask in masks.values():
        union |= mask
    return union


TestNodeLife = NodeLife.TestCase
