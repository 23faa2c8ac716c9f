"""The façade: one kubelet's resource managers on one machine, from start to the last pod.

A node is started from values and asked for decisions; it holds the state in between, as the kubelet does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum

from cpuctl.checkpoints.model import CPUStateFile, SavedCPUState, UnreadableState
from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu_manager import Allocation, StaticPolicy
from cpuctl.engine.cpu_state import CPUManagerState, validate
from cpuctl.engine.exclusive_claim import ExclusiveClaim, exclusive_claim
from cpuctl.engine.node_fit import Allocatable, check_fit
from cpuctl.engine.outcome import KubeletFault, PickStep, Rejected, StartRefused, Undetermined
from cpuctl.engine.topology import CPUTopology
from cpuctl.pods.model import Container, Pod
from cpuctl.pods.qos import Qos, pod_qos

_START = "cpuManagerStart"
_UNUSABLE = (
    "could not restore state from checkpoint: {error}, please drain this node and delete the CPU manager "
    'checkpoint file "/var/lib/kubelet/cpu_manager_state" before restarting Kubelet'
)


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
    """A started kubelet. ``policy`` is None for CPU policy ``none``; ``fault`` is set once it hangs.

    ``allocatable`` is what pods must fit into, None where that is not to be checked. ``active`` are the
    pods it takes for running, by UID. Clean-up is lazy as the kubelet's: what an inactive pod holds comes
    back when the next pod is admitted, and never while ``sources_ready`` is False.
    """

    topology: CPUTopology
    policy: StaticPolicy | None
    state: CPUManagerState
    pod_level_resources: bool
    allocatable: Allocatable | None = None
    fault: KubeletFault | None = None
    active: dict[str, Pod] = field(default_factory=dict)
    sources_ready: bool = True

    def copy(self) -> Node:
        """Return a node of its own in the same state, to try things on."""
        return replace(self, state=self.state.copy(), active=dict(self.active))

    def restore(self, saved: SavedCPUState) -> StartRefused | None:
        """Take over a state file as at kubelet start, or say in the kubelet's words why not."""
        if saved is None:
            return None
        wanted = "none" if self.policy is None else "static"
        error = saved.error if isinstance(saved, UnreadableState) else _other_policy(wanted, saved)
        if error:
            return StartRefused(stage=_START, error=_UNUSABLE.format(error=error))
        assert isinstance(saved, CPUStateFile)
        state = CPUManagerState.of_file(saved)
        if self.policy is not None:
            strict, machine = self.policy.options.strict_cpu_reservation, self.topology.cpus
            error = validate(state, machine=machine, reserved=self.policy.reserved, strict=strict)
            if error:
                return StartRefused(stage=_START, error=error)
            self.state = state
        return None

    def state_file(self) -> CPUStateFile:
        """Return what the kubelet's ``cpu_manager_state`` says now."""
        if self.policy is None:
            return CPUStateFile(policy_name="none", default_cpu_set=CPUSet())
        return self.state.as_file("static")

    def admit(self, pod: Pod) -> Admission:
        """Decide on one pod and change the state as the kubelet would; a refusal undoes nothing."""
        before = self.state.default
        placements: list[Placement] = []
        qos = pod_qos(pod, pod_level=self.pod_level_resources)
        self.active[pod.uid] = pod
        verdict = self.fault or self._decide(pod, qos, placements)
        if isinstance(verdict, KubeletFault):
            self.fault = verdict
        if not isinstance(verdict, Admitted):
            self.active.pop(pod.uid)
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

    def readmit(self, pods: Iterable[Pod]) -> Iterator[Admission]:
        """Admit running pods again, one a step, as after a restart: nothing is cleaned up meanwhile."""
        self.active = {pod.uid: pod for pod in pods}
        self.sources_ready = False
        for pod in list(self.active.values()):
            yield self.admit(pod)
        self.sources_ready = True

    def remove(self, uid: str) -> None:
        """Let a pod end; what it holds comes back with the next clean-up."""
        self.active.pop(uid, None)

    def clean_up(self) -> None:
        """Release what containers of pods that are no longer active hold."""
        if self.policy is not None and self.sources_ready:
            names = {uid: [each.name for each in pod.all_containers] for uid, pod in self.active.items()}
            self.state.keep_only(names)

    def remove_container(self, uid: str, container: str) -> None:
        """Release what one container holds now."""
        if self.policy is not None:
            self.state.remove_container(uid, container)

    def _decide(self, pod: Pod, qos: Qos, placements: list[Placement]) -> Verdict:
        verdict = self._allocate(pod, qos, placements)
        if isinstance(verdict, Admitted) and self.allocatable is not None:
            # The managers come first: a pod that does not fit has been given its CPUs by then.
            running, pod_level = self.active.values(), self.pod_level_resources
            return check_fit(pod, running, self.allocatable, pod_level=pod_level) or verdict
        return verdict

    def _allocate(self, pod: Pod, qos: Qos, placements: list[Placement]) -> Verdict:
        for container in pod.all_containers:
            # Every allocation cleans up first, also one that needs nothing.
            self.clean_up()
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


def _other_policy(wanted: str, saved: CPUStateFile) -> str:
    if saved.policy_name == wanted:
        return ""
    return f'configured policy "{wanted}" differs from state checkpoint policy "{saved.policy_name}"'
