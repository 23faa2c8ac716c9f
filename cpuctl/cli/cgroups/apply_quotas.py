"""The CFS quotas that containers and their pods are to have once their CPUs are as wanted.

Rule: kubelet v1.36 ``kuberuntime_container_linux.go`` and ``cm/helpers_linux.go``: exclusive CPUs lift the
quota of the container and of its pod; a container that shares its pod's CPUs keeps it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cpuctl.cgroups.names import Level
from cpuctl.cgroups.ordering import ancestors
from cpuctl.engine.cpu.isolation import Isolation, isolation_of
from cpuctl.engine.pod_rules import cgroup_settings
from cpuctl.kubelet.feature_gates import FeatureGates
from cpuctl.pods.cgroup_values import container_cgroup, pod_cgroup
from cpuctl.pods.qos import pod_qos

if TYPE_CHECKING:
    from cpuctl.audit.picture import Picture
    from cpuctl.cgroups.desired import Wanted
    from cpuctl.engine.start import Kubelet
    from cpuctl.pods.cgroup_values import CgroupSettings
    from cpuctl.pods.model import Container, Pod


def wanted_quotas(wanted: Sequence[Wanted], picture: Picture, kubelet: Kubelet) -> dict[str, int | None]:
    """Return quotas by the path of the group.

    Limits are those of the pod's manifest: without it, quotas are lifted and none is set.
    """
    config = kubelet.config
    gates = FeatureGates(kubelet.version.minor, {**config.feature_gates, **kubelet.gate_flags})
    quotas = _Quotas(picture, cgroup_settings(config, gates))
    for one in wanted:
        quotas.add(one)
    return quotas.found


class _Quotas:
    """Quotas by path; of a pod's, the loosest that its containers ask for."""

    def __init__(self, picture: Picture, settings: CgroupSettings) -> None:
        self.picture = picture
        self.settings = settings
        self.found: dict[str, int | None] = {}

    def add(self, one: Wanted) -> None:
        owner = one.owner
        pod = self.picture.pods.get(owner.uid)
        containers = pod.all_containers if pod else ()
        container = next((each for each in containers if each.name == owner.container), None)
        above = self._pod_path(one.path)
        if one.exclusive and self.settings.lifts_quota and self._is_isolated(one, container):
            self.found[one.path] = self.found[above] = None
        elif pod is not None and container is not None:
            self._limit(one.path, above, pod, container)

    def _limit(self, path: str, above: str, pod: Pod, container: Container) -> None:
        qos = pod_qos(pod).qos_class
        self.found[path] = _bounded(container_cgroup(pod, container, qos, self.settings).quota)
        self.found.setdefault(above, _bounded(pod_cgroup(pod, qos, self.settings).quota))

    def _is_isolated(self, one: Wanted, container: Container | None) -> bool:
        state = self.picture.state.cpu
        if state is None or one.owner.uid not in state.pod_entries:
            return True
        found = container and isolation_of(container, assigned=True, divided=True)
        return found is Isolation.CONTAINER

    def _pod_path(self, path: str) -> str:
        groups = self.picture.groups
        for above in ancestors(path):
            if above in groups and groups[above].role.level is Level.POD:
                return above
        return path


def _bounded(quota: int | None) -> int | None:
    return quota if quota is not None and quota > 0 else None
