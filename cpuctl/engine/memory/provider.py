"""The Memory Manager as a provider: its policy, its state and its metrics on one node.

Rule: kubelet v1.36 ``pkg/kubelet/cm/memorymanager``, ``GetTopologyHints`` and ``GetPodTopologyHints``; for
the metrics ``policy_static.go``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from cpuctl.engine.changeable import Changeable, Copied
from cpuctl.engine.hints.hints import Hint
from cpuctl.engine.hints.topology_manager import ProviderName
from cpuctl.engine.memory.state import Blocks, MemoryManagerState, nodes_of
from cpuctl.engine.outcome import HUGE_PAGES_UNKNOWN, KubeletFault, Rejected, StartRefused, Undetermined
from cpuctl.engine.placement import Placement
from cpuctl.engine.pod_level import NEVER_DIVIDED, PodLevelRules, guaranteed_equivalent
from cpuctl.engine.provider import Candidate, Refusal
from cpuctl.pods.model import Container, QosClass, StoredPod
from cpuctl.records import replace

if TYPE_CHECKING:
    from cpuctl.checkpoints.model import MemoryStateFile, SavedMemoryState
    from cpuctl.engine.hints.topology_manager import Answer
    from cpuctl.engine.memory.manager import StaticMemoryPolicy
    from cpuctl.engine.memory.pod_level import Claims
    from cpuctl.engine.memory.tables import MemoryRequest


class MemoryMetrics(Changeable):
    """Counters since the kubelet's start.

    ``allocations``, ``errors`` and ``assignments`` exist with the gate PodLevelResourceManagers only.
    """

    def __init__(self) -> None:
        self.pinning_requests = 0
        self.pinning_errors = 0
        self.allocations: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.assignments: Counter[str] = Counter()

    def container(self, *, known: bool, failed: bool) -> None:
        """Count one container that requests memory; *known* if it had the memory already."""
        self.pinning_requests += 1
        if failed:
            self.pinning_errors += 1
            self.errors["node"] += 1
        elif not known:
            self.allocations["node"] += 1
            self.assignments["node_exclusive"] += 1

    def pod(self, exclusive: list[bool], *, failed: bool) -> None:
        """Count a pod that requests memory as a whole; *exclusive* shows which containers have their own."""
        if failed:
            self.pinning_errors += 1
            self.errors["pod"] += 1
            return
        for own in exclusive:
            self.allocations["pod"] += 1
            self.pinning_requests += own
            self.assignments["pod_exclusive" if own else "pod_shared"] += 1


_STAGE = "memoryManagerStart"


class MemoryProvider(Copied):
    """The Memory Manager of a node; for the policy ``None``, ``policy`` is None and the state empty."""

    def __init__(self, policy: StaticMemoryPolicy | None, rules: PodLevelRules = NEVER_DIVIDED) -> None:
        """Set the manager up on a node without a state file."""
        self.policy = policy
        self.state = policy.fresh_state() if policy else MemoryManagerState({})
        self.rules = rules
        self.metrics = MemoryMetrics()

    @property
    def name(self) -> ProviderName:
        """The name in a trace."""
        return "memory"

    def restore(self, saved: SavedMemoryState) -> StartRefused | KubeletFault | Undetermined | None:
        """Take over a state file as at kubelet start, or return in the kubelet's words why not."""
        if saved is None:
            return None

        from cpuctl.checkpoints.model import UnreadableState
        from cpuctl.checkpoints.reader import other_policy
        from cpuctl.engine.memory.restart import restored

        wanted = "Static" if self.policy else "None"
        if isinstance(saved, UnreadableState):
            return _unusable(saved.error)
        if saved.policy_name != wanted:
            return _unusable(f"[memorymanager] {other_policy(wanted, saved.policy_name)}")
        if self.policy is None:
            return None
        if not self.policy.hugepages_known and _names_huge_pages(saved):
            return Undetermined(HUGE_PAGES_UNKNOWN)
        state = restored(saved, self.policy.tables, compares_groups=self.policy.compares_groups)
        if isinstance(state, str):
            return StartRefused(stage=_STAGE, error=state)
        if isinstance(state, MemoryManagerState):
            self.state = state
            return None
        return state

    def state_file(self) -> MemoryStateFile:
        """Return the current content of the kubelet's ``memory_manager_state``."""
        from cpuctl.checkpoints.model import MemoryStateFile

        if self.policy is None:
            return MemoryStateFile(policy_name="None")
        return self.state.as_file(pod_level=self.rules.managers)

    def hints(self, candidate: Candidate, container: Container | None) -> Answer | KubeletFault:
        """Return the hints for a container, or for the pod if *container* is None."""
        pod = candidate.pod
        if self.policy is None or _why_not(candidate, self.rules):
            return None
        if container is None:
            request = _pod_request(candidate)
        else:
            request = _request(self.policy, candidate, container)
        if request is None or (container is None and not request):
            return None
        if container is None and candidate.divided:
            from cpuctl.engine.memory.pod_level import empty_memory_pool

            if empty_memory_pool(pod, _claims(self.policy, candidate), request):
                return dict.fromkeys(request, ())
            if self.rules.hints_at_held_memory and pod.uid in self.state.pod_blocks:
                return _regenerated_hints(self.state.pod_blocks[pod.uid], request)
        for each in pod.all_containers if container is None else (container,):
            held = self.state.assigned(pod.uid, each.name)
            if held is not None:
                # For a pod the kubelet compares the first container's blocks with the whole request.
                return _regenerated_hints(held, request)
        hints = self.policy.hints(self.state, pod.uid, request)
        return hints if isinstance(hints, KubeletFault) else dict.fromkeys(request, hints) if hints else {}

    def allocate(self, candidate: Candidate, hint: Hint, placed: Placement) -> Placement | Refusal:
        """Allocate for the container being placed, near the hint; add what it gets to the placement."""
        if self.policy is None:
            return placed
        if why := _why_not(candidate, self.rules):
            return self._unallocated(candidate, placed, why)
        request = _request(self.policy, candidate, placed.container)
        known = self.state.assigned(candidate.pod.uid, placed.container.name) is not None
        blocks = self.policy.allocate(self.state, candidate.pod, placed.container, request, hint)
        self.metrics.container(known=known, failed=isinstance(blocks, Rejected | KubeletFault))
        return blocks if isinstance(blocks, Rejected | KubeletFault) else replace(placed, memory=blocks)

    def allocate_pod(
        self, candidate: Candidate, hint: Hint, placed: Sequence[Placement]
    ) -> Sequence[Placement] | Refusal:
        """Allocate for a divided pod, near the hint; add what the containers get to the placements."""
        if self.policy is None:
            return placed
        pod, request = candidate.pod, _pod_request(candidate)
        if request is None:
            return placed

        from cpuctl.engine.memory.pod_level import allocate_bubble

        if why := _why_not(candidate, self.rules):
            return [self._unallocated(candidate, each, why) for each in placed]
        parts: Mapping[str, Blocks] | Rejected | KubeletFault = self.state.blocks.get(pod.uid, {})
        if not (self.rules.restores_memory and pod.uid in self.state.pod_blocks):
            parts = allocate_bubble(self.state, pod, _claims(self.policy, candidate), request, hint)
        exclusive = [guaranteed_equivalent(each.container) for each in placed]
        self.metrics.pod(exclusive, failed=not isinstance(parts, Mapping))
        if not isinstance(parts, Mapping):
            return parts
        return [replace(each, memory=parts.get(each.container.name, ())) for each in placed]

    def _unallocated(self, candidate: Candidate, placed: Placement, why: str) -> Placement:
        """Add what a container holds that the policy passes over, or *why* it has nothing."""
        # Memory from before a change of release or gates stays allocated until the pod ends.
        held = self.state.assigned(candidate.pod.uid, placed.container.name)
        return replace(placed, memory=held) if held else replace(placed, why_no_memory=why)

    def keep_only(
        self, containers: Mapping[str, Collection[str]], gone: Collection[str] | None = None
    ) -> None:
        """Release everything not held by one of these containers; *gone* as in ``Provider``."""
        self.state.keep_only(containers, gone)

    def remove_container(self, uid: str, container: str) -> None:
        """Release what one container holds."""
        self.state.remove_container(uid, container)

    def start_container(self, pod: StoredPod, container: str) -> None:
        """Release the memory of the ordinary init containers that have ended when this one starts."""
        self.state.start_container(pod, container)


