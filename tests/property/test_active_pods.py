"""The sums kept with the active pods equal newly computed sums, whatever has happened to the pods."""

from __future__ import annotations

from collections import Counter

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from cpuctl.engine.node import Node
from cpuctl.engine.node_fit import ActivePods, Allocatable, RequestTable, Usage, check_fit
from cpuctl.engine.outcome import Admitted, KubeletFault, Rejected
from cpuctl.engine.resize.running import with_requirements
from cpuctl.engine.start import start_node
from cpuctl.pods.model import ContainerKind, ResourceRequirements, StoredPod
from cpuctl.pods.requests import pod_requests
from tests.property.test_node_machine import Part, build
from tests.property.test_resize_machine import MACHINE
from tests.support.pods import amounts
from tests.support.resizing import Setting

NAMES = ["a", "b", "c", "d", "e"]
UIDS = st.sampled_from(NAMES)
SIZES = st.lists(st.integers(1, 4), min_size=6, max_size=6)
ROOM = {"cpu": 14000, "memory": 30 << 30, "hugepages-2Mi": 40 << 20}
"""An amount so large that some of the pods do not fit."""
PODS = st.builds(
    build,
    UIDS,
    st.lists(
        st.builds(
            Part,
            st.sampled_from([ContainerKind.APP, ContainerKind.INIT, ContainerKind.SIDECAR]),
            cpus=st.integers(1, 4),
            half=st.booleans(),
            pages=st.sampled_from([0, 4]),
        ),
        max_size=3,
    ),
)
WHOLE = amounts("cpu=3 memory=2Gi")


def added_up(node: Node, uid: str, *, pod_level: bool) -> Usage:
    """Add up the requests of all pods but one, without any cached sums."""
    others = [pod for pod in node.active.values() if pod.uid != uid]
    used: Counter[str] = Counter()
    for pod in others:
        for name, amount in pod_requests(pod, pod_level=pod_level).items():
            used[name] += amount.milli_value if name == "cpu" else amount.value
    return Usage(len(others), used)


class CountedPods(RuleBasedStateMachine):
    """Pods are admitted, removed, changed, resized, restored; the kubelet restarts, nodes are copied."""

    @initialize(scope=st.sampled_from(["container", "pod"]), pods=st.integers(2, 6))
    def start(self, scope: str, pods: int) -> None:
        self.setting = Setting(
            machine=MACHINE, config={"reserved_system_cpus": "0,12", "topology_manager_scope": scope}
        )
        self.space = Allocatable(amounts=ROOM, pods=pods)
        self.node = self.fresh()

    def fresh(self) -> Node:
        node = start_node(self.setting.machine, self.setting.kubelet)
        assert isinstance(node, Node), node
        node.allocatable = self.space
        return node

    @rule(pods=st.lists(PODS, min_size=1, max_size=4), pod_level=st.booleans())
    def admit(self, pods: list[StoredPod], pod_level: bool) -> None:
        """A pod that is admitted again under its UID is a different one and counts as such."""
        for pod in pods:
            own = ResourceRequirements(requests=WHOLE, limits=WHOLE) if pod_level else None
            self.admit_one(pod._replace(resources=own))

    def admit_one(self, pod: StoredPod) -> None:
        level, running = self.node.pod_level_resources, list(self.node.active.values())
        expected = check_fit(self.node.pod_rules.known(pod), running, self.space, pod_level=level)
        verdict = self.node.admit(pod).verdict
        if isinstance(verdict, KubeletFault):
            self.node = self.fresh()
        elif not isinstance(verdict, Rejected) or verdict.reason.startswith("OutOf"):
            assert verdict == (expected or Admitted())

    @rule(uid=UIDS, clean=st.booleans())
    def remove(self, uid: str, clean: bool) -> None:
        self.node.remove(uid)
        if clean:
            self.node.clean_up()

    @rule(uid=UIDS, sizes=SIZES)
    def resize(self, uid: str, sizes: list[int]) -> None:
        if uid not in self.node.active:
            return
        self.node.resize(self.sized(self.node.active[uid], sizes))
        if self.node.fault:
            self.node = self.fresh()

    @rule(uid=UIDS, sizes=SIZES)
    def put_in_place(self, uid: str, sizes: list[int]) -> None:
        """Code that keeps or reverts a resize assigns the running pod."""
        if uid in self.node.active:
            self.node.active[uid] = self.sized(self.node.active[uid], sizes)

    @rule(uid=UIDS)
    def undo(self, uid: str) -> None:
        """Code that undoes an admission restores the pods from before as a plain mapping."""
        before = dict(self.node.active)
        self.node.active.pop(uid, None)
        self.node.active = before

    def sized(self, pod: StoredPod, sizes: list[int]) -> StoredPod:
        wanted = {}
        for container, size in zip(pod.all_containers, sizes, strict=False):
            both = {**container.resources.requests, **amounts(f"cpu={size}")}
            wanted[container.name] = ResourceRequirements(requests=both, limits=both)
        return with_requirements(pod, wanted)

    @rule()
    def resume(self) -> None:
        self.node.resume(list(self.node.active.values()))

    @rule(most=st.integers(0, 5))
    def readmit(self, most: int) -> None:
        """A kubelet may admit only some of its pods again."""
        pods = list(self.node.active.values())
        for _ in zip(range(most), self.node.readmit(pods), strict=False):
            pass
        if self.node.fault:
            self.node = self.fresh()

    @rule(uid=UIDS)
    def continue_with_a_copy(self, uid: str) -> None:
        """Changes of a node do not affect its copy."""
        copied = self.node.copy()
        self.node.remove(uid)
        self.node = copied

    @rule(uids=st.permutations(NAMES), pod_level=st.booleans())
    def ask(self, uids: list[str], pod_level: bool) -> None:
        """Only at times, so that both counted and uncounted pods are added and removed."""
        for uid in uids:
            pods = self.node.active
            if isinstance(pods, ActivePods):
                usage = pods.usage_of_others(uid, RequestTable(), pod_level=pod_level)
                wanted = added_up(self.node, uid, pod_level=pod_level)
                assert usage.pods == wanted.pods
                assert Counter(usage.amounts) == wanted.amounts

    @invariant()
    def every_pod_is_counted_once_or_is_pending(self) -> None:
        pods = self.node.active
        if isinstance(pods, ActivePods):
            assert pods.counted.keys() | pods.uncounted == pods.pods.keys() == pods.containers.keys()
            assert not pods.counted.keys() & pods.uncounted
            assert pods.containers == {
                uid: tuple(each.name for each in pod.all_containers) for uid, pod in pods.items()
            }
            sums = Counter(pods.sums)
            for counted in pods.counted.values():
                sums.subtract(counted)
            assert not any(sums.values())


TestCountedPods = CountedPods.TestCase
