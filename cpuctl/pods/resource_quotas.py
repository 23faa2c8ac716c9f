"""ResourceQuotas: limits on all pods of a namespace together, as the API server's admission counts them.

Rules: ``pkg/quota/v1/evaluator/core/pods.go`` and its plugin. Texts are the API server's; it names any one of
several exceeded quotas, while all are reported here, by name.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Self

from cpuctl.pods.model import Pod, QosClass
from cpuctl.pods.requests import Amounts, pod_limits, pod_requests
from cpuctl.quantity import Quantity
from cpuctl.records import Record

_Amounts = Mapping[str, Quantity]
_ONE = Quantity.from_value(1)
_ZERO = Quantity()
_NATIVE = ("cpu", "memory", "ephemeral-storage")
_MUST_BE_SET = ("cpu", "limits.cpu", "limits.memory", "memory", "requests.cpu", "requests.memory")


class Scope(Record):
    """One condition on the pods that a quota counts, in the terms of ``scopeSelector``."""

    name: str
    operator: str = "Exists"
    values: tuple[str, ...] = ()


class ResourceQuota(Record):
    """One object. ``used`` comes from its status; None without a status: usage has not been counted yet."""

    name: str
    namespace: str = "default"
    hard: Mapping[str, Quantity] = {}
    used: _Amounts | None = None
    scopes: tuple[Scope, ...] = ()
    origin: object = ""

    def matches(self, pod: Pod, qos_class: QosClass) -> bool:
        """Return whether the quota counts *pod*: it limits a resource of pods, and every scope matches."""
        return bool(self.tracked) and all(_in_scope(scope, pod, qos_class) for scope in self.scopes)

    @property
    def weight(self) -> int:
        """The number of amounts that every pod is compared with."""
        return 1 + len(self.hard) + len(self.scopes)

    @property
    def tracked(self) -> list[str]:
        """The names of the limits that pods count against."""
        return sorted(name for name in self.hard if _is_tracked(name))


class QuotaCharge(Record):
    """One quota's result for one new pod: the amounts it would be charged, and the refusals."""

    quota: ResourceQuota
    charged: _Amounts
    refusals: tuple[str, ...] = ()


def pod_usage(pod: Pod) -> Amounts:
    """Return the charges for *pod* by name of the limit; a pod that has ended only counts as an object."""
    usage: Amounts = {"count/pods": _ONE}
    if pod.terminal:
        return usage
    pod = pod._replace(counted_claims=())  # quotas ignore them
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
    """Return the containers without amounts that the quota requires; empty with pod-level resources."""
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
    """Return the result for *pod* of a quota that counts it, with *used* before."""
    charged = _tracked(quota, pod_usage(pod))
    return QuotaCharge(quota=quota, charged=charged, refusals=_refusals(quota, pod, charged, used))


def _tracked(quota: ResourceQuota, usage: _Amounts) -> Amounts:
    return {name: usage[name] for name in quota.tracked if name in usage and usage[name].sign}


def _refusals(quota: ResourceQuota, pod: Pod, more: _Amounts, used: _Amounts) -> tuple[str, ...]:
    """Return why a quota does not grant *pod* the amounts *more*."""
    refusals = []
    if missing := missing_amounts(quota, pod):
        refusals.append(f"failed quota: {quota.name}: must specify {missing}")
    if exceeded := [name for name in more if quota.hard[name] < used.get(name, _ZERO) + more[name]]:
        refusals.append(
            f"exceeded quota: {quota.name}, requested: {_listed(more, exceeded)}, "
            f"used: {_listed(used, exceeded)}, limited: {_listed(quota.hard, exceeded)}"
        )
    return tuple(refusals)


class _Counted(NamedTuple):
    """The amounts that a pod is charged, and the quotas that count it."""

    usage: _Amounts
    places: tuple[int, ...]


