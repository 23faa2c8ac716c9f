"""What a node's kubelet writes into control groups: its rules, and the CFS quotas that are due.

Rule: kubelet v1.36 ``kuberuntime_container_linux.go`` and ``cm/helpers_linux.go``: exclusive CPUs lift the
quota of the container and of its pod; if containers share their pod's CPUs, they and the pod keep theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cpuctl.audit.group_values import PodsLimit, ValueRules
from cpuctl.audit.pod_values import allocated_pod
from cpuctl.cgroups.names import Level, ancestors
from cpuctl.engine.placement import Isolation, isolation_of
from cpuctl.engine.pod_rules import cgroup_settings, node_rules
from cpuctl.pods.cgroups.values import container_cgroup, pod_cgroup
from cpuctl.pods.qos import pod_qos

if TYPE_CHECKING:
    from cpuctl.audit.snapshot import NodeSnapshot
    from cpuctl.cgroups.desired import DesiredGroup
    from cpuctl.inputs.live_node import LiveNode
    from cpuctl.inputs.sources import Sources
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.pods.cgroups.values import CgroupSettings
    from cpuctl.pods.model import StoredPod
    from cpuctl.pods.rules import NodeRules


def group_rules(node: LiveNode, runtime: str, sources: Sources) -> ValueRules:
    """Return the rules by which this kubelet writes the values of groups."""
    from cpuctl.inputs.kubelet import kubelet_gates
    from cpuctl.inputs.machine import load_runtime
    from cpuctl.operations.pod_view import allocatable_of_node, page_sizes

    gates = kubelet_gates(node.kubelet, sources)
    allocatable = allocatable_of_node(node.source, node.kubelet.config, sources)
    memory = allocatable.get("memory") if allocatable else None
    return ValueRules(
        node=node_rules(gates),
        settings=cgroup_settings(
            node.kubelet.config,
            gates,
            allocatable_memory=memory.value if memory else None,
            page_sizes=page_sizes(node.source),
        ),
        formula=load_runtime(runtime, sources),
        pods_limit=_pods_limit(node, sources),
        qos_reserved=gates.enabled("QOSReserved") and bool(node.kubelet.config.qos_reserved),
    )


def _pods_limit(node: LiveNode, sources: Sources) -> PodsLimit | None:
    """Compute the limit of all pods together; None if the kubelet's reservations are unknown."""
    from cpuctl.engine.node_capacity import left_for_pods, node_capacity, node_reservations
    from cpuctl.golang.text import GoError

    if sources.entries["kubeletConfiguration"]["from"] == "default" or not node.source.info.cores_known:
        return None
    config, capacity = node.kubelet.config, node_capacity(node.source.info)
    try:
        kept = node_reservations(node.source.info, config)
    except GoError:
        return None
    cpus, memory = (left_for_pods(config, kept, name, capacity[name]) for name in ("cpu", "memory"))
    known = node.source.machine.memory_bytes is not None
    return PodsLimit(milli_cpu=cpus.milli_value, memory=memory.value if known else None)


def wanted_quotas(
    desired: Sequence[DesiredGroup], snapshot: NodeSnapshot, kubelet: Kubelet
) -> dict[str, int | None]:
    """Return the quotas of groups by path, in µs per period of the group; None means no quota.

    Limits are the pod's allocated ones: without a manifest, quotas are only lifted, never set.
    """
    config = kubelet.config
    gates = kubelet.gates
    quotas = _Quotas(snapshot, cgroup_settings(config, gates), node_rules(gates), desired)
    found: dict[str, int | None] = {}
    for one in desired:
        found |= quotas.of(one)
    return found


class _Quotas:
    """Computes quotas as a kubelet does once everything is as requested."""

    def __init__(
        self,
        snapshot: NodeSnapshot,
        settings: CgroupSettings,
        rules: NodeRules,
        desired: Sequence[DesiredGroup],
    ) -> None:
        self.snapshot = snapshot
        self.settings = settings
        self.rules = rules
        self.exclusive = {(one.owner.uid, one.owner.container): one.exclusive for one in desired}

    def of(self, one: DesiredGroup) -> dict[str, int | None]:
        """Return the quotas of a container and its pod, as far as they are known."""
        uid, name, above = one.owner.uid, one.owner.container, self._pod_path(one.path)
        pod = allocated_pod(self.snapshot, uid)
        if pod is None:
            lifted = one.exclusive and self.settings.lifts_quota and not self._has_divided(uid)
            return {one.path: None, above: None} if lifted else {}
        pod = self.rules.view(pod)
        container = next((each for each in pod.all_containers if each.name == name), None)
        if container is None:
            return {}
        qos, own = pod_qos(pod).qos_class, self._isolated(pod)
        values = container_cgroup(pod, container, qos, self.settings, exclusive=own[name])
        lifts = all(own.values()) if self._divides(pod) else any(own.values())
        of_pod = pod_cgroup(pod, qos, self.settings, exclusive=lifts)
        return {
            one.path: self._in_period(one.path, values.quota),
            above: self._in_period(above, of_pod.quota),
        }

    def _isolated(self, pod: StoredPod) -> dict[str, bool]:
        """Return for every container whether its CPUs are exclusive."""
        held, divided = self.snapshot.state.entries.get(pod.uid, {}), self._divides(pod)
        levels = {
            each.name: isolation_of(
                each, assigned=self.exclusive.get((pod.uid, each.name), each.name in held), divided=divided
            )
            for each in pod.all_containers
        }
        return {name: level is Isolation.CONTAINER for name, level in levels.items()}

    def _divides(self, pod: StoredPod) -> bool:
        """Return whether a pod has pod-level CPUs (KEP-5526), or will have them once the kubelet sees it."""
        return self._has_divided(pod.uid) or (self.rules.managers and pod.has_pod_level_resources)

    def _has_divided(self, uid: str) -> bool:
        state = self.snapshot.state.cpu
        return state is not None and uid in state.pod_entries

    def _pod_path(self, path: str) -> str:
        groups = self.snapshot.groups
        for above in ancestors(path):
            if above in groups and groups[above].role.level is Level.POD:
                return above
        return path

    def _in_period(self, path: str, quota: int | None) -> int | None:
        """Scale a quota to the group's period, which may have been changed."""
        if quota is None or quota <= 0:
            return None
        period = self.snapshot.groups[path].cpu.period or self.settings.period
        return quota * period // self.settings.period
