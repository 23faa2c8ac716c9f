"""Values derived from pods: classes, requests, defaults, OOM scores, cgroups."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import wraps
from types import MappingProxyType
from typing import Any

from cpuctl.documents.cursor import Cursor
from cpuctl.documents.loading import load_documents
from cpuctl.engine.pod_rules import cgroup_settings, node_rules, server_rules
from cpuctl.kubelet.config import KubeletConfiguration
from cpuctl.kubelet.gates.feature_gates import FeatureGates
from cpuctl.pods.cgroups.linux_resources import (
    curved_weight,
    linear_weight,
    quota_of,
    shares_of,
    shares_of_weight,
)
from cpuctl.pods.cgroups.values import CgroupValues, container_cgroup, pod_cgroup
from cpuctl.pods.model import Pod, ResourceRequirements
from cpuctl.pods.out_of_memory import oom_score
from cpuctl.pods.qos import pod_qos
from cpuctl.pods.reading.pods import decode_pod
from cpuctl.pods.requests import pod_limits, pod_requests, summed_up_once
from cpuctl.quantity import Quantity
from tests.conformance.corpus import Json
from tests.support.pods import stored

_MINOR = 36
_PERIOD = 100_000

_Answer = Callable[[Json, Pod, FeatureGates], Json]


def _gates(case: Json) -> FeatureGates:
    return FeatureGates.for_minor(_MINOR).with_overrides(case.get("featureGates", {}))


def _of_pod(answer: _Answer) -> Callable[[Json], Json]:
    """Read gates and pod, and call *answer* with the pod as a kubelet sees it."""

    @wraps(answer)
    def operation(case: Json) -> Json:
        try:
            gates = _gates(case)
        except ValueError as error:
            return {"error": str(error), "stage": "featureGates"}
        pod = decode_pod(Cursor.at_root(load_documents(json.dumps(case["pod"]), "case")[0]))
        if case.get("defaults") or case["op"] == "podDefaults":
            pod = stored(pod, server_rules(gates))
        return answer(case, node_rules(gates).view(pod), gates)

    return operation


@_of_pod
def qos(_case: Json, pod: Pod, _gates: FeatureGates) -> Json:
    """Classify a pod."""
    return {"qosClass": str(pod_qos(pod).qos_class), "podLevelResourcesSet": pod.has_pod_level_resources}


@_of_pod
def requests(_case: Json, pod: Pod, _gates: FeatureGates) -> Json:
    """Sum up a pod with overhead first, then without, as in the recordings."""
    bare, then = pod._replace(resources=None), summed_up_once(pod)
    return {
        "requests": _texts(pod_requests(pod)),
        "requestsExcludeOverhead": _texts(pod_requests(then, overhead=False)),
        "requestsSkipPodLevel": _texts(pod_requests(bare)),
        "limits": _texts(pod_limits(pod)),
        "limitsExcludeOverhead": _texts(pod_limits(then, overhead=False)),
        "limitsSkipPodLevel": _texts(pod_limits(bare)),
    }


@_of_pod
def defaults(_case: Json, pod: Pod, _gates: FeatureGates) -> Json:
    """Report a pod after defaulting."""
    return {
        "containers": {each.name: _requirements(each.resources) for each in pod.all_containers},
        "pod": None if pod.resources is None else _requirements(pod.resources),
        "qosClass": str(pod_qos(pod).qos_class),
    }


@_of_pod
def oom_score_adj(case: Json, pod: Pod, _gates: FeatureGates) -> Json:
    """Score every container of a pod."""
    qos_class = pod_qos(pod).qos_class
    scores = {
        each.name: oom_score(pod, each, qos_class, case["memoryCapacity"]) for each in pod.all_containers
    }
    return {
        "oomScoreAdj": {name: score.value for name, score in scores.items()},
        "qosClass": str(qos_class),
    }


@_of_pod
def cgroups(case: Json, pod: Pod, gates: FeatureGates) -> Json:
    """Report the values of a pod's cgroups, with and without the quota of exclusive CPUs."""
    config = KubeletConfiguration(
        cpu_cfs_quota=case.get("cpuCFSQuota", True),
        cpu_cfs_quota_period=case.get("cpuCFSQuotaPeriodUs", _PERIOD) * 1000,
    )
    settings, qos_class = cgroup_settings(config, gates), pod_qos(pod).qos_class
    own = pod_cgroup(pod, qos_class, settings)
    return {
        "qosClass": str(qos_class),
        "pod": {
            "cpuShares": own.shares,
            "cpuWeight": linear_weight(own.shares),
            "cpuQuota": own.quota,
            "cpuPeriod": own.period,
            "memory": own.memory,
            "hugepageLimits": {str(size): limit for size, limit in own.hugetlb.items()},
        },
        "containers": {
            each.name: {
                name: _container(container_cgroup(pod, each, qos_class, settings, exclusive=exclusive))
                for name, exclusive in (("quotaEnforced", False), ("quotaDisabled", True))
            }
            for each in pod.all_containers
        },
    }


def _container(values: CgroupValues) -> Json:
    """Write absent values as the zeros that are sent to the runtime."""
    return {
        "cpuShares": values.shares,
        "cpuQuota": values.quota or 0,
        "cpuPeriod": values.period or 0,
        "memoryLimit": values.memory or 0,
    }


def cgroup_values(case: Json) -> Json:
    """Convert single values."""
    if "weight" in case:
        return {"sharesFromWeight": shares_of_weight(case["weight"])}
    if "shares" in case:
        return _weights(case["shares"])
    period = case.get("periodUs", _PERIOD) if _gates(case).enabled("CustomCPUCFSQuotaPeriod") else _PERIOD
    shares = shares_of(case["milliCPU"])
    return {"shares": shares, "quotaUs": quota_of(case["milliCPU"], period), **_weights(shares)}


def _weights(shares: int) -> Json:
    return {"weightKubelet": linear_weight(shares), "weightRuntime": curved_weight(shares)}


def _requirements(resources: ResourceRequirements) -> Json:
    return {"requests": _texts(resources.requests), "limits": _texts(resources.limits)}


def _texts(amounts: Mapping[str, Quantity]) -> dict[str, Any]:
    return {name: str(amount.canonical()) for name, amount in amounts.items()}


POD_OPERATIONS: Mapping[str, Callable[[Json], Json]] = MappingProxyType(
    {
        "cgroupValues": cgroup_values,
        "oomScoreAdj": oom_score_adj,
        "podCgroup": cgroups,
        "podDefaults": defaults,
        "podRequests": requests,
        "qos": qos,
    }
)
