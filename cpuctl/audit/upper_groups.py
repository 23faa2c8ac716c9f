"""What the groups above pods should say: ``kubepods``, and those of the QoS classes.

Rule: kubelet v1.36 ``cm/node_container_manager_linux.go`` and ``cm/qos_container_manager_linux.go``, which
writes the latter anew every minute. No kubelet sets a quota there.
"""

from __future__ import annotations

from collections.abc import Mapping

from cpuctl.audit.group_rules import Rules, file_texts
from cpuctl.audit.picture import Picture
from cpuctl.cgroups.groups import Cgroup
from cpuctl.cgroups.names import Level
from cpuctl.pods.cgroups.files import WeightFormula
from cpuctl.pods.cgroups.linux_resources import shares_of
from cpuctl.pods.cgroups.values import CgroupSettings, CgroupValues, class_reservation
from cpuctl.pods.model import QosClass
from cpuctl.pods.qos import pod_qos
from cpuctl.pods.requests import pod_requests
from cpuctl.quantity import Quantity

_ZERO = Quantity()
_LEAST_SHARES = 2
_UNBOUNDED = 1 << 62
_NO_BOUND = {1: ("-1",), 2: (str(_UNBOUNDED), "max")}
"""How it reads, by version: kernels may take what no machine has for no bound."""


def upper_files(picture: Picture, group: Cgroup, rules: Rules) -> Mapping[str, tuple[str, ...]]:
    """Return what the files of a group above pods may say; what is not known is left out."""
    top = group.role.level is Level.KUBEPODS
    if top and rules.room is None:
        return {}
    memory = rules.room.memory if top and rules.room else None
    shares = _shares(picture, group, rules)
    reserved = _reserved(picture, rules.settings, None if top else group.role.qos)
    values = CgroupValues(
        shares=shares or _LEAST_SHARES,
        memory=memory,
        hugetlb=dict.fromkeys(rules.settings.page_sizes, _UNBOUNDED),
        memory_min=reserved.get("min"),
        memory_low=reserved.get("low"),
    )
    texts = file_texts(picture, group, values, rules.settings, WeightFormula.LINEAR)
    unknown = {"cpu.weight", "cpu.shares"} if shares is None else set()
    if memory is None if top else rules.qos_reserved:
        unknown |= {"memory.max", "memory.limit_in_bytes"}
    no_bound = _NO_BOUND[picture.hierarchies.version if picture.hierarchies else 2]
    return {
        name: no_bound if name.startswith("hugetlb.") else text
        for name, text in texts.items()
        if name not in unknown
    }


def _shares(picture: Picture, group: Cgroup, rules: Rules) -> int | None:
    """Return what all pods may take, the least for BestEffort, or the sum of Burstable pods."""
    if group.role.level is Level.KUBEPODS:
        return shares_of(rules.room.milli_cpu) if rules.room else None
    if group.role.qos is not QosClass.BURSTABLE:
        return _LEAST_SHARES
    requests = _requests(picture, QosClass.BURSTABLE, "cpu")
    return None if requests is None else shares_of(requests.milli_value)


def _reserved(picture: Picture, settings: CgroupSettings, qos: QosClass | None) -> Mapping[str, int]:
    """Return the memory that is protected for a class, or for all pods."""
    burstable = _requests(picture, QosClass.BURSTABLE, "memory")
    guaranteed = _requests(picture, QosClass.GUARANTEED, "memory")
    if burstable is None or guaranteed is None or qos is QosClass.BEST_EFFORT:
        return {}
    if qos is QosClass.BURSTABLE:
        return class_reservation(burstable.value, qos, settings)
    return class_reservation(burstable.value + guaranteed.value, QosClass.GUARANTEED, settings)


def _requests(picture: Picture, qos: QosClass, resource: str) -> Quantity | None:
    """Add up what the running pods of a class request; None where pods are not known."""
    if not picture.pods_known:
        return None
    pods = (pod for uid, pod in picture.pods.items() if uid in picture.uids and not pod.terminal)
    requests = (pod_requests(pod).get(resource, _ZERO) for pod in pods if pod_qos(pod).qos_class is qos)
    return sum(requests, _ZERO)
