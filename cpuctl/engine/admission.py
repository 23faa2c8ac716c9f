"""A pod's path through the managers, and the result of its admission: the verdict, and what it is based on.

Rule: kubelet v1.36 ``pkg/kubelet/cm/topologymanager``, ``scope_*.go``: container by container, or as a
whole. Nothing is undone on a refusal.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from cpuctl.engine.hints.hints import IMPOSSIBLE, Hint
from cpuctl.engine.hints.topology_manager import Answer, HintRound, Merged, ProviderName, TopologyManager
from cpuctl.engine.outcome import (
    FAILED_IN_POD_SCOPE,
    Admitted,
    KubeletFault,
    Rejected,
    RejectionReason,
    Undetermined,
    Verdict,
)
from cpuctl.engine.placement import Placement, PoolWarning
from cpuctl.engine.provider import Candidate, Provider, Refusal
from cpuctl.pods.model import Container, StoredPod
from cpuctl.pods.qos import Qos
from cpuctl.records import Record

if TYPE_CHECKING:
    from cpuctl.engine.readmission import Readmission


class Admission(Record):
    """One decision: the verdict, the requested hints, and what each container got by then.

    ``pod_cpus`` are the CPUs (a mask) that the pod holds as a whole (KEP-5526), 0 for most. ``readmission``
    is set if it held something before and the kubelet went on as if it did not. ``taken_from_others`` are
    CPUs (a mask) that it got although they are reserved or another pod's. ``evicted`` are the pods removed
    for it, which only policies that no kubelet has do.
    """

    pod: StoredPod
    qos: Qos
    verdict: Verdict
    placements: tuple[Placement, ...]
    hint_rounds: tuple[HintRound, ...]
    pod_cpus: int
    pool_warning: PoolWarning | None
    taken_from_others: int
    readmission: "Readmission | None"
    evicted: tuple[str, ...] = ()

    @property
    def is_sound(self) -> bool:
        """Whether the pod is admitted, and no CPU that it got is reserved or another pod's."""
        return isinstance(self.verdict, Admitted) and not self.taken_from_others

    @property
    def wrapped_memory(self) -> Mapping[str, tuple[str, ...]]:
        """The resources, by container, for which the kubelet's sums have wrapped around.

        Sums are unsigned: what a container requests beyond a pod's total leaves 2^64 minus that.
        """
        wrapped = {
            each.container.name: tuple(block.type for block in each.memory if block.size >> 63)
            for each in self.placements
        }
        return {name: types for name, types in wrapped.items() if types}


Aligner = Callable[[Candidate, HintRound], Hint]
"""Chooses NUMA nodes after a round of hints that the Topology Manager admits."""


class ScopedAdmission:
    """The admission of one pod: what decides on it, and the hints and placements so far.

    ``providers`` yields the managers in the kubelet's order, each after its clean-up. ``aligner`` may choose
    other NUMA nodes than the Topology Manager has, which no kubelet does.
    """

    def __init__(
        self,
        candidate: Candidate,
        manager: TopologyManager,
        providers: Callable[[], Iterable[Provider]],
        aligner: Aligner | None = None,
    ) -> None:
        self.candidate = candidate
        self.manager = manager
        self.providers = providers
        self.aligner = aligner
        self.hint_rounds: list[HintRound] = []
        self.placements: list[Placement] = []

    def run(self) -> Verdict:
        """Decide on the containers one by one, init first, or on the pod as a whole."""
        scope = self.manager.scope
        hint = self._align(None) if scope == "pod" else IMPOSSIBLE
        if scope == "pod" and self.candidate.divided:
            return self._place_pod(hint) if isinstance(hint, Hint) else hint
        for container in self.candidate.pod.all_containers:
            if scope == "container":
                hint = self._align(container)
            if not isinstance(hint, Hint):
                return hint
            placed = self._place(container, hint)
            if not isinstance(placed, Placement):
                return placed
            self.placements.append(placed)
        return Admitted()

    def ask(self, container: Container | None) -> HintRound:
        """Collect and merge the hints for a container, or for the pod if *container* is None."""
        answers: dict[ProviderName, Answer] = {}
        if self.manager.fault is not None:
            return HintRound(container=container, answers=answers, merged=self.manager.fault)
        for provider in self.providers():
            answer = provider.hints(self.candidate, container)
            if isinstance(answer, KubeletFault):
                return HintRound(container=container, answers=answers, merged=answer)
            answers[provider.name] = answer
        return HintRound(
            container=container, answers=answers, merged=self.manager.merge(list(answers.values()))
        )

    def _align(self, container: Container | None) -> Hint | Refusal:
        """Choose where to allocate for a container, or for the pod if *container* is None."""
        self.hint_rounds.append(self.ask(container))
        merged = self.hint_rounds[-1].merged
        if not isinstance(merged, Merged):
            return merged
        if merged.admit:
            return self.aligner(self.candidate, self.hint_rounds[-1]) if self.aligner else merged.hint
        return Rejected(
            reason=RejectionReason.TOPOLOGY_AFFINITY,
            message=self._refusal(container),
            container=container.name if container else "",
        )

    def _refusal(self, container: Container | None) -> str:
        if not self.candidate.divided:
            return "Resources cannot be allocated with Topology locality"
        if container is None:
            return FAILED_IN_POD_SCOPE
        return (
            "Pod Scope pod with pod-level resources failed admission with a container-level topology manager"
        )

    def _place_pod(self, hint: Hint) -> Verdict:
        """Let every manager allocate for the pod as a whole."""
        placed: Sequence[Placement] = [
            Placement(container=each) for each in self.candidate.pod.all_containers
        ]
        for provider in self.providers():
            more = provider.allocate_pod(self.candidate, hint, placed)
            if isinstance(more, Rejected | KubeletFault | Undetermined):
                return more
            placed = more
        self.placements.extend(placed)
        return Admitted()

    def _place(self, container: Container, hint: Hint) -> Placement | Refusal:
        """Let every manager allocate for one container."""
        placed = Placement(container=container)
        for provider in self.providers():
            more = provider.allocate(self.candidate, hint, placed)
            if not isinstance(more, Placement):
                return more
            placed = more
        return placed
