"""ResourceQuota: what a pod is charged, which quotas look at it, and what they refuse.

Rule: ``pkg/quota/v1/evaluator/core/pods.go`` and the admission plug-in of the API server; texts are its own.
Of several exceeded quotas it names any one; here all are told, by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from cpuctl.named_tuple import NamedTuple
from cpuctl.pods.model import Pod, QosClass
from cpuctl.pods.requests import Amounts, pod_limits, pod_requests
from cpuctl.quantity import Quantity

_Amounts = Mapping[str, Quantity]
_ONE = Quantity.from_value(1)
_ZERO = Quantity()
_NATIVE = ("cpu", "memory", "ephemeral-storage")
_MUST_BE_SET = ("cpu", "limits.cpu", "limits.memory", "memory", "requests.cpu", "requests.memory")


class Scope(NamedTuple):
    """One condition on the pods that a quota looks at, with the words of ``scopeSelector``."""

    name: str
    operator: str = "Exists"
    values: tuple[str, ...] = ()


class ResourceQuota(NamedTuple):
    """One object. ``used`` comes from its status, None where it has none: nobody has counted yet."""

    name: str
    namespace: str = "default"
    hard: Mapping[str, Quantity] = {}
    used: _Amounts | None = None
    scopes: tuple[Scope, ...] = ()
    origin: object = ""

    def matches(self, pod: Pod, qos_class: QosClass) -> bool:
        """Tell whether the quota counts *pod*: it limits something of pods, and every scope fits."""
        return bool(self.tracked) and all(_in_scope(scope, pod, qos_class) for scope in self.scopes)

    @property
    def weight(self) -> int:
        """How many amounts every pod is compared with."""
        return 1 + len(self.hard) + len(self.scopes)

    @property
    def tracked(self) -> list[str]:
        """The limits that pods count against, by name."""
        return sorted(name for name in self.hard if _is_tracked(name))


class QuotaCharge(NamedTuple):
    """What one quota makes of one new pod: the amounts it would be charged, and what it refuses."""

    quota: ResourceQuota
    charged: _Amounts
    refusals: tuple[str, ...] = ()


class QuotaRun(NamedTuple):
    """The charges of every pod, in order, and what is used of every quota in the end."""

    charges: tuple[tuple[QuotaCharge, ...], ...]
    used: tuple[_Amounts, ...]


def pod_usage(pod: Pod) -> Amounts:
    """Return what *pod* is charged by name of the limit; a pod that has ended only counts as an object."""
    usage: Amounts = {"count/pods": _ONE}
    if pod.terminal:
        return usage
    return usage | _compute_usage(pod_requests(pod), pod_limits(pod))


def _compute_usage(requests: _Amounts, limits: _Amounts) -> Amounts:
    usage: Amounts = {"pods": _ONE}
    for name, amount in requests.items():
        if name in _NATIVE or name.startswith("hugepages-"):
            usage |= {name: amount, f"requests.{name}": amount}
        elif "/" in name:
            usage[f"requests.{name}"] = amount
    return usage | {f"limits.{name}": limits[name] for name in _NATIVE if name in limits}


def missing_amounts(quota: ResourceQuota, pod: Pod) -> str:
    """Tell which containers lack amounts that the quota wants of each; nothing with pod-level resources."""
    if pod.has_pod_level_resources:
        return ""
    missing: dict[str, set[str]] = {}
    for container in pod.all_containers:
        given = _compute_usage(container.resources.requests, container.resources.limits)
        for name in _MUST_BE_SET:
            if name in quota.hard and name not in given:
                missing.setdefault(name, set()).add(container.name)
    parts = (f"{name} for: {','.join(sorted(names))}" for name, names in sorted(missing.items()))
    return "; ".join(parts)


def charge(quota: ResourceQuota, pod: Pod, used: _Amounts) -> QuotaCharge:
    """Tell what a quota that counts *pod*, with *used* before, makes of it."""
    usage = pod_usage(pod)
    charged = {name: usage[name] for name in quota.tracked if name in usage and usage[name].sign}
    after = {name: used.get(name, _ZERO) + amount for name, amount in charged.items()}
    refusals = []
    if missing := missing_amounts(quota, pod):
        refusals.append(f"failed quota: {quota.name}: must specify {missing}")
    if exceeded := [name for name in charged if quota.hard[name] < after[name]]:
        refusals.append(
            f"exceeded quota: {quota.name}, requested: {_listed(charged, exceeded)}, "
            f"used: {_listed(used, exceeded)}, limited: {_listed(quota.hard, exceeded)}"
        )
    return QuotaCharge(quota=quota, charged=charged, refusals=tuple(refusals))


def charge_in_turn(quotas: Sequence[ResourceQuota], created: Iterable[tuple[Pod, QosClass]]) -> QuotaRun:
    """Create pods one after the other under all quotas of their namespaces.

    A pod of the cluster (it has a phase) is there already: it is part of ``used`` where the quota has one,
    else it is counted first. A pod that one quota refuses is charged to none, and a static pod neither.
    """
    here: dict[str, list[ResourceQuota]] = {}
    used: dict[int, Amounts] = {}
    for quota in quotas:
        here.setdefault(quota.namespace, []).append(quota)
        used[id(quota)] = dict(quota.used or {})
    pods = [
        (pod, [quota for quota in here.get(pod.namespace, ()) if quota.matches(pod, qos_class)])
        for pod, qos_class in created
    ]
    for pod, mine in pods:
        for quota in mine:
            if pod.phase and quota.used is None:
                used[id(quota)] = _added(used[id(quota)], quota, pod)
    charges = tuple(() if pod.phase or pod.static else _charge_all(mine, pod, used) for pod, mine in pods)
    return QuotaRun(charges, tuple(used[id(quota)] for quota in quotas))


def _charge_all(quotas: list[ResourceQuota], pod: Pod, used: dict[int, Amounts]) -> tuple[QuotaCharge, ...]:
    charges = tuple(charge(quota, pod, used[id(quota)]) for quota in quotas)
    if not any(each.refusals for each in charges):
        for each in charges:
            used[id(each.quota)] = _added(used[id(each.quota)], each.quota, pod)
    return charges


def _added(used: Amounts, quota: ResourceQuota, pod: Pod) -> Amounts:
    usage = pod_usage(pod)
    return used | {name: used.get(name, _ZERO) + usage[name] for name in quota.tracked if name in usage}


def _is_tracked(name: str) -> bool:
    if name in ("pods", "count/pods"):
        return True
    bare = name.removeprefix("requests.")
    if bare in _NATIVE or bare.startswith("hugepages-"):
        return True
    return name.removeprefix("limits.") in _NATIVE or (bare != name and "/" in bare)


def _in_scope(scope: Scope, pod: Pod, qos_class: QosClass) -> bool:
    best_effort = qos_class is QosClass.BEST_EFFORT
    answers = {
        "Terminating": pod.has_deadline,
        "NotTerminating": not pod.has_deadline,
        "BestEffort": best_effort,
        "NotBestEffort": not best_effort,
        "CrossNamespacePodAffinity": pod.crosses_namespaces,
        "PriorityClass": _selected(scope, pod.priority_class_name),
    }
    return answers.get(scope.name, False)


def _selected(scope: Scope, value: str) -> bool:
    """Select as labels are: a pod without a priority class fits ``NotIn``, whatever the values."""
    answers = {
        "Exists": bool(value),
        "DoesNotExist": not value,
        "In": bool(value) and value in scope.values,
        "NotIn": value not in scope.values or not value,
    }
    return answers.get(scope.operator, False)


def _listed(amounts: _Amounts, names: Iterable[str]) -> str:
    return ",".join(f"{name}={amounts.get(name, _ZERO)}" for name in sorted(names))
