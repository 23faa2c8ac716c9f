"""Pods that are resized again and again: baselines are kept, and no CPU is lost or owned twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

from cpuctl.checkpoints.cpu_state import read_cpu_state, write_cpu_state
from cpuctl.checkpoints.reader import StateReader
from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.resizing.kep import resize_by_kep, resize_by_reference
from cpuctl.engine.cpu.resizing.reference import Resizing
from cpuctl.engine.cpu.resizing.request import Resized
from cpuctl.engine.cpu.state import DelayRules
from cpuctl.engine.masks import NO_CPUS, CPUMask
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted, KubeletFault
from cpuctl.engine.provider import Candidate
from cpuctl.engine.resize.running import with_requirements
from cpuctl.engine.start import start_node
from cpuctl.machine.machine_info import MachineInfo
from cpuctl.pods.model import Container, ContainerKind, ResourceRequirements, StoredPod
from cpuctl.pods.qos import pod_qos
from tests.property.test_node_machine import OPTIONS, Part, build, parts
from tests.support.pods import amounts
from tests.support.resizing import Setting, with_memory
from tests.support.topologies import CoreAt, machine_info

MACHINE: MachineInfo = with_memory(
    machine_info(
        CoreAt(cpus=(core, core + 12), numa_node=core // 3, socket=core // 6, cache=core // 3)
        for core in range(12)
    )
)
WORDS = StateReader(minor=38, exclusive_resize=True)
KINDS = [ContainerKind.INIT, ContainerKind.SIDECAR]
SIZES = st.lists(st.integers(-3, 4), min_size=6, max_size=6)
"""By how many CPUs the containers of a pod grow; no pod has more containers."""


class ResizedPods(RuleBasedStateMachine):
    """Pods are admitted, removed and resized under the KEP's reading, and the kubelet restarts."""

    pods = Bundle("pods")

    @initialize(
        options=st.sampled_from(OPTIONS),
        topology=st.sampled_from(["none", "best-effort", "restricted", "single-numa-node"]),
        scope=st.sampled_from(["container", "pod"]),
        seconds=st.sampled_from([0, 0, 30]),
    )
    def start(self, options: dict[str, str], topology: str, scope: str, seconds: int) -> None:
        self.number = 0
        self.delays = DelayRules(of_node=seconds * 10**9)
        self.setting = Setting(
            machine=MACHINE,
            config={
                "cpu_manager_policy_options": options,
                "reserved_system_cpus": "0,12",
                "topology_manager_policy": topology,
                "topology_manager_scope": scope,
            },
        )
        self.node = self.fresh()

    def fresh(self) -> Node:
        node = start_node(self.setting.machine, self.setting.kubelet)
        assert isinstance(node, Node), node
        node.delays = self.delays
        return node

    @rule(target=pods, first=parts(KINDS), rest=parts([ContainerKind.APP]))
    def admit(self, first: list[Part], rest: list[Part]) -> object:
        self.number += 1
        pod = build(f"p{self.number}", [*first, *rest[:2], Part(ContainerKind.APP, 1)])
        admission = self.node.admit(pod)
        if isinstance(admission.verdict, KubeletFault):
            self.node = self.fresh()
        return multiple(pod.uid) if isinstance(admission.verdict, Admitted) else multiple()

    @rule(uid=consumes(pods))
    def remove(self, uid: str) -> None:
        self.node.remove(uid)
        self.node.clean_up()
        assert uid not in self.node.state.assignments
        assert uid not in self.node.state.baselines

    @rule(uid=pods)
    def the_first_container_ends(self, uid: str) -> None:
        for each in self.node.active[uid].init_containers[:1] if uid in self.node.active else ():
            if each.kind is ContainerKind.INIT:
                self.node.remove_container(uid, each.name)

    @rule(uid=pods, sizes=SIZES)
    def resize(self, uid: str, sizes: list[int]) -> None:
        """A container grows to a superset, shrinks to between its baseline and its CPUs, or keeps them."""
        before, resized = self.requested(uid, sizes, resize_by_kep)
        if resized is None:
            return
        state, was = self.node.state, before.state
        if not isinstance(resized.verdict, Admitted):
            assert (state, self.node.active) == (was, before.active)
            return
        for container in self.node.active[uid].all_containers:
            name = container.name
            held, had, guaranteed = (
                due(self.node, uid, name),
                was.assigned(uid, name),
                was.baseline(uid, name),
            )
            assert had or not held or container.kind is ContainerKind.INIT
            if had and held and guaranteed:
                assert held & had in (held, had)
                assert guaranteed & ~held == 0
                assert held.bit_count() == claimed(self.node, uid, container)
                assert state.baseline(uid, name) == guaranteed

    def requested(
        self, uid: str, sizes: list[int], semantics: Callable[[Resizing], Resized]
    ) -> tuple[Node, Resized | None]:
        """Resize a pod that still runs; return the node as it was before, and the answer."""
        pod = self.node.active.get(uid)
        if pod is None:
            return self.node, None
        self.node.clean_up()
        before = self.node.copy()
        return before, self.node.resize(grown(pod, sizes), semantics)

    @rule(uid=pods)
    def the_delay_passes(self, uid: str) -> None:
        for name, kept in list(self.node.state.pending.get(uid, {}).items()):
            self.node.cpu.settle(uid, name)
            assert self.node.state.assigned(uid, name) == kept

    @rule()
    def restart(self) -> None:
        """The file also restores baselines."""
        text = write_cpu_state(self.node.cpu.state_file(), WORDS)
        node = self.fresh()
        refused = node.restore(read_cpu_state(text, WORDS))
        if refused is not None:
            assert not self.node.state.default  # kubernetes issue 141196
            return
        assert node.cpu.state_file() == self.node.cpu.state_file()
        node.resume(self.node.active.values())
        self.node = node

    @invariant()
    def baselines_are_held(self) -> None:
        state = self.node.state
        assert names(state.baselines) == names(state.assignments)
        for uid, held in state.assignments.items():
            for name, cpus in held.items():
                guaranteed = state.baselines[uid][name]
                assert guaranteed & ~cpus == 0, f"{name}: {CPUSet(guaranteed)} in {CPUSet(cpus)}"

    @invariant()
    def no_cpu_is_lost(self) -> None:
        policy, state = self.node.policy, self.node.state
        assert policy is not None
        strict = policy.options.strict_cpu_reservation
        owned = union(union(held.values()) for held in state.assignments.values())
        assert state.default | owned == (policy.allocatable if strict else policy.topology.cpus)


