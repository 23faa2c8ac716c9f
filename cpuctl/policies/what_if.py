"""A policy instead of the kubelet's own: the questions on a node, and the use of the answers.

The policy makes the choices of the CPU Manager's static policy: which free CPUs a pod may have, on which of
several equally good NUMA nodes, and which CPUs a container gets. Everything else is the kubelet's: which
containers get exclusive CPUs, ``full-pcpus-only``, memory and devices, whether a pod fits. A policy that
fails raises PolicyError, and the node remains unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from cpuctl import option_names
from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.manager import CPURequest, StaticPolicy
from cpuctl.engine.cpu.picking.packed import not_enough
from cpuctl.engine.cpu.provider import pod_count
from cpuctl.engine.hints.alternatives import equally_good, preferred_by_cpus
from cpuctl.engine.hints.hints import Hint
from cpuctl.engine.hints.topology_manager import HintRound, Merged
from cpuctl.engine.masks import NO_CPUS, CPUMask, NodeMask
from cpuctl.engine.outcome import (
    Admitted,
    AllocationError,
    FaultKind,
    KubeletFault,
    Picked,
    PickResult,
    PickStep,
    Rejected,
    Weighing,
)
from cpuctl.engine.provider import Candidate
from cpuctl.errors import CpuctlError, PolicyError, UsageError
from cpuctl.pods.qos import pod_qos
from cpuctl.policies.answering import Answer, Question
from cpuctl.policies.model import STEPS, Alignment, ContainerView, Elements, PodView, Step
from cpuctl.policies.worker import Worker
from cpuctl.records import replace

if TYPE_CHECKING:
    from cpuctl.engine.admission import Admission
    from cpuctl.engine.cpu.state import CPUManagerState
    from cpuctl.engine.cpu.topology import CPUTopology
    from cpuctl.engine.node import Node
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.machine.machine_info import MachineInfo
    from cpuctl.machine.model import CoreKinds
    from cpuctl.pods.model import Container as GivenContainer
    from cpuctl.pods.model import StoredPod

MOST_NODE_SETS = 256
"""The maximum number of equally good sets of NUMA nodes that are tried with a policy."""
_CRASH_AT = "CPU Manager, with this policy"


class Description(NamedTuple):
    """A policy's description of itself; ``steps`` are those that it overrides."""

    doc: str
    source: str
    alignment: Alignment
    steps: tuple[Step, ...]
    options: Mapping[str, str]


class Setting(NamedTuple):
    """The constant facts of a node that a policy can see: its topology and its kubelet's options."""

    elements: Elements
    settings: tuple[tuple[str, str], ...] = ()
    release: tuple[int, int | None] = (36, None)

    @classmethod
    def of(cls, topology: CPUTopology, info: MachineInfo, kinds: CoreKinds, kubelet: Kubelet) -> Setting:
        """Describe a machine and a kubelet."""
        elements = elements_of(topology)._replace(
            performance=kinds.performance.mask,
            efficiency=kinds.efficiency.mask,
            distances={node.id: tuple(node.distances) for node in info.nodes},
        )
        options = tuple(sorted(kubelet.config.cpu_manager_policy_options.items()))
        return cls(elements, options, (kubelet.version.minor, kubelet.version.patch))


def elements_of(topology: CPUTopology) -> Elements:
    """Describe a topology as the kubelet counts it."""
    return Elements(
        numa_nodes=dict(topology.numa_nodes),
        sockets=dict(topology.sockets),
        cores=dict(topology.cores),
        uncore_caches=dict(topology.uncore_caches),
        num_cpus=topology.num_cpus,
        num_sockets=topology.num_sockets,
        num_cores=topology.num_cores,
    )


def describe(worker: Worker) -> Description:
    """Load a policy's description; raise PolicyError if it cannot be loaded."""
    answer = worker.ask(Question("describe"))
    texts = [answer.get(name) for name in ("doc", "source", "alignment")]
    steps, options = answer.get("steps"), answer.get("options")
    if not all(isinstance(each, str) for each in texts) or not isinstance(steps, list):
        _reject_answer(worker)
    if texts[2] not in ("hint", "equal", "cpu"):
        message = f"policy {worker.name}: its alignment is {texts[2]!r}, expected hint, equal or cpu"
        raise PolicyError(message)
    doc, source, _ = map(str, texts)
    alignment: Alignment = texts[2]
    own = tuple(step for step in STEPS if step in steps)
    plain = {str(k): str(v) for k, v in options.items()} if isinstance(options, dict) else {}
    return Description(doc, source, alignment, own, plain)


