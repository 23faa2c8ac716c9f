"""The façade: one kubelet's resource managers on one machine, from start to the last pod.

A node is started from values and asked for decisions; it holds the state in between, as the kubelet does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from cpuctl.checkpoints.model import CPUStateFile, SavedCPUState, UnreadableState
from cpuctl.cpuset import CPUSet
from cpuctl.engine.admission import Admission, Admitted, Asked, Placement, PoolWarning, Verdict
from cpuctl.engine.cpu_manager import Allocation, StaticPolicy
from cpuctl.engine.cpu_provider import CPUAnswer, container_hints, pod_hints
from cpuctl.engine.cpu_state import CPUManagerState, validate
from cpuctl.engine.exclusive_claim import ExclusiveClaim, exclusive_claim
from cpuctl.engine.hints import IMPOSSIBLE
from cpuctl.engine.node_fit import Allocatable, check_fit
from cpuctl.engine.outcome import (
    KubeletFault,
    Rejected,
    RejectionReason,
    StartRefused,
    Undetermined,
)
from cpuctl.engine.topology import CPUTopology
from cpuctl.engine.topology_manager import Merged, TopologyManager
from cpuctl.pods.model import Container, Pod
from cpuctl.pods.qos import Qos, pod_qos

_START = "cpuManagerStart"
_UNUSABLE = (
    "could not restore state from checkpoint: {error}, please drain this node and delete the CPU manager "
    'checkpoint file "/var/lib/kubelet/cpu_manager_state" before restarting Kubelet'
)


@dataclass(slots=True, kw_only=True)
class Node:
    """A started kubelet; ``fault`` is set once it hangs or crashes.

    ``policy`` is None for CPU policy ``none``, ``topology_manager`` for topology policy ``none``.

    ``allocatable`` is what pods must fit into, None where that is not to be checked. ``active`` are the
    pods it takes for running, by UID. Clean-up is lazy as the kubelet's: what an inactive pod holds comes
    back when the next pod is admitted, and never while ``sources_ready`` is False. ``stale`` is set when
    there may be something to clean up.
    """

    topology: CPUTopology
    policy: StaticPolicy | None
    state: CPUManagerState
    pod_level_resources: bool
    topology_manager: TopologyManager | None = None
    allocatable: Allocatable | None = None
    fault: KubeletFault | None = None
    active: dict[str, Pod] = field(default_factory=dict)
    sources_ready: bool = True
    stale: bool = True

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
        self.stale |= pod.uid in self.active
        self.active[pod.uid] = pod
        asked: list[Asked] = []
        verdict = self.fault or self._decide(pod, qos, placements, asked)
        if isinstance(verdict, KubeletFault):
            self.fault = verdict
        if not isinstance(verdict, Admitted):
            self.remove(pod.uid)
        pool = self.state.default
        return Admission(
            pod=pod,
            qos=qos,
            verdict=verdict,
            # Shared containers run in the pool that is left once the whole pod is admitted.
            placements=tuple(each if each.exclusive else replace(each, cpus=pool) for each in placements),
            asked=tuple(asked),
            shared_pool=pool,
            pool_warning=self._pool_warning(before),
        )

    def resume(self, pods: Iterable[Pod]) -> None:
        """Take these pods for the ones that run, as a kubelet does that finds them at start."""
        self.active = {pod.uid: pod for pod in pods}
        self.stale = True

    def readmit(self, pods: Iterable[Pod]) -> Iterator[Admission]:
        """Admit running pods again, one a step, as after a restart: nothing is cleaned up meanwhile.

        Each pod finds only those before it running; a kubelet takes the oldest first.
        """
        again = list(pods)
        self.resume(())
        self.sources_ready = False
        for pod in again:
            yield self.admit(pod)
        self.sources_ready = True

    def remove(self, uid: str) -> None:
        """Let a pod end; what it holds comes back with the next clean-up."""
        self.active.pop(uid, None)
        self.stale = True

    def clean_up(self) -> None:
        """Release what containers of pods that are no longer active hold."""
        if self.policy is not None and self.sources_ready and self.stale:
            self.stale = False
            names = {uid: [each.name for each in pod.all_containers] for uid, pod in self.active.items()}
            self.state.keep_only(names)

    def remove_container(self, uid: str, container: str) -> None:
        """Release what one container holds now."""
        if self.policy is not None:
            self.state.remove_container(uid, container)

    def _decide(self, pod: Pod, qos: Qos, placements: list[Placement], asked: list[Asked]) -> Verdict:
        if devices := _devices(pod):
            return Undetermined(
                f"it asks for {', '.join(devices)}, and what the node has of them is not known"
            )
        verdict = self._allocate(pod, qos, placements, asked)
        if isinstance(verdict, Admitted) and self.allocatable is not None:
            # The managers come first: a pod that does not fit has been given its CPUs by then.
            running, pod_level = self.active.values(), self.pod_level_resources
            return check_fit(pod, running, self.allocatable, pod_level=pod_level) or verdict
        return verdict

    def _allocate(self, pod: Pod, qos: Qos, placements: list[Placement], asked: list[Asked]) -> Verdict:
        """Go through the containers, init first, aligned as the Topology Manager's scope says."""
        scope = self._manager.scope
        merged: Merged | Rejected | KubeletFault = Merged(IMPOSSIBLE, admit=True)
        if scope == "pod":
            merged = self._align(pod, qos, None, asked)
        for container in pod.all_containers:
            if scope == "container":
                merged = self._align(pod, qos, container, asked)
            if not isinstance(merged, Merged):
                return merged
            refused = self._place(pod, container, qos, merged.hint.nodes, placements)
            if refused is not None:
                return refused
        return Admitted()

    def _align(
        self, pod: Pod, qos: Qos, container: Container | None, asked: list[Asked]
    ) -> Merged | Rejected | KubeletFault:
        """Ask where to allocate for a container, or for the pod where that is None."""
        asked.append(self._ask(pod, qos, container))
        merged = asked[-1].merged
        if isinstance(merged, KubeletFault) or merged.admit:
            return merged
        return Rejected(
            reason=RejectionReason.TOPOLOGY_AFFINITY,
            message="Resources cannot be allocated with Topology locality",
            container=container.name if container else "",
        )

    def ask(self, pod: Pod, container: Container | None) -> Asked:
        """Ask for hints for a container, or for the pod where that is None, without admitting anything."""
        return self._ask(pod, pod_qos(pod, pod_level=self.pod_level_resources), container)

    def _ask(self, pod: Pod, qos: Qos, container: Container | None) -> Asked:
        """Collect hints for a container, or for the pod where that is None, and merge them."""
        self.clean_up()
        cpu: CPUAnswer = None
        if self.policy is not None and container is None:
            cpu = pod_hints(self.policy, self.state, pod, lambda each: self._claim(pod, each, qos).count)
        elif self.policy is not None and container is not None:
            count = self._claim(pod, container, qos).count
            cpu = container_hints(self.policy, self.state, pod, container, count)
        return Asked(container=container, cpu=cpu, merged=self._manager.merge([cpu]))

    @property
    def _manager(self) -> TopologyManager:
        return self.topology_manager or TopologyManager.none()

    def _place(
        self, pod: Pod, container: Container, qos: Qos, affinity: int | None, placements: list[Placement]
    ) -> Verdict | None:
        """Allocate for one container; None when that went well."""
        self.clean_up()
        claim = self._claim(pod, container, qos)
        if self.policy is None or claim.count == 0:
            placements.append(Placement(container=container, claim=claim, cpus=0, exclusive=False))
            return None
        result = self.policy.allocate(self.state, pod, container, claim.count, affinity)
        if not isinstance(result, Allocation):
            return result
        placements.append(
            Placement(container=container, claim=claim, cpus=result.cpus, exclusive=True, steps=result.steps)
        )
        return None

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


def _devices(pod: Pod) -> list[str]:
    """Name the extended resources and claims of a pod: other managers than ours decide on them."""
    names: dict[str, None] = {}
    for container in pod.all_containers:
        resources = container.resources
        names |= dict.fromkeys(name for name in (*resources.requests, *resources.limits) if "/" in name)
        names |= dict.fromkeys(f"claim {claim}" for claim in resources.claims)
    return list(names)
