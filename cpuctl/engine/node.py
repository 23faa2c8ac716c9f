"""The façade: one kubelet's resource managers on one machine, from start to the last pod.

A node is started from values and asked for decisions; it holds the state in between, as the kubelet does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from cpuctl.engine.cpu_manager import Allocation, CPUManagerState, StaticPolicy
from cpuctl.engine.exclusive_claim import ExclusiveClaim, exclusive_claim
from cpuctl.engine.outcome import KubeletFault, PickStep, Rejected, Undetermined
from cpuctl.engine.topology import CPUTopology
from cpuctl.pods.model import Container, Pod
from cpuctl.pods.qos import Qos, pod_qos


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where one container runs: its exclusive CPUs, or the shared pool as it was when it was admitted."""

    container: Container
    claim: ExclusiveClaim
    cpus: int
    exclusive: bool
    steps: tuple[PickStep, ...] = ()


@dataclass(frozen=True, slots=True)
class Admitted:
    """The kubelet runs the pod."""


Verdict = Admitted | Rejected | KubeletFault | Undetermined


class PoolWarning(StrEnum):
    """What a pod's admission leaves of the shared pool, where that is worth a warning."""

    EMPTY = "empty"
    ONLY_RESERVED = "only reserved CPUs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """One decision: the verdict, what each container got until then, and the shared pool afterwards."""

    pod: Pod
    qos: Qos
    verdict: Verdict
    placements: tuple[Placement, ...]
    shared_pool: int
    pool_warning: PoolWarning | None = None


@dataclass(slots=True, kw_only=True)
class Node:
    """A started kubelet. ``policy`` is None for CPU policy ``none``; ``fault`` is set once it hangs."""

    topology: CPUTopology
    policy: StaticPolicy | None
    state: CPUManagerState
    pod_level_resources: bool
    fault: KubeletFault | None = None

    def copy(self) -> Node:
        """Return a node of its own in the same state, to try things on."""
        return Node(
            topology=self.topology,
            policy=self.policy,
            state=self.state.copy(),
            pod_level_resources=self.pod_level_resources,
            fault=self.fault,
        )

    def admit(self, pod: Pod) -> Admission:
        """Decide on one pod and change the state as the kubelet would; a refusal undoes nothing."""
        before = self.state.default
        placements: list[Placement] = []
        qos = pod_qos(pod, pod_level=self.pod_level_resources)
        verdict = self.fault or self._allocate(pod, qos, placements)
        if isinstance(verdict, KubeletFault):
            self.fault = verdict
        pool = self.state.default
        return Admission(
            pod=pod,
            qos=qos,
            verdict=verdict,
            # Shared containers run in the pool that is left once the whole pod is admitted.
            placements=tuple(each if each.exclusive else replace(each, cpus=pool) for each in placements),
            shared_pool=pool,
            pool_warning=self._pool_warning(before),
        )

    def _allocate(self, pod: Pod, qos: Qos, placements: list[Placement]) -> Verdict:
        for container in pod.all_containers:
            claim = self._claim(pod, container, qos)
            if self.policy is None or claim.count == 0:
                placements.append(Placement(container=container, claim=claim, cpus=0, exclusive=False))
                continue
            result = self.policy.allocate(self.state, pod, container, claim.count)
            if not isinstance(result, Allocation):
                return result
            placements.append(
                Placement(
                    container=container, claim=claim, cpus=result.cpus, exclusive=True, steps=result.steps
                )
            )
        return Admitted()

    def _claim(self, pod: Pod, container: Container, qos: Qos) -> ExclusiveClaim:
        if self.policy is None:
            return ExclusiveClaim(0, "the CPU Manager policy is none")
        return exclusive_claim(pod, container, qos)

    def _pool_warning(self, before: int) -> PoolWarning | None:
        after = self.state.default
        if self.policy is None or after == before:
            return None
        if not after:
            return PoolWarning.EMPTY
        return PoolWarning.ONLY_RESERVED if not after & ~self.policy.reserved else None