class SubstitutePolicy:
    """A policy that replaces the kubelet's on one node and on copies of it."""

    def __init__(
        self, worker: Worker, described: Description, setting: Setting, *, as_kubelet: bool = False
    ) -> None:
        self.worker = worker
        self.described = described
        self.setting = setting
        self.as_kubelet = as_kubelet
        self._node: Node | None = None

    def attach(self, node: Node) -> None:
        """Replace the kubelet's policy on a node; no effect if that is ``none``."""
        if node.cpu.policy is not None:
            node.what_if = self
            node.cpu.policy = replace(node.cpu.policy, chooser=self)

    def attend(self, node: Node) -> None:
        """Use this node from now on."""
        self._node = node

    def order(self, node: Node, pods: Sequence[StoredPod]) -> list[StoredPod]:
        """Sort new pods in the policy's order; raise PolicyError if it loses some."""
        if not self._has("sort") or node.policy is None:
            return list(pods)
        self.attend(node)
        views = tuple(self._pod(pod) for pod in pods)
        uids = self._texts(self._ask(node.policy, node.state, Question("sort", pods=views)), "uids")
        by_uid = {pod.uid: pod for pod in pods}
        if sorted(uids) != sorted(by_uid):
            _reject_answer(self.worker)
        return [by_uid[uid] for uid in uids]

    def admit(self, node: Node, pod: StoredPod) -> Admission:
        """Decide on a pod, and make room for it once if the policy wants to.

        Raise PolicyError for an error of the policy: the node is unchanged then.
        """
        before = node.copy()
        try:
            admission = node.admit_once(pod)
            if isinstance(admission.verdict, Rejected) and self._has("post_filter"):
                return self._with_room(before, node, pod) or admission
        except CpuctlError:
            node.become(before)
            raise
        return admission

    def _with_room(self, before: Node, node: Node, pod: StoredPod) -> Admission | None:
        """Evict the pods that the policy names and try again; None if that does not help."""
        assert before.policy is not None
        trial = before.copy()
        trial.clean_up()
        self.attend(trial)
        question = Question("post_filter", pod=self._pod(pod))
        uids = self._texts(self._ask(before.policy, trial.state, question), "uids")
        if not uids:
            return None
        if not set(uids) <= set(trial.active) - {pod.uid}:
            _reject_answer(self.worker)
        free = trial.state.default
        for uid in uids:
            trial.remove(uid)
        trial.clean_up()
        if self._has("deallocate"):
            back = trial.state.default & ~free
            self._ask(before.policy, trial.state, Question("deallocate", cpus=back))
        second = trial.admit_once(pod)
        if not isinstance(second.verdict, Admitted):
            return None
        names = tuple(before.active[uid].full_name for uid in uids)
        node.become(trial)
        return replace(second, evicted=names)

    def align(self, node: Node, candidate: Candidate, hint_round: HintRound) -> Hint:
        """Choose among the sets of NUMA nodes that the policy may choose from: the set with the best CPUs."""
        merged, policy = hint_round.merged, node.policy
        assert isinstance(merged, Merged)
        if self.described.alignment == "hint" or policy is None:
            return merged.hint
        number = self._number(node, candidate, hint_round.container)
        listed = equally_good if self.described.alignment == "equal" else preferred_by_cpus
        sets = listed(hint_round, node.topology_manager)[:MOST_NODE_SETS]
        if not number or not sets or set(sets) == {merged.hint.nodes}:
            return merged.hint
        self.attend(node)
        offered = policy.available(node.state, candidate.pod) | node.state.reusable_for(candidate.pod.uid)
        best: tuple[float, NodeMask] | None = None
        for nodes in sets:
            request = CPURequest(
                candidate.pod, hint_round.container, offered & policy.near(nodes), number, nodes
            )
            found = self._picked(policy, node.state, request)
            if isinstance(found, Picked):
                score = found.weighings[0].sets[found.weighings[0].winner][1]
                if best is None or score > best[0]:
                    best = score, nodes
        return merged.hint if best is None else Hint(best[1], preferred=merged.hint.preferred)

    def _number(self, node: Node, candidate: Candidate, container: GivenContainer | None) -> int:
        """Count the requested exclusive CPUs; 0 for a container that already has them."""
        held = node.state.assignments.get(candidate.pod.uid, {})
        if container is None:
            if held:
                return 0
            return pod_count(candidate.pod.all_containers, lambda each: node.cpu.claim(candidate, each).cpus)
        return 0 if container.name in held else node.cpu.claim(candidate, container).cpus

    def usable(self, policy: StaticPolicy, state: CPUManagerState, pod: StoredPod) -> CPUMask:
        """Return the free CPUs that pass the policy's filter."""
        return self._kept(policy, state, pod, state.default & ~policy.reserved)

    def choose(self, policy: StaticPolicy, state: CPUManagerState, request: CPURequest) -> PickResult:
        """Choose near the target NUMA nodes, and take missing CPUs from the rest."""
        offered = self._kept(policy, state, request.pod, request.offered)
        removed = request.offered & ~offered
        number, near, first = request.number, offered, request.number
        if request.affinity is not None:
            near = offered & policy.near(request.affinity)
            first = min(number, near.bit_count())
        found = Picked(NO_CPUS)
        for offer, count, nodes in ((near, first, request.affinity), (offered, number - first, None)):
            if not count:
                continue
            requested = replace(request, offered=offer & ~found.cpus, number=count, affinity=nodes)
            part = self._picked(policy, state, requested, removed)
            if not isinstance(part, Picked):
                return part
            aside = [replace(each, aside=True) for each in part.weighings] if found.cpus else part.weighings
            found = Picked(found.cpus | part.cpus, found.steps + part.steps, (*found.weighings, *aside))
        if self._has("allocate"):
            asked_for = _container_view(request)
            self._ask(policy, state, Question("allocate", container=asked_for, cpus=found.cpus))
        return found

    def _picked(
        self, policy: StaticPolicy, state: CPUManagerState, request: CPURequest, removed: CPUMask = NO_CPUS
    ) -> PickResult:
        nodes = request.affinity
        offered, number = request.offered & policy.topology.cpus, request.number
        if number > offered.bit_count():
            return not_enough(number, request.offered, policy.picker.dealing.rules)
        own: PickResult = Picked(NO_CPUS)
        if not self.as_kubelet:
            own = policy.picker.pick(offered, number, hint_width=nodes.bit_count() if nodes else 0)
            if not isinstance(own, Picked) and not self._has("select"):
                return own
        kubelet = own.cpus if isinstance(own, Picked) else NO_CPUS
        question = Question(
            "select",
            container=_container_view(request),
            free=offered,
            need=number,
            nodes=None if nodes is None else tuple(CPUSet(nodes)),
            kubelet=kubelet,
        )
        answer = self._ask(policy, state, question)
        if "rejected" in answer:
            why = str(answer["rejected"])
            return AllocationError(why if self.as_kubelet else f"policy {self.worker.name}: {why}")
        if "failed" in answer:
            return _fault(answer)
        weighing = self._weighing(answer, removed)
        cpus = weighing.sets[weighing.winner][0]
        proper = not cpus & ~offered and cpus.bit_count() == number
        if not (proper or self.as_kubelet or (cpus == kubelet and not self._has("select"))):
            _reject_answer(self.worker)
        return Picked(cpus, (PickStep(f"policy {self.worker.name}", cpus),), (weighing,))

    def _weighing(self, answer: Answer, removed: CPUMask) -> Weighing:
        try:
            sets = tuple((CPUMask(int(cpus, 16)), float(score)) for cpus, score in answer["sets"])
            scores = {int(cpu): float(score) for cpu, score in answer["scores"].items()}
            winner = int(answer["winner"])
            if not 0 <= winner < len(sets):
                _reject_answer(self.worker)
        except (TypeError, ValueError, KeyError, AttributeError, OverflowError):
            _reject_answer(self.worker)
        return Weighing(removed, scores, sets, winner)

    def _kept(self, policy: StaticPolicy, state: CPUManagerState, pod: StoredPod, free: CPUMask) -> CPUMask:
        if not self._has("filter") or not free:
            return free
        answer = self._ask(policy, state, Question("filter", pod=self._pod(pod), free=free))
        try:
            return CPUMask(int(answer["cpus"], 16)) & free
        except (KeyError, TypeError, ValueError):
            _reject_answer(self.worker)

    def _ask(self, policy: StaticPolicy, state: CPUManagerState, question: Question) -> Answer:
        node = self._node
        return self.worker.ask(
            question._replace(
                elements=self.setting.elements,
                shared=state.default,
                reserved=policy.reserved,
                holders=tuple(_holders(state)),
                usage=tuple(_usage(policy, state, node)),
                settings=self.setting.settings,
                release=self.setting.release,
                running=tuple(self._pod(pod) for pod in node.active.values()) if node else (),
            )
        )

    def _pod(self, pod: StoredPod) -> PodView:
        node = self._node
        qos = pod_qos(pod if node is None else node.pod_rules.view(pod))
        candidate = Candidate(pod, qos)
        return PodView(
            namespace=pod.namespace,
            name=pod.name,
            uid=pod.uid,
            qos=str(qos.qos_class.value),
            priority=pod.priority or 0,
            containers=tuple(
                ContainerView(each.name, each.kind.value, node.cpu.claim(candidate, each).cpus if node else 0)
                for each in pod.all_containers
            ),
        )

    def _has(self, step: str) -> bool:
        return step in self.described.steps

    def _texts(self, answer: Answer, name: str) -> list[str]:
        found = answer.get(name)
        if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
            _reject_answer(self.worker)
        return found


