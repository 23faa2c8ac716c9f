"""The limits of a namespace: LimitRange and ResourceQuota, as the API server's admission applies them.

Rules: ``plugin/pkg/admission/limitranger``, which checks the creation of pods, and resizes by the
subresource; ``pkg/quota/v1/evaluator/core/pods.go`` and its plugin. Texts are the API server's. If it
iterates over a map in random order, or names any one of several exceeded quotas, all are reported here, by
name. For objects: ``pkg/apis/core/v1/defaults.go`` and ``pkg/apis/core/validation``.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple, Self

from cpuctl.pods.defaulting import Step
from cpuctl.pods.model import Container, Pod, QosClass
from cpuctl.pods.requests import Amounts, container_limits, container_requests, pod_limits, pod_requests
from cpuctl.quantity import Quantity
from cpuctl.records import Record, replace

_Amounts = Mapping[str, Quantity]
_OVERRIDDEN = ("cpu", "memory")


class LimitRangeItem(NamedTuple):
    """The rules for one ``type``: Container, Pod, or one that does not concern pods.

    ``max_ratio`` is maxLimitRequestRatio: the maximum ratio of a limit to its request.
    """

    type: str
    min: Mapping[str, Quantity] = {}
    max: Mapping[str, Quantity] = {}
    default: Mapping[str, Quantity] = {}
    default_request: Mapping[str, Quantity] = {}
    max_ratio: Mapping[str, Quantity] = {}

    @property
    def amounts(self) -> tuple[_Amounts, ...]:
        """All its lists of amounts."""
        return self.min, self.max, self.default, self.default_request, self.max_ratio

    def with_defaults(self) -> "LimitRangeItem":
        """Return the item as the API server stores it: containers' missing defaults follow from bounds."""
        if self.type != "Container":
            return self
        default = {**self.max, **self.default}
        return self._replace(default=default, default_request={**self.min, **default, **self.default_request})


class LimitRange(NamedTuple):
    """One object, whose items include their defaults. ``str(origin)`` is where it was read."""

    name: str
    namespace: str = "default"
    items: tuple[LimitRangeItem, ...] = ()
    origin: object = ""

    @property
    def weight(self) -> int:
        """The number of amounts that every container is compared with."""
        return 1 + sum(1 + len(kind) for item in self.items for kind in item.amounts)

    @property
    def problems(self) -> list[str]:
        """Return why the API server refuses the object, as far as its amounts are concerned.

        A misplaced amount is shown as a quantity; the API server shows Go's struct.
        """
        return [
            f"spec.limits[{index}].{text}"
            for index, item in enumerate(self.items)
            for text in _problems(item)
        ]

    def step(self) -> Step:
        """Return the change that this object makes to a new pod."""
        limits: Amounts = {}
        requests: Amounts = {}
        for item in self.items:
            if item.type == "Container":
                limits |= item.default
                requests |= item.default_request
        return Step(f"the default of LimitRange {self.name}", lambda pod: _injected(pod, requests, limits))

    def violations(self, pod: Pod) -> list[str]:
        """Return the reasons why *pod* cannot be created, each once."""
        return list(dict.fromkeys(text for item in self.items for text in _violations(item, pod)))


def limit_range_steps(pod: Pod, limit_ranges: Iterable[LimitRange]) -> Iterator[Step]:
    """Yield the changes by the LimitRanges of the pod's namespace, by name; none apply to static pods."""
    if not pod.static:
        yield from (each.step() for each in applied(limit_ranges, pod.namespace))


def applied(limit_ranges: Iterable[LimitRange], namespace: str) -> list[LimitRange]:
    """Return those that an API server has for a namespace, by name: it never stores one with problems."""
    here = (each for each in limit_ranges if each.namespace == namespace and not each.problems)
    return sorted(here, key=lambda each: each.name)


_WORDS = {"min": "min", "max": "max", "default": "default", "default_request": "default request"}
_ORDER = (
    ("min", "max", "min", "min"),
    ("min", "default_request", "defaultRequest", "default_request"),
    ("default_request", "max", "defaultRequest", "default_request"),
    ("default_request", "default", "defaultRequest", "default_request"),
    ("min", "default", "default", "min"),
    ("default", "max", "default", "max"),
)
"""Amounts that must not exceed others, the field that a refusal names, and the amount that it shows."""


