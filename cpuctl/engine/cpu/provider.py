"""The CPU Manager as a hint provider: its policy and state on one node, and its hints.

Rule: kubelet v1.36 ``policy_static.go``, ``GetTopologyHints`` and ``GetPodTopologyHints``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, TypeAlias

from cpuctl.cpuset import CPUSet
from cpuctl.engine.changeable import Copied
from cpuctl.engine.cpu.exclusive_claim import exclusive_claim, why_shared
from cpuctl.engine.cpu.manager import Allocation, StaticPolicy
from cpuctl.engine.cpu.metrics import CPUMetrics
from cpuctl.engine.cpu.state import CPUManagerState, validate
from cpuctl.engine.masks import NO_CPUS, CPUMask
from cpuctl.engine.outcome import KubeletFault, Rejected, StartRefused
from cpuctl.engine.placement import ExclusiveClaim, Placement, PoolWarning
from cpuctl.engine.pod_level import NEVER_DIVIDED, PodLevelRules, pod_level_cpus
from cpuctl.phrases import POLICY_NONE
from cpuctl.pods.model import Container, ContainerKind, QosClass, StoredPod
from cpuctl.records import replace

if TYPE_CHECKING:
    from cpuctl.checkpoints.model import CPUStateFile, SavedCPUState
    from cpuctl.engine.cpu.pod_level import CPUBubble
    from cpuctl.engine.cpu.topology import CPUTopology
    from cpuctl.engine.hints.hints import Hint, HintList
    from cpuctl.engine.hints.topology_manager import ProviderName
    from cpuctl.engine.provider import Candidate, Refusal

Claims = Callable[[Container], int]
"""Function that returns how many exclusive CPUs a container of the pod is due."""

CPUAnswer: TypeAlias = "dict[str, HintList] | None"
"""Hints under ``cpu``: None for no preference, an empty list if no hint can be right."""

_STAGE = "cpuManagerStart"
_MISCOUNTED = (
    "if cores or sockets differ in size (for example, if a CPU is offline), the kubelet may treat CPUs "
    "as free that are not (kubernetes issue 124066)"
)


class CPUProvider(Copied):
    """The CPU Manager of a node; ``policy`` is None for the policy ``none``.

    ``keeps_baselines``: its state file records what containers were guaranteed at admission (KEP-5554).
    """

    def __init__(
        self, policy: StaticPolicy | None, topology: CPUTopology, rules: PodLevelRules = NEVER_DIVIDED
    ) -> None:
        """Set up the manager on a node without a state file."""
        self.policy = policy
        self.state = policy.fresh_state() if policy else CPUManagerState(topology.cpus)
        self.rules = rules
        self.metrics = CPUMetrics.at_start(policy, self.state)
        self.keeps_baselines = False

    @property
    def name(self) -> ProviderName:
        """The provider's name in a trace."""
        return "cpu"

    def restore(self, saved: SavedCPUState) -> StartRefused | None:
        """Load a state file as at kubelet start, or return the kubelet's refusal."""
        if saved is None:
            return None

        from cpuctl.checkpoints.model import UnreadableState
        from cpuctl.checkpoints.reader import other_policy

        policy_name = "none" if self.policy is None else "static"
        if isinstance(saved, UnreadableState):
            return _unusable(saved.error)
        if saved.policy_name != policy_name:
            return _unusable(other_policy(policy_name, saved.policy_name))
        if self.policy is None:
            return None
        state = CPUManagerState.of_file(saved)
        machine, strict = self.policy.topology.cpus, self.policy.options.strict_cpu_reservation
        if error := validate(state, machine=machine, reserved=self.policy.reserved, strict=strict):
            return StartRefused(stage=_STAGE, error=error)
        self.state, self.metrics = state, CPUMetrics.at_start(self.policy, state)
        return None

    def state_file(self) -> CPUStateFile:
        """Return the current content of the kubelet's ``cpu_manager_state``."""
        from cpuctl.checkpoints.model import CPUStateFile

        if self.policy is None:
            return CPUStateFile(policy_name="none", default_cpu_set=CPUSet())
        pod_level, baselines = self.rules.managers, self.keeps_baselines
        return self.state.as_file("static", pod_level=pod_level, baselines=baselines)

    def hints(self, candidate: Candidate, container: Container | None) -> CPUAnswer | KubeletFault:
        """Return the hints for a container, or for the pod if that is None."""
        if self.policy is None:
            return None
        if container is not None:
            count = self.claim(candidate, container).cpus
            return container_hints(self.policy, self.state, candidate.pod, container, count)
        claims = self._claims(candidate)
        if not candidate.divided:
            total = pod_count(candidate.pod.all_containers, claims)
            return pod_hints(self.policy, self.state, candidate.pod, claims, total)

        from cpuctl.engine.cpu.pod_level import empty_cpu_pool

        total = pod_level_cpus(candidate.pod, candidate.qos)
        if total and empty_cpu_pool(candidate.pod, claims, total):
            return {"cpu": []}
        if total and self.rules.restores_cpus and candidate.pod.uid in self.state.pod_entries:
            return self._held_hints(candidate.pod, total)
        return pod_hints(self.policy, self.state, candidate.pod, claims, total)

    def _held_hints(self, pod: StoredPod, total: int) -> CPUAnswer | KubeletFault:
        """Return the hints for a pod that holds CPUs as a whole, in a release that lets it keep them."""
        from cpuctl.engine.cpu.pod_level import usable_bubble

        assert self.policy is not None
        held = usable_bubble(self.state, pod)
        if held is None:
            free = self.state.default & ~self.policy.reserved | self.state.pod_entries[pod.uid]
            return _hints(self.policy, free, NO_CPUS, total)
        return _hints(self.policy, held, NO_CPUS, total) if held.bit_count() == total else {"cpu": []}

    def claim(
        self, candidate: Candidate, container: Container, *, scope: str = "container"
    ) -> ExclusiveClaim:
        """Count the exclusive CPUs that a container of a pod is due."""
        rules = self.rules
        return exclusive_claim(
            candidate.pod,
            container,
            candidate.qos,
            pod_level_managers=rules.managers,
            scope=scope,
            passes_over=rules.passes_over,
        )

    def why_shared(self, candidate: Candidate, container: Container, scope: str) -> str:
        """Return why a container gets no exclusive CPUs with this scope; empty if it gets some.

        Of a Guaranteed pod, what would keep them from it under the static policy too comes first.
        """
        if self.policy is not None:
            return self.claim(candidate, container, scope=scope).why_not
        if candidate.qos.qos_class is not QosClass.GUARANTEED:
            return POLICY_NONE
        return why_shared(self.claim(candidate, container, scope=scope), static=False)

    def _claims(self, candidate: Candidate) -> Claims:
        return lambda container: self.claim(candidate, container).cpus

    def allocate(self, candidate: Candidate, hint: Hint, placed: Placement) -> Placement | Refusal:
        """Allocate for the container that is placed, near the hint; add the result to the placement."""
        if self.policy is None:
            return self._unassigned(candidate, placed, "container")
        container = placed.container
        claim = self.claim(candidate, container)
        if claim.cpus == 0:
            return self._unallocated(candidate, replace(placed, claim=claim))
        result = self.policy.allocate(self.state, candidate.pod, container, claim.cpus, hint.nodes)
        if not isinstance(result, Allocation):
            self.metrics.container_failed(self.policy)
            return result
        self.metrics.container_allocated(self.policy, self.state, result.cpus, known=result.known)
        return replace(
            placed,
            claim=claim,
            cpus=result.cpus,
            exclusive=True,
            steps=result.steps,
            weighings=result.weighings,
        )

    def _unallocated(self, candidate: Candidate, placed: Placement) -> Placement:
        """Add the CPUs held by a container that the policy passes over."""
        # CPUs that it already holds stay allocated until the pod ends.
        held = self.state.assignments.get(candidate.pod.uid, {}).get(placed.container.name, NO_CPUS)
        return replace(placed, cpus=held, exclusive=True) if held else placed

    def _unassigned(self, candidate: Candidate, placed: Placement, scope: str) -> Placement:
        """Note why a container gets no exclusive CPUs from a kubelet without the static policy."""
        why = self.why_shared(candidate, placed.container, scope)
        return placed if why == POLICY_NONE else replace(placed, claim=ExclusiveClaim(0, why))

    def allocate_pod(
        self, candidate: Candidate, hint: Hint, placed: Sequence[Placement]
    ) -> Sequence[Placement] | Refusal:
        """Allocate for a pod that is divided, near the hint; add the results to the placements."""
        total = pod_level_cpus(candidate.pod, candidate.qos)
        if self.policy is None:
            return [self._unassigned(candidate, each, "pod") for each in placed]
        if total == 0:
            claimed = [
                replace(each, claim=self.claim(candidate, each.container, scope="pod")) for each in placed
            ]
            return [self._unallocated(candidate, each) for each in claimed]

        from cpuctl.engine.cpu.pod_level import BubbleRequest, CPUBubble, allocate_bubble, restore_bubble

        request = BubbleRequest(
            pod=candidate.pod, claims=self._claims(candidate), total=total, affinity=hint.nodes
        )
        allocate = restore_bubble if self.rules.restores_cpus else allocate_bubble
        free, others = self.state.default, self.state.exclusive
        bubble = allocate(self.policy, self.state, request)
        if picked := free & ~self.state.default:
            self.metrics.pod_picked(self.policy, picked, others)
        if not isinstance(bubble, CPUBubble):
            self.metrics.pod_failed(request, bubble.container if isinstance(bubble, Rejected) else "")
            return bubble
        placed = [self._in_bubble(candidate, bubble, each) for each in placed]
        self.metrics.pod_divided(each.exclusive for each in placed)
        return placed

    def _in_bubble(self, candidate: Candidate, bubble: CPUBubble, placed: Placement) -> Placement:
        claim, name = self.claim(candidate, placed.container), placed.container.name
        return replace(
            placed,
            claim=claim,
            cpus=bubble.containers[name],
            exclusive=claim.cpus > 0,
            in_pod_pool=claim.cpus == 0,
            steps=bubble.steps.get(name, ()),
        )

    def keep_only(
        self, containers: Mapping[str, Collection[str]], gone: Collection[str] | None = None
    ) -> None:
        """Release everything that is not held by one of these containers; *gone* as in ``Provider``."""
        if self.policy is not None:
            self.metrics.released(self.policy, self.state, self.state.keep_only(containers, gone))

    def remove_container(self, uid: str, container: str) -> None:
        """Release what one container holds."""
        if self.policy is not None:
            released = self.state.remove_container(uid, container)
            self.metrics.released(self.policy, self.state, released)

    def settle(self, uid: str, container: str) -> int:
        """Take the CPUs that a container was to give up (KEP-6122) from it, and return them."""
        released = self.state.settle(uid, container)
        self.resized()
        return released

    def resized(self) -> None:
        """Update the metrics after CPUs have changed hands."""
        if self.policy is not None:
            self.metrics.resized(self.policy, self.state)

    def taken_from_others(self, uid: str) -> int:
        """Return the CPUs (a mask) that a pod got although they are reserved or another pod's.

        With cores of different sizes, for example with an offline CPU, the kubelet takes a core to be free
        that is not (kubernetes issue 124066).
        """
        if self.policy is None:
            return 0
        state = self.state
        own, pools = state.held_by(uid), state.pod_entries
        doubtful: int = own
        if uid not in pools:
            doubtful &= reduce(or_, pools.values(), self.policy.reserved | state.doubly_assigned)
        if not doubtful:
            return 0
        others = (state.held_by(other) for other in state.owners if other != uid)
        return doubtful & reduce(or_, others, self.policy.reserved)

    @property
    def overlap_reason(self) -> str:
        """Why exclusive CPUs may be reserved or another pod's, after a colon.

        It is empty if only a given state can be the reason.
        """
        topology = self.policy.topology if self.policy else None
        uneven = topology is not None and (topology.has_uneven_cores or topology.has_uneven_sockets)
        return f": {_MISCOUNTED}" if uneven else ""

    def overlap_note(self, cpus: int) -> str:
        """Return the cause and the consequence of *cpus* (a mask) that are not only one pod's."""
        reserved = cpus & self.policy.reserved if self.policy else 0
        then = "; the kubelet does not restart with its own cpu_manager_state" if reserved else ""
        return f"{self.overlap_reason}{then}"

    def overlapping_pods(self) -> dict[str, int]:
        """Return, by UID, the pods with CPUs (masks) that are also reserved or another pod's."""
        if self.policy is None:
            return {}
        held = {uid: self.state.held_by(uid) for uid in sorted(self.state.owners)}
        seen: int = NO_CPUS
        several: int = self.policy.reserved
        for cpus in held.values():
            several |= seen & cpus
            seen |= cpus
        return {uid: cpus & several for uid, cpus in held.items() if cpus & several}

    def pool_warning(self, before: int) -> PoolWarning | None:
        """Return the warning that the change of the shared pool from *before* deserves, None without one."""
        after = self.state.default
        if self.policy is None or after == before:
            return None
        if not after:
            return PoolWarning.EMPTY
        return PoolWarning.ONLY_RESERVED if not after & ~self.policy.reserved else None


