"""The CPU Manager's metrics, counted as the kubelet counts them.

Rule: kubelet v1.36 ``pkg/kubelet/metrics`` and ``cpumanager/policy_static.go``. Two gauges drift if init
containers' CPUs are reused: all picked CPUs are added, but only those that become free are subtracted,
until a restart corrects both. A NUMA node that gives up its last exclusive CPU keeps its old figure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from cpuctl.engine.changeable import Changeable
from cpuctl.engine.cpu.manager import StaticPolicy
from cpuctl.engine.cpu.state import CPUManagerState
from cpuctl.pods.model import ContainerKind

if TYPE_CHECKING:
    from cpuctl.engine.cpu.pod_level import BubbleRequest
    from cpuctl.engine.masks import CPUMask

_UNCORE, _CORE = "uncore_cache", "physical_cpu"


class CPUMetrics(Changeable):
    """Counters since the kubelet's start, and gauges.

    ``aligned`` and ``unaligned`` count by boundary; ``allocations``, ``errors`` and ``assignments`` exist
    only with the gate PodLevelResourceManagers.
    """

    def __init__(self) -> None:
        self.pinning_requests = 0
        self.pinning_errors = 0
        self.shared_millicores = 0
        self.exclusive = 0
        self.per_numa_node: dict[int, int] = {}
        self.aligned: Counter[str] = Counter()
        self.unaligned: Counter[str] = Counter()
        self.allocations: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.assignments: Counter[str] = Counter()

    @classmethod
    def at_start(cls, policy: StaticPolicy | None, state: CPUManagerState) -> CPUMetrics:
        """Set the gauges and list alignment as 0, as a kubelet that has just started does."""
        metrics = cls()
        if policy is None:
            return metrics
        metrics.shared_millicores = (state.default & ~policy.reserved).bit_count() * 1000
        metrics.exclusive = state.exclusive.bit_count()
        metrics.aligned = Counter({_CORE: 0, _UNCORE: 0})
        metrics.unaligned = Counter({_CORE: 0})
        metrics.count_nodes(policy, state.exclusive)
        return metrics

    def container_allocated(
        self, policy: StaticPolicy, state: CPUManagerState, cpus: CPUMask, *, known: bool
    ) -> None:
        """Count one container that got its CPUs; *known* if it already had them."""
        self.pinning_requests += 1
        if policy.options.full_pcpus_only:
            self.aligned[_CORE] += 1
        if known:
            return
        self._picked(policy, cpus)
        self.allocations["node"] += 1
        self.assignments["node_exclusive"] += 1
        self.count_nodes(policy, state.exclusive)

    def container_failed(self, policy: StaticPolicy) -> None:
        """Count one container that got no CPUs."""
        self.pinning_requests += 1
        self.pinning_errors += 1
        self.errors["node"] += 1
        if policy.options.full_pcpus_only:
            self.unaligned[_CORE] += 1

    def pod_picked(self, policy: StaticPolicy, cpus: CPUMask, others: CPUMask) -> None:
        """Count the CPUs that a pod got as a whole; *others* are those that were exclusive before.

        The pod is not recorded yet at that point, so NUMA nodes show its CPUs only with the next change.
        """
        self._picked(policy, cpus)
        self.count_nodes(policy, others)

    def pod_divided(self, exclusive: Iterable[bool]) -> None:
        """Count the containers of a pod that got its CPUs; *exclusive* is True for those with their own."""
        for own in exclusive:
            # The kubelet counts one allocation for every container, even for those that share.
            self.allocations["pod"] += 1
            self.pinning_requests += own
            self.assignments["pod_exclusive" if own else "pod_shared"] += 1

    def pod_failed(self, request: BubbleRequest, container: str) -> None:
        """Count a pod that got no CPUs, and the containers before *container* if that one got no slice."""
        self.pinning_errors += 1
        self.errors["pod"] += 1
        for each in request.pod.all_containers if container else ():
            own = request.claims(each) > 0
            self.pinning_requests += own
            if each.name == container:
                break
            if own or each.kind is ContainerKind.INIT:
                self.assignments["pod_exclusive" if own else "pod_shared"] += 1

    def released(self, policy: StaticPolicy, state: CPUManagerState, cpus: CPUMask) -> None:
        """Count CPUs that have returned to the shared pool."""
        if cpus:
            self.shared_millicores += cpus.bit_count() * 1000
            self.exclusive -= cpus.bit_count()
            self.count_nodes(policy, state.exclusive)

    def resized(self, policy: StaticPolicy, state: CPUManagerState) -> None:
        """Recompute the gauges: how a kubelet that resizes exclusive CPUs counts is undecided (KEP-5554)."""
        self.shared_millicores = (state.default & ~policy.reserved).bit_count() * 1000
        self.exclusive = state.exclusive.bit_count()
        self.count_nodes(policy, state.exclusive)

    def count_nodes(self, policy: StaticPolicy, exclusive: int) -> None:
        """Set the figures of the NUMA nodes that have *exclusive* CPUs."""
        for node, mask in policy.topology.numa_nodes.items():
            if exclusive & mask:
                self.per_numa_node[node] = (exclusive & mask).bit_count()

    def _picked(self, policy: StaticPolicy, cpus: CPUMask) -> None:
        self.shared_millicores -= cpus.bit_count() * 1000
        self.exclusive += cpus.bit_count()
        if sum(1 for cache in policy.topology.uncore_caches.values() if cache & cpus) == 1:
            self.aligned[_UNCORE] += 1
