"""The values that a kubelet writes into the cgroups of a pod and its containers, and the rules in words.

Rule: kubelet v1.36 ``cm/helpers_linux.go`` (pod) and ``kuberuntime_container_linux.go`` (containers). All
functions take a pod as its kubelet sees it: with API defaults, reduced by ``NodeRules.view``. The amounts
that claims count as (KEP-5517, from 1.37 on) enter every value of the pod, but only the limits of a
container: its shares and its protected memory follow its own requests.
"""

from collections.abc import Mapping
from math import floor

from cpuctl.pods.cgroups.linux_resources import DEFAULT_PERIOD, NO_QUOTA, page_size, quota_of, shares_of
from cpuctl.pods.model import Container, ContainerKind, Pod, QosClass
from cpuctl.pods.requests import claimed_by, pod_limits, pod_requests
from cpuctl.quantity import Quantity
from cpuctl.records import Record

_TIERS_SINCE = 36
_ZERO = Quantity()


class CgroupSettings(Record):
    """The settings of a kubelet of 1.*minor* that concern cgroups, with its defaults filled in.

    ``period`` is cpuCFSQuotaPeriod in microseconds, ``lifts_quota`` the gate DisableCPUQuotaWithExclusiveCPUs
    (from 1.33 on), ``pids_limit`` is podPidsLimit, -1 for none. ``throttling_factor`` None means no
    ``memory.high``; ``tiered`` is memoryReservationPolicy TieredReservation. ``allocatable_memory`` in bytes
    is None if the node is not known. ``memory_page`` and ``page_sizes`` are in bytes; the latter are the
    node's huge page sizes, of which those that are not requested are limited to 0.
    """

    minor: int = 36
    cfs_quota: bool = True
    period: int = DEFAULT_PERIOD
    lifts_quota: bool = True
    pids_limit: int = -1
    memory_qos: bool = False
    throttling_factor: float | None = 0.9
    tiered: bool = False
    allocatable_memory: int | None = None
    memory_page: int = 4096
    page_sizes: tuple[int, ...] = ()


class CgroupValues(Record):
    """Values as the kubelet computes them, for both cgroup v1 and v2; None for those it does not write.

    ``shares`` are ``cpu.shares`` of v1, quota and period microseconds, memory amounts bytes. A quota of -1 is
    an explicit "no limit". ``hugetlb`` maps page sizes to limits, both in bytes. ``memory_min``,
    ``memory_low`` and ``memory_high`` are for v2 only. ``unknown`` maps the name of a value to the missing
    input that it depends on.
    """

    shares: int
    quota: int | None = None
    period: int | None = None
    memory: int | None = None
    hugetlb: Mapping[int, int] = {}
    pids: int | None = None
    memory_min: int | None = None
    memory_low: int | None = None
    memory_high: int | None = None
    unknown: Mapping[str, str] = {}


def pod_cgroup(
    pod: Pod, qos_class: QosClass, settings: CgroupSettings, *, exclusive: bool = False
) -> CgroupValues:
    """Return the values of the pod's own cgroup; *exclusive*: the pod counts as having exclusive CPUs."""
    requests, limits = pod_requests(pod), pod_limits(pod)
    guaranteed = qos_class is QosClass.GUARANTEED
    best_effort = qos_class is QosClass.BEST_EFFORT
    quota = period = memory = None
    if guaranteed or (not best_effort and is_limited(pod, "cpu")):
        quota = quota_of(limits.get("cpu", _ZERO).milli_value, settings.period)
        period = settings.period
        if not settings.cfs_quota or (exclusive and settings.lifts_quota):
            quota = NO_QUOTA
    if guaranteed or (not best_effort and is_limited(pod, "memory")):
        memory = limits.get("memory", _ZERO).value
    reserved = _reservation(requests.get("memory", _ZERO).value, qos_class, settings)
    return CgroupValues(
        shares=shares_of(0 if best_effort else requests.get("cpu", _ZERO).milli_value),
        quota=quota,
        period=period,
        memory=memory,
        hugetlb={**dict.fromkeys(settings.page_sizes, 0), **_hugetlb(requests)},
        pids=settings.pids_limit if settings.pids_limit > 0 else None,
        memory_min=reserved.get("min"),
        memory_low=reserved.get("low"),
    )