def _problems(item: LimitRangeItem) -> Iterator[str]:
    if item.type == "Pod":
        for field_name, amounts in (("default", item.default), ("defaultRequest", item.default_request)):
            if amounts:
                yield f"{field_name}: Forbidden: may not be specified when `type` is 'Pod'"
        # Defaults do not count for this type; only for other types are they compared with bounds.
        item = item._replace(default={}, default_request={})
    for name in sorted({name for amounts in item.amounts for name in amounts}):
        yield from _disordered(item, name)


def _disordered(item: LimitRangeItem, name: str) -> Iterator[str]:
    amounts = {kind: getattr(item, kind).get(name) for kind in _WORDS}
    for low, high, field_name, shown in _ORDER:
        below, above = amounts[low], amounts[high]
        if below is not None and above is not None and below > above:
            limit = " limit" if (low, high) == ("default_request", "default") else ""
            message = f"{_WORDS[low]} value {below} is greater than {_WORDS[high]}{limit} value {above}"
            yield f'{field_name}[{name}]: Invalid value: "{amounts[shown]}": {message}'
    ratio = item.max_ratio.get(name)
    if ratio is not None and ratio < Quantity.from_value(1):
        yield f'maxLimitRequestRatio[{name}]: Invalid value: "{ratio}": ratio {ratio} is less than 1'


def _injected(pod: Pod, requests: _Amounts, limits: _Amounts) -> Pod:
    def filled(container: Container) -> Container:
        own = container.resources
        resources = replace(own, requests={**requests, **own.requests}, limits={**limits, **own.limits})
        return replace(container, resources=resources)

    return pod._replace(
        containers=tuple(map(filled, pod.containers)),
        init_containers=tuple(map(filled, pod.init_containers)),
    )


def _violations(item: LimitRangeItem, pod: Pod) -> Iterator[str]:
    if item.type == "Container":
        for container in (*pod.containers, *pod.init_containers):
            yield from _check(item, container.resources.requests, container.resources.limits)
    elif item.type == "Pod":
        own = pod.resources
        requests = _overridden(container_requests(pod), own.requests if own else {})
        limits = _overridden(container_limits(pod), own.limits if own else {})
        yield from _check(item, requests, limits)


def _overridden(summed: Amounts, own: _Amounts) -> Amounts:
    """Give pod-level amounts precedence; LimitRanger ignores pod-level huge pages."""
    return summed | {name: own[name] for name in _OVERRIDDEN if name in own}


def _check(item: LimitRangeItem, requests: _Amounts, limits: _Amounts) -> Iterator[str]:
    sides = (("request", requests), ("limit", limits))
    for name, bound in sorted(item.min.items()):
        what = f"minimum {name} usage per {item.type} is {bound}"
        yield from _outside(what, name, sides, partial(_is_below, bound))
    for name, bound in sorted(item.max.items()):
        what = f"maximum {name} usage per {item.type} is {bound}"
        yield from _outside(what, name, sides[::-1], partial(_is_above, bound))
    for name, bound in sorted(item.max_ratio.items()):
        what = f"{name} max limit to request ratio per {item.type} is {bound}"
        yield from _steeper(what, bound, requests.get(name), limits.get(name))


def _is_below(bound: Quantity, amount: Quantity) -> bool:
    return amount < bound


def _is_above(bound: Quantity, amount: Quantity) -> bool:
    return bound < amount


def _outside(
    what: str, name: str, sides: Iterable[tuple[str, _Amounts]], breaks: Callable[[Quantity], bool]
) -> Iterable[str]:
    """Compare both sides with a bound, the required side first."""
    needed = True
    for side, amounts in sides:
        amount = amounts.get(name)
        if amount is None and needed:
            return (f"{what}.  No {side} is specified",)
        if amount is not None and breaks(amount):
            return (f"{what}, but {side} is {amount}",)
        needed = False
    return ()


def _steeper(what: str, bound: Quantity, request: Quantity | None, limit: Quantity | None) -> Iterable[str]:
    if request is None or not request.sign:
        return (f"{what}, but no request is specified or request is 0",)
    if limit is None or not limit.sign:
        return (f"{what}, but no limit is specified or limit is 0",)
    if request.nano * bound.nano < limit.nano * 10**9:
        return (f"{what}, but provided ratio is {_ratio(limit.nano, request.nano)}",)
    return ()


def _ratio(limit: int, request: int) -> str:
    """Format a ratio with six decimal places, using integers: a float's range may be too small for it."""
    millionths = (limit * 2_000_000 + request) // (2 * request)
    return f"{millionths // 1_000_000}.{millionths % 1_000_000:06}"


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