def resizes_unsupported() -> UsageError:
    """Return the error for a resize with exclusive CPUs: the steps do not support resizes."""
    return UsageError(
        "policies cannot decide on resizes, which would change exclusive CPUs (KEP-5554)",
        where=option_names.POLICY,
        hint="remove the policy, or disable the feature gate InPlacePodVerticalScalingExclusiveCPUs",
    )


def _reject_answer(worker: Worker) -> NoReturn:
    """Reject an answer of a policy's process that its own checks should have rejected."""
    worker.stop()
    raise PolicyError(f"policy {worker.name}: returned an invalid answer")


def _container_view(request: CPURequest) -> ContainerView | None:
    each = request.container
    return None if each is None else ContainerView(each.name, each.kind.value, request.number)


def _fault(answer: Answer) -> KubeletFault:
    kind = FaultKind.CRASH if answer.get("crash") else FaultKind.ENDLESS_LOOP
    return KubeletFault(kind=kind, where=str(answer.get("where") or _CRASH_AT), why=str(answer["failed"]))


def _holders(state: CPUManagerState) -> Iterator[tuple[str, str, int]]:
    for uid, containers in state.assignments.items():
        for name, cpus in containers.items():
            yield uid, name, cpus
    for uid, cpus in state.pod_entries.items():
        yield uid, "", cpus


def _usage(
    policy: StaticPolicy, state: CPUManagerState, node: Node | None
) -> Iterator[tuple[int, str, int, int]]:
    """Yield the amounts allocated on each NUMA node, and the totals: exclusive CPUs, bytes, devices."""
    for number, mask in policy.topology.numa_nodes.items():
        inside = mask & policy.allocatable
        yield number, "cpu", (inside & ~state.default).bit_count(), inside.bit_count()
    if node is None:
        return
    if node.memory.policy is not None:
        for number, tables in node.memory.state.tables.items():
            for resource, table in tables.memory_map.items():
                yield number, resource, table.reserved, table.allocatable
    for resource, pool in node.devices.pools.items():
        used = node.devices.state.in_use.get(resource, 0)
        for number in policy.topology.numa_nodes:
            near = reduce(or_, (each for nodes, each in pool.by_nodes.items() if nodes >> number & 1), 0)
            if near:
                yield number, resource, (near & used).bit_count(), (near & pool.healthy).bit_count()