def grown(pod: StoredPod, sizes: Iterable[int]) -> StoredPod:
    """Return the pod with containers of other sizes, at least half a CPU."""
    wanted = {}
    for each, more in zip(pod.all_containers, sizes, strict=False):
        size = each.resources.limits["cpu"].milli_value
        cpu = amounts(f"cpu={max(size + 1000 * more, size % 1000 + 500)}m")
        both = {**each.resources.limits, **cpu}
        wanted[each.name] = ResourceRequirements(requests=both, limits=both)
    return with_requirements(pod, wanted)


def due(node: Node, uid: str, container: str) -> int | None:
    """Return what a container has, or will have after its delay; None if it shares."""
    awaited = node.state.awaited(uid, container)
    return node.state.assigned(uid, container) if awaited is None else awaited


def claimed(node: Node, uid: str, container: Container) -> int:
    pod = node.active[uid]
    return node.cpu.claim(Candidate(pod, pod_qos(node.pod_rules.view(pod))), container).cpus


def names(owners: Mapping[str, Mapping[str, int]]) -> set[tuple[str, str]]:
    return {(uid, name) for uid, held in owners.items() for name in held}


def union(masks: Iterable[CPUMask]) -> CPUMask:
    united = NO_CPUS
    for mask in masks:
        united |= mask
    return united


class ResizedByTheKEP(ResizedPods):
    """No CPU has two owners at the same time, whatever happens."""

    @invariant()
    def every_cpu_is_shared_or_held_by_one_pod(self) -> None:
        seen = self.node.state.default
        for held in self.node.state.assignments.values():
            owned = union(held.values())
            assert not owned & seen, str(CPUSet(owned & seen))
            seen |= owned

    @invariant()
    def only_init_containers_share_with_their_pod(self) -> None:
        for uid, pod in self.node.active.items():
            held = self.node.state.assignments.get(uid, {})
            lasting = [
                held[each.name]
                for each in pod.all_containers
                if each.kind is not ContainerKind.INIT and each.name in held
            ]
            assert union(lasting).bit_count() == sum(map(int.bit_count, lasting))


class ResizedByBoth(ResizedPods):
    """Even after the reference implementation's mistakes, baselines are kept and nothing is lost.

    But CPUs may have two owners: a sidecar that it moves out of the shared pool gets some that an init
    container has lent to others already, and these are shared again once that one shrinks.
    """

    @rule(uid=ResizedPods.pods, sizes=SIZES)
    def resize_by_reference(self, uid: str, sizes: list[int]) -> None:
        self.requested(uid, sizes, resize_by_reference)


TestResizedByTheKEP = ResizedByTheKEP.TestCase
TestResizedByBoth = ResizedByBoth.TestCase