def _unusable(error: str) -> StartRefused:
    from cpuctl.checkpoints.reader import kubelet_refusal
    from cpuctl.state_names import CPU_FILE

    return StartRefused(stage=_STAGE, error=kubelet_refusal(CPU_FILE, error))


def container_hints(
    policy: StaticPolicy, state: CPUManagerState, pod: StoredPod, container: Container, count: int
) -> CPUAnswer | KubeletFault:
    """Return the hints for one container that is due *count* exclusive CPUs."""
    if count == 0:
        return None
    held = state.assigned(pod.uid, container.name)
    if held is None:
        return _hints(policy, policy.available(state, pod), state.reusable_for(pod.uid), count)
    return {"cpu": []} if held.bit_count() != count else _hints(policy, held, NO_CPUS, count)


def pod_hints(
    policy: StaticPolicy, state: CPUManagerState, pod: StoredPod, claims: Claims, total: int
) -> CPUAnswer | KubeletFault:
    """Return the hints for a pod that is due *total* exclusive CPUs as a whole."""
    if total == 0:
        return None
    held = NO_CPUS
    for container in pod.all_containers:
        cpus = state.assigned(pod.uid, container.name)
        if cpus is not None:
            if cpus.bit_count() != claims(container):
                return {"cpu": []}
            held |= cpus
    if held.bit_count() == total:
        return _hints(policy, held, NO_CPUS, total)
    return _hints(policy, policy.available(state, pod), state.reusable_for(pod.uid) | held, total)


def pod_count(containers: Iterable[Container], claims: Claims) -> int:
    """Count the exclusive CPUs a pod needs at once: its peak over init containers, with sidecars running."""
    sidecars = peak = apps = 0
    for container in containers:
        count = claims(container)
        match container.kind:
            case ContainerKind.SIDECAR:
                sidecars += count
            case ContainerKind.INIT:
                peak = max(peak, sidecars + count)
            case ContainerKind.APP:
                apps += count
    return max(peak, sidecars + apps)


def _hints(
    policy: StaticPolicy, available: CPUMask, reusable: CPUMask, count: int
) -> dict[str, HintList] | KubeletFault:
    from cpuctl.engine.cpu.hints import find_hints

    align = policy.options.align_by_socket
    hints = find_hints(policy.topology, available, reusable, count, align_by_socket=align)
    return hints if isinstance(hints, KubeletFault) else {"cpu": hints}
