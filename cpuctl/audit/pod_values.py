"""The values that follow from pods' resources for the control groups of pods and containers.

They are those that ``cpuctl pods show`` derives (``cpuctl.pods.cgroups.values``), from what the kubelet has
allocated; its state tells which containers have exclusive CPUs.
"""

from __future__ import annotations

from cpuctl.audit.snapshot import NodeSnapshot
from cpuctl.cgroups.groups import Cgroup
from cpuctl.cgroups.names import Level
from cpuctl.cgroups.owners import Owner
from cpuctl.engine.placement import Isolation, isolation_of
from cpuctl.pods.cgroups.values import CgroupSettings, CgroupValues, container_cgroup, pod_cgroup
from cpuctl.pods.model import Container, StoredPod
from cpuctl.pods.qos import pod_qos
from cpuctl.pods.rules import NodeRules


def pod_values(
    snapshot: NodeSnapshot, group: Cgroup, rules: NodeRules, settings: CgroupSettings
) -> CgroupValues | None:
    """Return what the kubelet writes into a group; None unless it is that of a known pod or container."""
    role, owner = group.role, snapshot.owners.get(group.path)
    pod = allocated_pod(snapshot, role.uid)
    if pod is None or owner is None:
        return None
    pod = rules.view(pod)
    qos = pod_qos(pod).qos_class
    if role.level is Level.POD:
        return pod_cgroup(pod, qos, settings, exclusive=_is_exclusive(snapshot, pod))
    container = _container_of(pod, owner)
    if role.level is not Level.CONTAINER or container is None:
        return None
    exclusive = _isolation(snapshot, pod, container) is Isolation.CONTAINER
    return container_cgroup(pod, container, qos, settings, exclusive=exclusive)


def allocated_pod(snapshot: NodeSnapshot, uid: str) -> StoredPod | None:
    """Return a known pod with its allocated resources: a resize may be pending (KEP-1287)."""
    pod = snapshot.pods.get(uid)
    if pod is None:
        return None

    from cpuctl.engine.resize.running import running_pod

    return running_pod(pod).allocated


def is_divided(snapshot: NodeSnapshot, uid: str) -> bool:
    """Return whether containers divide the CPUs of their pod (KEP-5526)."""
    return snapshot.state.cpu is not None and uid in snapshot.state.cpu.pod_entries


def is_isolated(snapshot: NodeSnapshot, owner: Owner) -> bool:
    """Return whether a container shares its exclusive CPUs with no other container of its pod."""
    if not is_divided(snapshot, owner.uid):
        return True
    pod = allocated_pod(snapshot, owner.uid)
    container = _container_of(pod, owner) if pod else None
    return container is not None and (
        isolation_of(container, assigned=True, divided=True) is Isolation.CONTAINER
    )


def _container_of(pod: StoredPod, owner: Owner) -> Container | None:
    return next((each for each in pod.all_containers if each.name == owner.container), None)


def _isolation(snapshot: NodeSnapshot, pod: StoredPod, container: Container) -> Isolation:
    assigned = container.name in snapshot.state.entries.get(pod.uid, {})
    return isolation_of(container, assigned=assigned, divided=is_divided(snapshot, pod.uid))


def _is_exclusive(snapshot: NodeSnapshot, pod: StoredPod) -> bool:
    """Return whether a pod's quota is lifted: one such container is enough, unless they divide its CPUs."""
    levels = [_isolation(snapshot, pod, each) for each in pod.all_containers]
    if is_divided(snapshot, pod.uid):
        return all(level is Isolation.CONTAINER for level in levels)
    return Isolation.CONTAINER in levels