def container_cgroup(
    pod: Pod, container: Container, qos_class: QosClass, settings: CgroupSettings, *, exclusive: bool = False
) -> CgroupValues:
    """Return the values of one container's cgroup; *exclusive*: it has exclusive CPUs."""
    request = container.resources.requests.get("cpu", effective_limit(pod, container, "cpu"))
    limits = _raised(pod, container)
    cpu, memory = (limits.get(name, _pod_level_limit(pod, name)) for name in ("cpu", "memory"))
    quota = period = None
    if settings.cfs_quota:
        period = settings.period
        quota = quota_of(cpu.milli_value, period) or None
        if exclusive and settings.lifts_quota:
            quota = NO_QUOTA
    reserved = _container_reservation(container, qos_class, settings)
    high, unknown = _memory_high(container.resources.requests, limits, settings)
    return CgroupValues(
        shares=shares_of(request.milli_value),
        quota=quota,
        period=period,
        memory=memory.value or None,
        hugetlb={
            **dict.fromkeys(settings.page_sizes, 0),
            **_hugetlb(pod.resources.limits if pod.resources else {}),
            **_hugetlb(limits),
        },
        memory_min=reserved.get("min"),
        memory_low=reserved.get("low"),
        memory_high=high,
        unknown=unknown,
    )


def effective_limit(pod: Pod, container: Container, name: str) -> Quantity:
    """Return the limit that applies to a container: its own, else the whole pod-level one, else zero."""
    limit = container.resources.limits.get(name, _ZERO)
    return limit if limit.sign else _pod_level_limit(pod, name)


def _raised(pod: Pod, container: Container) -> dict[str, Quantity]:
    """Return nonzero limits with the claims' amounts added; claims create new limits only for huge pages."""
    limits = container.resources.limits
    found = {name: amount for name, amount in limits.items() if amount.sign or name.startswith("hugepages-")}
    for name, amount in claimed_by(pod, container.name).items():
        if name in found or (name.startswith("hugepages-") and not _pod_level_limit(pod, name).sign):
            found[name] = found.get(name, _ZERO) + amount
    return found


def _pod_level_limit(pod: Pod, name: str) -> Quantity:
    return pod.resources.limits.get(name, _ZERO) if pod.resources else _ZERO


def is_limited(pod: Pod, name: str) -> bool:
    """Return whether a resource is limited at every moment of the pod's life."""
    if _pod_level_limit(pod, name).sign:
        return True
    if not all(container.resources.limits.get(name, _ZERO).sign for container in pod.containers):
        return False
    sidecars = _ZERO
    for container in pod.init_containers:
        together = sidecars + container.resources.limits.get(name, _ZERO)
        if not together.sign:
            return False
        if container.kind is ContainerKind.SIDECAR:
            sidecars = together
    return True


def _hugetlb(amounts: Mapping[str, Quantity]) -> dict[int, int]:
    sizes = {name: page_size(name) for name in amounts if name.startswith("hugepages-")}
    return {size: amounts[name].value for name, size in sizes.items() if size is not None}


def _reservation(request: int, qos_class: QosClass, settings: CgroupSettings) -> dict[str, int]:
    """Return a pod's memory protection: always hard up to 1.35, then by class and only if configured."""
    if not settings.memory_qos or request <= 0:
        return {}
    if settings.minor < _TIERS_SINCE:
        return {"min": request}
    if not settings.tiered:
        return {}
    return {"min" if qos_class is QosClass.GUARANTEED else "low": request}


def class_reservation(requests: int, qos_class: QosClass, settings: CgroupSettings) -> dict[str, int]:
    """Return the memory protection of a whole QoS class: from 1.36 on, 0 if its memory is not protected."""
    reserved = _reservation(requests, qos_class, settings)
    if settings.memory_qos and settings.minor >= _TIERS_SINCE and not reserved:
        return {"min" if qos_class is QosClass.GUARANTEED else "low": 0}
    return reserved


