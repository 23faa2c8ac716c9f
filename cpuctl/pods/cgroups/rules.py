"""Why the values of a cgroup are what they are: the rule behind shares, quota and memory limit, in words.

The values themselves are those of ``cpuctl.pods.cgroups.values``.
"""

from __future__ import annotations

from typing import NamedTuple

from cpuctl.pods.cgroups.values import CgroupSettings, is_limited
from cpuctl.pods.model import Container, Pod, QosClass

_BEST_EFFORT = "BestEffort pods have none"
_LIFTED = "none, because of exclusive CPUs"
_SWITCHED_OFF = "none, because cpuCFSQuota is false"


class CgroupRules(NamedTuple):
    """One rule for each of the three values that every cgroup has."""

    shares: str
    quota: str
    memory: str


def pod_cgroup_rules(
    pod: Pod, qos_class: QosClass, settings: CgroupSettings, *, exclusive: bool
) -> CgroupRules:
    """Explain the pod's own cgroup."""
    if qos_class is QosClass.BEST_EFFORT:
        return CgroupRules("BestEffort pods have least", _BEST_EFFORT, _BEST_EFFORT)
    quota, memory = (_pod_limit(pod, qos_class, name) for name in ("cpu", "memory"))
    if qos_class is QosClass.GUARANTEED or is_limited(pod, "cpu"):
        quota = _lifted(settings, exclusive=exclusive) or quota
    return CgroupRules("the pod's cpu request", quota, memory)


def container_cgroup_rules(
    pod: Pod, container: Container, settings: CgroupSettings, *, exclusive: bool
) -> CgroupRules:
    """Explain a container's cgroup."""
    quota, memory = (_limit(pod, container, name) for name in ("cpu", "memory"))
    shares = "its cpu request" if "cpu" in container.resources.requests else f"no request: {quota}"
    return CgroupRules(shares, _lifted(settings, exclusive=exclusive) or quota, memory)


def _pod_limit(pod: Pod, qos_class: QosClass, name: str) -> str:
    if qos_class is QosClass.GUARANTEED or is_limited(pod, name):
        return f"the pod's {name} limit"
    return f"none, because not every container has a {name} limit"


def _limit(pod: Pod, container: Container, name: str) -> str:
    for owner, resources in (("its", container.resources), ("the whole pod-level", pod.resources)):
        limit = resources.limits.get(name) if resources else None
        if limit is not None and limit.sign:
            return f"{owner} {name} limit"
    return f"none, because there is no {name} limit"


def _lifted(settings: CgroupSettings, *, exclusive: bool) -> str:
    if not settings.cfs_quota:
        return _SWITCHED_OFF
    return _LIFTED if exclusive and settings.lifts_quota else ""
