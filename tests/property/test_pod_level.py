"""Pods with pod-level resources through random histories: nothing is lost unless a kubelet loses it.

In the three releases with KEP-5526, pods are admitted, removed, lose containers, and kubelets restart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from operator import or_
from typing import NamedTuple

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

from cpuctl.checkpoints.cpu_state import read_cpu_state, write_cpu_state
from cpuctl.checkpoints.memory_state import read_memory_state, write_memory_state
from cpuctl.checkpoints.reader import StateReader
from cpuctl.engine.admission import Admission
from cpuctl.engine.node import Node
from cpuctl.engine.outcome import Admitted, Rejected, StartRefused
from cpuctl.pods.model import ContainerKind, Pod
from tests.support.pod_level import POLICIES, divided, started

EVERYTHING = (1 << 16) - 1


class Lost(NamedTuple):
    """What no longer has an owner: CPUs, and assignments of memory by NUMA node."""

    cpus: int
    assignments: dict[int, int]


def words() -> st.SearchStrategy[str]:
    part = st.builds(
        "{}{}".format, st.sampled_from(["", "", "i", "s"]), st.sampled_from(["-", "-", "1", "2", "3"])
    )
    return st.lists(part, min_size=1, max_size=5).filter(has_app).map(" ".join)


def has_app(parts: list[str]) -> bool:
    return any(part[0] not in "is" for part in parts)


class PodLevelLife(RuleBasedStateMachine):
    """One node, and what its kubelets have lost."""

    pods = Bundle("pods")

    def __init__(self) -> None:
        super().__init__()
        self.number = 0
        self.lost = Lost(0, {})
        self.stranded: set[str] = set()

    @initialize(minor=st.sampled_from([36, 37, 38]), policy=st.sampled_from(POLICIES), memory=st.booleans())
    def start(self, minor: int, policy: str, memory: bool) -> None:
        self.minor, self.policy, self.memory = minor, policy, memory
        self.node = self.fresh()

    def fresh(self) -> Node:
        return started(minor=self.minor, topology_manager_policy=self.policy, memory=self.memory)

    @rule(target=pods, total=st.integers(1, 10), parts=words())
    def admit(self, total: int, parts: str) -> object:
        self.number += 1
        pod = divided(total, parts, f"p{self.number}")
        admission = self.node.admit(pod)
        assert admission.readmission is None
        self.judge(admission)
        return multiple(pod) if isinstance(admission.verdict, Admitted) else multiple()

    @rule(pod=consumes(pods))
    def remove(self, pod: Pod) -> None:
        self.node.remove(pod.uid)
        self.node.clean_up()
        assert pod.uid not in self.node.state.pod_entries
        assert pod.uid not in self.node.memory.state.pod_blocks

    @rule(pod=pods, place=st.integers(0, 4))
    def remove_a_container(self, pod: Pod, place: int) -> None:
        """Until the last one is removed, no CPU returns to the shared pool."""
        names = [each.name for each in pod.all_containers]
        before = self.node.state.default
        self.node.remove_container(pod.uid, names[place % len(names)])
        still = pod.uid in self.node.state.assignments
        assert still == (pod.uid in self.node.state.pod_entries)
        assert self.node.state.default == before or not still

    @rule()
    def restart_and_admit_running_pods_again(self) -> None:
        """A kubelet does not start if something is missing, which never happens with 1.38."""
        pods = list(self.node.active.values())
        node = self.restarted()
        if node is None:
            self.node, self.lost, self.stranded = self.fresh(), Lost(0, {}), set()
            return
        before = {uid: dict(held) for uid, held in node.state.assignments.items()}
        self.node = node
        for admission in node.readmit(pods):
            self.judge(admission)
            if self.minor >= 38 and not self.cut_short(admission.pod, before):
                assert isinstance(admission.verdict, Admitted)
                assert node.state.assignments.get(admission.pod.uid) == before.get(admission.pod.uid)

    def cut_short(self, pod: Pod, before: Mapping[str, Mapping[str, int]]) -> bool:
        """Return whether a container of a pod has been released: then a kubelet divides the pod again."""
        return pod.uid not in before or len(before[pod.uid]) < len(pod.all_containers)

    def judge(self, admission: Admission) -> None:
        """Count what a kubelet loses, which it may only on a second admission before 1.38."""
        found, uid = admission.readmission, admission.pod.uid
        if found is not None:
            assert self.minor < 38
            assert found.lost or isinstance(admission.verdict, Rejected)
            assert not found.lost_cpus & self.node.state.owned
            for block in found.lost_memory:
                for node in block.numa_affinity:
                    self.lost.assignments[node] = self.lost.assignments.get(node, 0) + 1
            self.lost = self.lost._replace(cpus=self.lost.cpus | found.lost_cpus)
        if uid in self.node.state.pod_entries and uid not in self.node.state.assignments:
            # The containers requested more CPUs than the pod has: they stay taken for good.
            assert isinstance(admission.verdict, Rejected)
            assert admission.verdict.reason == "UnexpectedAdmissionError"
            self.stranded.add(uid)

    def restarted(self) -> Node | None:
        """Start another kubelet on the files; return None if it rejects them."""
        reader = StateReader(minor=self.minor, pod_level_managers=True)
        cpu = read_cpu_state(write_cpu_state(self.node.cpu.state_file(), reader), reader)
        memory = read_memory_state(write_memory_state(self.node.memory.state_file(), reader), reader)
        node = self.fresh()
        refused = node.restore(cpu, memory)
        assert isinstance(refused, StartRefused | None)
        assert (refused is not None) == bool(self.lost.cpus or self.lost.assignments)
        return node if refused is None else None

    @invariant()
    def every_cpu_that_is_not_lost_has_one_owner(self) -> None:
        state = self.node.state
        assert state.owned == EVERYTHING & ~self.lost.cpus
        seen = state.default
        for held in state.pod_entries.values():
            assert not held & seen
            seen |= held
        assert seen == state.owned
        assert state.pod_entries.keys() - state.assignments.keys() <= self.stranded

    @invariant()
    def a_pod_has_its_slices_and_its_pool(self) -> None:
        """The slices of containers that run at the same time are disjoint, and the pool is the rest."""
        state = self.node.state
        for uid, held in state.assignments.items():
            pod, whole = self.node.active.get(uid), state.pod_entries[uid]
            assert not union(held.values()) & ~whole
            if pod is None or len(held) < len(pod.all_containers):
                continue
            slices, pools, borrowed = parts_of(pod, held)
            assert sum(map(int.bit_count, slices)) == union(slices).bit_count()
            assert len(set(pools)) <= 1
            if pools:
                assert pools[0]
                assert pools[0] == whole & ~union(slices)
            assert all(mask & ~whole == 0 for mask in borrowed)

    @invariant()
    def memory_is_counted_once_for_every_pod(self) -> None:
        state = self.node.memory.state
        for number, node in state.tables.items():
            table = node.memory_map["memory"]
            assert table.free + table.reserved == table.allocatable
            held = [
                block
                for uid in state.blocks
                for block in state.pod_blocks[uid]
                if number in block.numa_affinity
            ]
            assert node.number_of_assignments == len(held) + self.lost.assignments.get(number, 0)
        assert state.blocks.keys() == state.pod_blocks.keys()


def parts_of(pod: Pod, held: Mapping[str, int]) -> tuple[list[int], list[int], list[int]]:
    """Sort a pod's CPUs: slices and pools of lasting containers, and what init containers use."""
    slices, pools, borrowed = [], [], []
    for container in pod.all_containers:
        cpus = held[container.name]
        if container.kind is ContainerKind.INIT:
            borrowed.append(cpus)
        elif container.resources.requests:
            slices.append(cpus)
        else:
            pools.append(cpus)
    return slices, pools, borrowed


def union(masks: Iterable[int]) -> int:
    return reduce(or_, masks, 0)


TestPodLevelLife = PodLevelLife.TestCase
