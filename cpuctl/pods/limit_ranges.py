"""LimitRanges: the bounds and defaults of a namespace, as the API server's admission applies them.

Rules: ``plugin/pkg/admission/limitranger``, which checks the creation of pods, and resizes by the
subresource. Texts are the API server's; where it iterates over a map in random order, they are reported by
name. For the objects themselves: ``pkg/apis/core/v1/defaults.go`` and ``pkg/apis/core/validation``.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial
from typing import NamedTuple

from cpuctl.object_names import qualified_name_problems
from cpuctl.pods.defaulting import Step
from cpuctl.pods.model import Container, Pod
from cpuctl.pods.requests import Amounts, container_limits, container_requests
from cpuctl.pods.rules import ServerRules
from cpuctl.pods.validation.finding import FieldPath, Finding
from cpuctl.pods.validation.resource_requirements import (
    container_resource,
    may_be_overcommitted,
    standard_resource,
)
from cpuctl.quantity import Quantity
from cpuctl.records import Record, replace

_Amounts = Mapping[str, Quantity]
_CODE = "limit-range"
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


class LimitRange(Record):
    """One object, whose items include their defaults. ``str(origin)`` is where it was read."""

    name: str
    namespace: str = "default"
    items: tuple[LimitRangeItem, ...] = ()
    origin: object = ""

    @property
    def weight(self) -> int:
        """The number of amounts that every container is compared with."""
        return 1 + sum(1 + len(kind) for item in self.items for kind in item.amounts)

    @cached_property
    def problems(self) -> tuple[str, ...]:
        """Why the API server refuses the object, as far as its limits are concerned.

        A misplaced amount is shown as a quantity; the API server shows Go's struct.
        """
        return tuple(_all_problems(self.items))

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


_STANDARD_TYPES = ("Container", "PersistentVolumeClaim", "Pod")
_STORAGE = "either minimum or maximum storage value is required, but neither was provided"


def _all_problems(items: Iterable[LimitRangeItem]) -> Iterator[str]:
    limits, seen = FieldPath(("spec", "limits"), "spec.limits"), set[str]()
    for index, item in enumerate(items):
        path = limits.item(index)
        yield from (str(each) for each in _misnamed(item, path))
        if item.type in seen:
            yield str(path.child("type").duplicate(_CODE, item.type))
        seen.add(item.type)
        yield from (f"{path}.{text}" for text in _problems(item))


def _misnamed(item: LimitRangeItem, path: FieldPath) -> Iterator[Finding]:
    """Check the type, and the names of resources, which depend on it."""
    rules, type_path = ServerRules(), path.child("type")
    problems = qualified_name_problems(item.type)
    if not problems and "/" not in item.type and item.type not in _STANDARD_TYPES:
        problems = ["must be a standard limit type or fully qualified"]
    yield from (type_path.invalid(_CODE, item.type, why) for why in problems)
    named = {"max": item.max, "min": item.min, "maxLimitRequestRatio": item.max_ratio}
    if item.type != "Pod":
        named |= {"default": item.default, "defaultRequest": item.default_request}
    for field_name, amounts in named.items():
        for name in sorted(amounts):
            if item.type in ("Container", "Pod"):
                yield from container_resource(rules, name, path.child(field_name).key(name))
            else:
                yield from standard_resource(name, path.child(field_name).key(name), rules)


def _problems(item: LimitRangeItem) -> Iterator[str]:
    if item.type == "Pod":
        for field_name, amounts in (("default", item.default), ("defaultRequest", item.default_request)):
            if amounts:
                yield f"{field_name}: Forbidden: may not be specified when `type` is 'Pod'"
        # Defaults do not count for this type; only for other types are they compared with bounds.
        item = item._replace(default={}, default_request={})
    if item.type == "PersistentVolumeClaim" and "storage" not in {**item.min, **item.max}:
        yield f"limits: Required value: {_STORAGE}"
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
    if ratio is not None:
        for message in _bad_ratio(ratio, amounts["min"], amounts["max"]):
            yield f'maxLimitRequestRatio[{name}]: Invalid value: "{ratio}": ratio {ratio} is {message}'
    default, request = amounts["default"], amounts["default_request"]
    defaulted = default is not None and request is not None and default != request
    if defaulted and not may_be_overcommitted(name):
        message = f"default value {default} must equal to defaultRequest value {request} in {name}"
        yield f'defaultRequest[{name}]: Invalid value: "{request}": {message}'


def _bad_ratio(ratio: Quantity, least: Quantity | None, most: Quantity | None) -> Iterator[str]:
    """Compare a ratio with 1 and with that of the bounds, which the API server calculates in floats."""
    if ratio < Quantity.from_value(1):
        yield "less than 1"
    if least is None or most is None or not least.sign:
        return
    if max(each.value for each in (ratio, least, most)) < _MOST_MILLI:
        highest, bound = ratio.milli_value / 1000, float(most.milli_value) / float(least.milli_value)
    else:
        highest, bound = float(ratio.value), float(most.value) / float(least.value)
    if highest > bound:
        yield f"greater than max/min = {bound:.6f}"


_MOST_MILLI = ((1 << 63) - 1) // 1000
"""``MaxMilliValue``: from here on, the API server compares whole units."""


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