class QuotaLedger:
    """The usage of quotas while pods are created, resized and deleted one by one.

    A pod that one quota refuses is charged to none. A pod counts until it is released: an API server accepts
    pods before any kubelet checks them.
    """

    def __init__(self, quotas: Iterable[ResourceQuota]) -> None:
        self.quotas = tuple(quotas)
        self._here: dict[str, list[int]] = {}
        for place, quota in enumerate(self.quotas):
            self._here.setdefault(quota.namespace, []).append(place)
        self._used: list[Amounts] = [dict(quota.used or {}) for quota in self.quotas]
        self._counted: dict[str, _Counted] = {}

    def copy(self) -> Self:
        """Return an independent copy."""
        copied = object.__new__(type(self))
        own = {"_used": [*self._used], "_counted": {**self._counted}}
        vars(copied).update(vars(self) | own)
        return copied

    @property
    def used(self) -> tuple[_Amounts, ...]:
        """The current usage of every quota."""
        return tuple(self._used)

    def count(self, pod: Pod, qos_class: QosClass) -> None:
        """Record a pod that exists already: quotas whose status has usage have counted it."""
        if _name(pod) in self._counted:
            return
        found = _Counted(pod_usage(pod), self._places(pod, qos_class))
        self._counted[_name(pod)] = found
        for place in found.places:
            if self.quotas[place].used is None:
                self._change(place, {}, found.usage)

    def create(self, pod: Pod, qos_class: QosClass, *, valid: bool = True) -> tuple[QuotaCharge, ...]:
        """Return the quotas' results for a new pod; charge it to them if it is *valid* and none refuses it.

        A static pod is charged to none, and a pod that is counted already is not charged again.
        """
        if pod.static or _name(pod) in self._counted:
            return ()
        places = self._places(pod, qos_class)
        charges = tuple(charge(self.quotas[place], pod, self._used[place]) for place in places)
        if valid and not any(each.refusals for each in charges):
            self._counted[_name(pod)] = found = _Counted(pod_usage(pod), places)
            for place in places:
                self._change(place, {}, found.usage)
        return charges

    def resize(self, before: Pod, after: Pod, qos_class: QosClass, *, valid: bool = True) -> tuple[str, ...]:
        """Return the quotas' refusals of new resources; without any, charge these to the pod if *valid*.

        Only increases are compared with the remaining quota.
        """
        self.count(before, qos_class)
        known, usage = self._counted[_name(before)], pod_usage(after)
        grown = {
            name: amount - known.usage.get(name, _ZERO)
            for name, amount in usage.items()
            if known.usage.get(name, _ZERO) < amount
        }
        refusals = tuple(
            text
            for place in known.places
            if (more := _tracked(self.quotas[place], grown))
            for text in _refusals(self.quotas[place], after, more, self._used[place])
        )
        if valid and not refusals:
            for place in known.places:
                self._change(place, known.usage, usage)
            self._counted[_name(before)] = known._replace(usage=usage)
        return refusals

    def end(self, pod: Pod) -> None:
        """Record that a pod has ended: it then only counts as an object."""
        known = self._counted.get(_name(pod))
        if known is not None:
            usage = {"count/pods": _ONE}
            for place in known.places:
                self._change(place, known.usage, usage)
            self._counted[_name(pod)] = known._replace(usage=usage)

    def release(self, pod: Pod) -> None:
        """Stop counting a pod that was deleted."""
        known = self._counted.pop(_name(pod), None)
        if known is not None:
            for place in known.places:
                self._change(place, known.usage, {})

    def _places(self, pod: Pod, qos_class: QosClass) -> tuple[int, ...]:
        here = self._here.get(pod.namespace, ())
        return tuple(place for place in here if self.quotas[place].matches(pod, qos_class))

    def _change(self, place: int, old: _Amounts, new: _Amounts) -> None:
        used = self._used[place]
        changed = {
            name: used.get(name, _ZERO) - old.get(name, _ZERO) + new.get(name, _ZERO)
            for name in self.quotas[place].tracked
            if name in old or name in new
        }
        self._used[place] = used | changed


def _name(pod: Pod) -> str:
    return pod.uid or pod.full_name


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
    """Select by the rules for labels: a pod without a priority class matches ``NotIn`` with any values."""
    answers = {
        "Exists": bool(value),
        "DoesNotExist": not value,
        "In": bool(value) and value in scope.values,
        "NotIn": value not in scope.values or not value,
    }
    return answers.get(scope.operator, False)


def _listed(amounts: _Amounts, names: Iterable[str]) -> str:
    return ",".join(f"{name}={amounts.get(name, _ZERO)}" for name in sorted(names))
