"""Resizing a pod as the reference implementation of KEP-5554 does, including its defects.

Every container of the pod is processed, changed or not; containers before a refused one keep what they got.
CPU sets are masks throughout.
"""

from __future__ import annotations

from cpuctl.engine.cpu.hints import CPUHints
from cpuctl.engine.cpu.manager import StaticPolicy
from cpuctl.engine.cpu.provider import CPUAnswer, CPUProvider
from cpuctl.engine.cpu.resizing.allocation import ContainerCPUs, allocate_resized
from cpuctl.engine.cpu.resizing.request import (
    Departure,
    Resized,
    ResizeRequest,
    cannot_allocate,
    divided_pod,
    infeasible,
)
from cpuctl.engine.cpu.state import CPUManagerState
from cpuctl.engine.hints.hints import IMPOSSIBLE
from cpuctl.engine.hints.topology_manager import Answer, HintRound, Merged, ProviderName, TopologyManager
from cpuctl.engine.masks import NO_CPUS, CPUMask, NodeMask
from cpuctl.engine.outcome import (
    Admitted,
    AllocationError,
    KubeletFault,
    Picked,
    PickStep,
    Rejected,
    RejectionReason,
)
from cpuctl.engine.placement import ExclusiveClaim, Placement
from cpuctl.engine.provider import Candidate, Provider, Refusal
from cpuctl.pods.model import Container, QosClass, StoredPod
from cpuctl.records import Record, replace