def _why_not(candidate: Candidate, rules: PodLevelRules) -> str:
    """Return why a pod gets no memory assigned; empty if it does."""
    qos = candidate.qos
    if qos.qos_class is not QosClass.GUARANTEED:
        return f"the pod is {qos.qos_class}, not Guaranteed: {qos.reason}"
    if rules.skips(candidate.pod):
        return "the pod sets spec.resources, which the Memory Manager does not align"
    return ""


def _request(policy: StaticMemoryPolicy, candidate: Candidate, container: Container) -> MemoryRequest | None:
    """Return a container's requests; in a divided pod only those of a container with its own slice."""
    if candidate.divided and not guaranteed_equivalent(container):
        return {}
    return policy.request(container)


def _pod_request(candidate: Candidate) -> MemoryRequest | None:
    from cpuctl.engine.memory.pod_level import pod_level_request
    from cpuctl.engine.memory.tables import pod_request

    return pod_level_request(candidate.pod) if candidate.divided else pod_request(candidate.pod)


def _claims(policy: StaticMemoryPolicy, candidate: Candidate) -> Claims:
    return lambda container: _request(policy, candidate, container) or {}


def _regenerated_hints(held: Blocks, request: MemoryRequest) -> Answer:
    """Return the hints that lead to the same memory; no preference if it is not what is requested now."""
    if len(held) != len(request) or any(request.get(block.type) != block.size for block in held):
        return None
    hints: dict[str, list[Hint]] = {name: [] for name in request}
    for block in held:
        hints[block.type].append(Hint(nodes_of(block), preferred=True))
    return hints


def _unusable(error: str) -> StartRefused:
    from cpuctl.checkpoints.reader import kubelet_refusal
    from cpuctl.state_names import MEMORY_FILE

    return StartRefused(stage=_STAGE, error=kubelet_refusal(MEMORY_FILE, error))


def _names_huge_pages(saved: MemoryStateFile) -> bool:
    return any(len(node.memory_map) > 1 for node in saved.machine_state.values())