def _container_reservation(
    container: Container, qos_class: QosClass, settings: CgroupSettings
) -> dict[str, int]:
    request = container.resources.requests.get("memory", _ZERO).value
    reserved = _reservation(request, qos_class, settings)
    if settings.memory_qos and settings.minor >= _TIERS_SINCE and not reserved:
        return {"min": 0, "low": 0}
    return reserved


def _memory_high(
    requests: Mapping[str, Quantity], limits: Mapping[str, Quantity], settings: CgroupSettings
) -> tuple[int | None, dict[str, str]]:
    """Return where reclaim begins: between request and limit, or the node's memory without a limit."""
    request, limit = (side.get("memory", _ZERO).value for side in (requests, limits))
    factor = settings.throttling_factor
    if not settings.memory_qos or factor is None or request == limit:
        return None, {}
    top = limit or settings.allocatable_memory
    if top is None:
        return None, {"memory_high": "it depends on the node's allocatable memory"}
    # In floating point, as in the kubelet.
    pages = floor((float(request) + (float(top) - float(request)) * factor) / settings.memory_page)
    high = pages * settings.memory_page
    return (high, {}) if high > request else (None, {})


_BEST_EFFORT = "BestEffort pods have none"
_CLAIMS = " and its claims"
_LIFTED = "none, because of exclusive CPUs"
_SWITCHED_OFF = "none, because cpuCFSQuota is false"


class CgroupRules(Record):
    """One rule for each of the three values that every cgroup has."""

    shares: str
    quota: str
    memory: str


def pod_cgroup_rules(
    pod: Pod, qos_class: QosClass, settings: CgroupSettings, *, exclusive: bool
) -> CgroupRules:
    """Explain the pod's own cgroup."""
    if qos_class is QosClass.BEST_EFFORT:
        return CgroupRules("BestEffort pods have the minimum", _BEST_EFFORT, _BEST_EFFORT)
    quota, memory = (_pod_limit(pod, qos_class, name) for name in ("cpu", "memory"))
    if qos_class is QosClass.GUARANTEED or is_limited(pod, "cpu"):
        quota = _lifted(settings, exclusive=exclusive) or quota
    own = pod.resources.requests if pod.resources else {}
    return CgroupRules(f"the pod's cpu request{_with_claims(pod, 'cpu', own)}", quota, memory)


def container_cgroup_rules(
    pod: Pod, container: Container, settings: CgroupSettings, *, exclusive: bool
) -> CgroupRules:
    """Explain a container's cgroup."""
    quota, memory = (_limit(pod, container, name) for name in ("cpu", "memory"))
    shares = "its cpu request" if "cpu" in container.resources.requests else f"no request: {quota}"
    return CgroupRules(shares, _lifted(settings, exclusive=exclusive) or quota, memory)


def _pod_limit(pod: Pod, qos_class: QosClass, name: str) -> str:
    if qos_class is QosClass.GUARANTEED or is_limited(pod, name):
        own = pod.resources.limits if pod.resources else {}
        return f"the pod's {name} limit{_with_claims(pod, name, own)}"
    return f"none, because not every container has a {name} limit"


def _limit(pod: Pod, container: Container, name: str) -> str:
    for owner, resources in (("its", container.resources), ("the whole pod-level", pod.resources)):
        limit = resources.limits.get(name) if resources else None
        if limit is not None and limit.sign:
            own = owner == "its" and claimed_by(pod, container.name).get(name, _ZERO).sign
            return f"{owner} {name} limit{_CLAIMS if own else ''}"
    return f"none, because there is no {name} limit"


def _with_claims(pod: Pod, name: str, own: Mapping[str, Quantity]) -> str:
    """Return the suffix for a pod's amount that includes claims, unless the pod has *own* amounts."""
    counted = (
        amounts.get(name, _ZERO).sign
        for claim in pod.counted_claims
        for amounts in (claim.amounts, claim.per_pod, claim.per_container)
    )
    return _CLAIMS if name not in own and any(counted) else ""


def _lifted(settings: CgroupSettings, *, exclusive: bool) -> str:
    if not settings.cfs_quota:
        return _SWITCHED_OFF
    return _LIFTED if exclusive and settings.lifts_quota else ""