class Resizing(Record):
    """One pod's resize on a node: the managers that decide, the request, and the results so far.

    ``postpones``: containers that shrink keep what they have until their delay has passed (KEP-6122).
    """

    policy: StaticPolicy
    cpu: CPUProvider
    others: tuple[Provider, ...]
    manager: TopologyManager
    request: ResizeRequest
    candidate: Candidate
    postpones: bool
    hint_rounds: list[HintRound]
    placements: list[Placement]

    def fresh(self) -> Resizing:
        """Return the same resize with its own copy of the state, for a trial."""
        return replace(self, cpu=self.cpu.copy(), hint_rounds=[], placements=[])

    def adopt(self, other: Resizing) -> None:
        """Take over the results of a trial."""
        self.cpu.state = other.cpu.state
        self.hint_rounds[:], self.placements[:] = other.hint_rounds, other.placements

    @property
    def state(self) -> CPUManagerState:
        """The CPU Manager's state, which changes as containers get their new sizes."""
        return self.cpu.state

    def run(self) -> Admitted | Refusal:
        """Resize the containers, init containers first, as at admission."""
        scope = self.manager.scope
        merged: Merged | Refusal = Merged(IMPOSSIBLE, admit=True)
        if scope == "pod":
            merged = self.align(None)
            if self.candidate.divided and isinstance(merged, Merged):
                return divided_pod()
        for container in self.request.pod.all_containers:
            if scope == "container":
                merged = self.align(container)
            if not isinstance(merged, Merged):
                return merged
            if refused := self.resize_container(container, merged.hint.nodes):
                return refused
        return Admitted()

    def align(self, container: Container | None) -> Merged | Refusal:
        """Return the Topology Manager's result for a container, or with None for the pod."""
        if self.request.pod.has_pod_level_resources:
            return self.judge(container, None)
        if container is None:
            return self.judge(None, self.cpu.hints(self.candidate, None))
        count = self.claim(container).cpus
        hints = resize_hints(self.policy, self.state, self.request.pod, container, count)
        return self.judge(container, hints)

    def answer(self, verdict: Admitted | Refusal, *departures: Departure) -> Resized:
        """Combine the verdict with what it is based on."""
        return Resized(
            verdict=verdict,
            hint_rounds=tuple(self.hint_rounds),
            placements=tuple(self.placements),
            departures=departures,
        )

    def judge(self, container: Container | None, cpu: CPUAnswer | KubeletFault) -> Merged | Refusal:
        """Let the Topology Manager's policy judge the CPU Manager's hints and those of the others."""
        if isinstance(cpu, KubeletFault):
            return cpu
        answers: dict[ProviderName, Answer] = {"cpu": cpu}
        for provider in self.others:
            answer = provider.hints(self.candidate, container)
            if isinstance(answer, KubeletFault):
                return answer
            answers[provider.name] = answer
        merged = self.manager.merge(list(answers.values()))
        self.hint_rounds.append(HintRound(container=container, answers=answers, merged=merged))
        if not isinstance(merged, Merged) or merged.admit:
            return merged
        return Rejected(
            reason=RejectionReason.TOPOLOGY_AFFINITY,
            message="Resources cannot be allocated with Topology locality",
            container=container.name if container else "",
        )

    def resize_container(self, container: Container, affinity: NodeMask | None) -> Refusal | None:
        """Give a container the CPUs of its new size; return the refusal, None on success."""
        pod, state = self.request.pod, self.state
        baseline = state.baseline(pod.uid, container.name)
        if self.candidate.qos.qos_class is QosClass.GUARANTEED and (
            refused := infeasible(self.request, container, baseline)
        ):
            return refused
        claim = self.claim(container)
        if claim.cpus == 0 or pod.has_pod_level_resources:
            self.record(container, NO_CPUS)
            return None
        if refused_by_smt := self.policy.smt_refusal(
            state, container, claim.cpus, own=self.request.allocated_cpus(container)
        ):
            return refused_by_smt
        return self._allocate(container, claim.cpus, affinity)

    def claim(self, container: Container) -> ExclusiveClaim:
        """Count the exclusive CPUs that a container is due after the resize."""
        return self.cpu.claim(self.candidate, container)

    def _allocate(self, container: Container, count: int, affinity: NodeMask | None) -> Refusal | None:
        container_cpus = self.container_cpus(container)
        result = allocate_resized(self.policy, container_cpus, count, affinity)
        match result:
            case AllocationError(message=why) if container_cpus.current is None:
                return Rejected(
                    reason=RejectionReason.UNEXPECTED_ADMISSION,
                    message=f"Allocate failed due to {why}, which is unexpected",
                    container=container.name,
                )
            case AllocationError(message=why):
                return cannot_allocate(self.request.pod.uid, container.name, why)
            case Picked(cpus=cpus, steps=steps):
                self.take(container, cpus)
                self.record(container, cpus, steps)
                return None
            case fault:
                return fault

    def container_cpus(self, container: Container) -> ContainerCPUs:
        """Return the CPUs that a container has, was promised, and may get."""
        uid, state = self.request.pod.uid, self.state
        return ContainerCPUs(
            current=state.assigned(uid, container.name),
            baseline=state.baseline(uid, container.name) or NO_CPUS,
            free=state.default & ~self.policy.reserved,
            lent=state.reusable_for(uid),
        )

    def record(self, container: Container, cpus: CPUMask, steps: tuple[PickStep, ...] = ()) -> None:
        """Record the CPUs of a container for the answer; an empty mask means the shared pool."""
        claim = self.claim(container)
        self.placements.append(
            Placement(container=container, claim=claim, cpus=cpus, exclusive=bool(cpus), steps=steps)
        )

    def take(self, container: Container, cpus: CPUMask) -> None:
        """Assign CPUs to a container; those it gives up return to the shared pool, immediately or later."""
        uid, state = self.request.pod.uid, self.state
        held = state.assigned(uid, container.name) or NO_CPUS
        if self.postpones and cpus.bit_count() < held.bit_count():
            state.postpone(uid, container.name, cpus)
            return
        state.call_off(uid, container.name)
        if held.bit_count() < cpus.bit_count():
            state.default &= ~cpus
        else:
            state.default |= held & ~cpus
        state.assign(uid, container.name, cpus)
        state.remember_reuse(uid, container.kind, cpus)


def resize_hints(
    policy: StaticPolicy, state: CPUManagerState, pod: StoredPod, container: Container, count: int
) -> CPUAnswer:
    """Return the hints for one container that is due *count* exclusive CPUs after the resize.

    A growing container has to stay where it is; the baseline of a shrinking one counts twice, so a hint can
    be too optimistic.
    """
    if count == 0:
        return None
    free, lent = state.default & ~policy.reserved, state.reusable_for(pod.uid)
    held = state.assigned(pod.uid, container.name)
    if held is None:
        available, reusable = free, lent
    elif count > held.bit_count():
        available, reusable = free, held | lent
    elif count < held.bit_count():
        available, reusable = held, state.baseline(pod.uid, container.name) or NO_CPUS
    else:
        available, reusable = held, NO_CPUS
    align = policy.options.align_by_socket
    return {"cpu": CPUHints.generate(policy.topology, available, reusable, count, align_by_socket=align)}
