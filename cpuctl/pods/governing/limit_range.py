"""LimitRange: the defaults that it puts into containers, and what it refuses.

Rule: ``plugin/pkg/admission/limitranger`` of the API server. It looks at pods that are created, and at
resizes by the subresource; texts are its own. Where it walks a map in random order, the order here is by
name. For the object itself: ``pkg/apis/core/v1/defaults.go`` and ``pkg/apis/core/validation``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from cpuctl.pods.defaulting import Step
from cpuctl.pods.model import Container, Pod
from cpuctl.pods.requests import Amounts, container_limits, container_requests
from cpuctl.quantity import Quantity

_Amounts = Mapping[str, Quantity]
_OVERRIDDEN = ("cpu", "memory")


class LimitRangeItem(NamedTuple):
    """What holds for one ``type``: Container, Pod, or another that pods have nothing to do with.

    ``max_ratio`` is maxLimitRequestRatio: how many times its request a limit may be.
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

    def with_defaults(self) -> LimitRangeItem:
        """Return the item as the API server stores it; for containers missing defaults follow from bounds."""
        if self.type != "Container":
            return self
        default = {**self.max, **self.default}
        return self._replace(default=default, default_request={**self.min, **default, **self.default_request})


class LimitRange(NamedTuple):
    """One object; its items carry their defaults. ``str(origin)`` says where it was read."""

    name: str
    namespace: str = "default"
    items: tuple[LimitRangeItem, ...] = ()
    origin: object = ""

    @property
    def weight(self) -> int:
        """How many amounts every container is compared with."""
        return 1 + sum(1 + len(kind) for item in self.items for kind in item.amounts)

    @property
    def problems(self) -> list[str]:
        """Tell why the API server refuses the object, as far as that is about its amounts.

        An amount that is out of place is shown as a quantity; the API server shows Go's structure.
        """
        return [
            f"spec.limits[{index}].{text}"
            for index, item in enumerate(self.items)
            for text in _problems(item)
        ]

    def step(self) -> Step:
        """Return what this object changes in a new pod."""
        limits: Amounts = {}
        requests: Amounts = {}
        for item in self.items:
            if item.type == "Container":
                limits |= item.default
                requests |= item.default_request
        return Step(f"the default of LimitRange {self.name}", lambda pod: _injected(pod, requests, limits))

    def violations(self, pod: Pod) -> list[str]:
        """Tell what keeps *pod* from being created, each reason once."""
        return list(dict.fromkeys(text for item in self.items for text in _violations(item, pod)))


def limit_range_steps(pod: Pod, limit_ranges: Iterable[LimitRange]) -> Iterator[Step]:
    """Yield what the LimitRanges of its namespace fill in, by their names; static pods meet none."""
    here = () if pod.static else (each for each in limit_ranges if each.namespace == pod.namespace)
    for limit_range in sorted(here, key=lambda each: each.name):
        yield limit_range.step()


_WORDS = {"min": "min", "max": "max", "default": "default", "default_request": "default request"}
_ORDER = (
    ("min", "max", "min", "min"),
    ("min", "default_request", "defaultRequest", "default_request"),
    ("default_request", "max", "defaultRequest", "default_request"),
    ("default_request", "default", "defaultRequest", "default_request"),
    ("min", "default", "default", "min"),
    ("default", "max", "default", "max"),
)
"""Which amounts must not be above which others; the field that a refusal names, and whose amount it shows."""


def _problems(item: LimitRangeItem) -> Iterator[str]:
    if item.type == "Pod":
        for field_name, amounts in (("default", item.default), ("defaultRequest", item.default_request)):
            if amounts:
                yield f"{field_name}: Forbidden: may not be specified when `type` is 'Pod'"
        # Bounds are compared with defaults for other types only: here there are none that count.
        item = item._replace(default={}, default_request={})
    for name in sorted({name for amounts in item.amounts for name in amounts}):
        yield from _disordered(item, name)


def _disordered(item: LimitRangeItem, name: str) -> Iterator[str]:
    amounts = {kind: getattr(item, kind).get(name) for kind in _WORDS}
    for low, high, field_name, shown in _ORDER:
        below, above = amounts[low], amounts[high]
        if below is not None and above is not None and below > above:
            limit = " limit" if (low, high) == ("default_request", "default") else ""
            words = f"{_WORDS[low]} value {below} is greater than {_WORDS[high]}{limit} value {above}"
            yield f'{field_name}[{name}]: Invalid value: "{amounts[shown]}": {words}'
    ratio = item.max_ratio.get(name)
    if ratio is not None and ratio < Quantity.from_value(1):
        yield f'maxLimitRequestRatio[{name}]: Invalid value: "{ratio}": ratio {ratio} is less than 1'


def _injected(pod: Pod, requests: _Amounts, limits: _Amounts) -> Pod:
    def filled(container: Container) -> Container:
        own = container.resources
        resources = own._replace(requests={**requests, **own.requests}, limits={**limits, **own.limits})
        return container._replace(resources=resources)

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
    """Let pod-level amounts win; LimitRanger knows no pod-level huge pages."""
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
    """Compare both sides with a bound, the one first that has to be there."""
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
    """Write a ratio with six digits behind the point, in integers: a float may be too small for it."""
    millionths = (limit * 2_000_000 + request) // (2 * request)
    return f"{millionths // 1_000_000}.{millionths % 1_000_000:06}"
