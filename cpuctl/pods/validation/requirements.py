"""Requests and limits beside each other: amounts, what may be overcommitted, huge pages.

Rule: ``validateResourceRequirements`` in ``pkg/apis/core/validation``, 1.36, the same for containers,
overhead and the pod level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from cpuctl.pods.model import ResourceRequirements
from cpuctl.pods.rules import ServerRules
from cpuctl.pods.validation.finding import Finding, Spot
from cpuctl.pods.validation.resource_names import (
    HUGEPAGES,
    comes_in_wholes,
    is_hugepages,
    may_be_overcommitted,
)
from cpuctl.quantity import Quantity

NameCheck = Callable[[str, Spot], Iterator[Finding]]
_BESIDE_HUGEPAGES = ("cpu", "memory")


def check_requirements(
    resources: ResourceRequirements, spot: Spot, check_name: NameCheck, rules: ServerRules
) -> Iterator[Finding]:
    """Check requests and limits in the API server's order: limits, requests, then both together."""
    limits, requests = spot.child("limits"), spot.child("requests")
    for name, amount in resources.limits.items():
        yield from check_name(name, limits.key(name))
        yield from _check_amount(name, amount, limits.key(name), rules)
        yield from _check_pages(name, amount, limits.key(name))
    for name, amount in resources.requests.items():
        yield from check_name(name, requests.key(name))
        yield from _check_amount(name, amount, requests.key(name), rules)
        yield from _check_limit(name, amount, resources.limits, spot)
        yield from _check_pages(name, amount, requests.key(name))
    names = {**resources.limits, **resources.requests}
    if any(map(is_hugepages, names)) and not any(name in names for name in _BESIDE_HUGEPAGES):
        yield spot.forbidden(
            "hugepages-alone", "HugePages require cpu or memory", fix="request cpu or memory, too"
        )


def _check_amount(name: str, amount: Quantity, spot: Spot, rules: ServerRules) -> Iterator[Finding]:
    if amount.sign < 0:
        yield spot.invalid("negative-amount", str(amount), "must be greater than or equal to 0")
    if comes_in_wholes(name) and amount.milli_value % 1000:
        value = f'"{amount}"' if rules.quotes_names or not amount.short else _go_struct(amount)
        yield spot.rejected("fractional-count", f"Invalid value: {value}: must be an integer")


def _go_struct(amount: Quantity) -> str:
    """Print an amount as Go prints the struct that holds it, which releases up to 1.33 do."""
    held = f"i:resource.int64Amount{{value:{amount.unscaled}, scale:{amount.exponent}}}"
    nothing = "d:resource.infDecAmount{Dec:(*inf.Dec)(nil)}"
    return f'resource.Quantity{{{held}, {nothing}, s:"{amount.verbatim}", Format:"{amount.format}"}}'


def _check_limit(
    name: str, request: Quantity, limits: Mapping[str, Quantity], spot: Spot
) -> Iterator[Finding]:
    """Check one request against its limit; the API server points at all requests, not at the one."""
    place = Spot((*spot.path, "requests", name), f"{spot.field}.requests")
    limit = limits.get(name)
    if limit is None:
        if not may_be_overcommitted(name):
            why = "Limit must be set for non overcommitable resources"
            yield spot.child("limits").required(
                "limit-missing", why, fix=f"set a limit of {request} for {name}"
            )
    elif request != limit and not may_be_overcommitted(name):
        why = f"must be equal to {name} limit of {limit}"
        yield place.invalid("request-differs-from-limit", str(request), why)
    elif limit < request:
        why = f"must be less than or equal to {name} limit of {limit}"
        yield place.invalid("limit-below-request", str(request), why)


def _check_pages(name: str, amount: Quantity, spot: Spot) -> Iterator[Finding]:
    if is_hugepages(name) and not _is_multiple(amount, name.removeprefix(HUGEPAGES)):
        why = f"{amount} is not positive integer multiple of {name}"
        yield spot.invalid("hugepages-fraction", str(amount), why)


def _is_multiple(amount: Quantity, page_size: str) -> bool:
    try:
        page = Quantity.parse(page_size)
    except ValueError:
        return False
    # A size beyond 64 bits reads as zero or below: the API server would crash on it.
    if page.sign <= 0 or page.milli_value % 1000 or page.value <= 0:
        return False
    return amount.value % page.value == 0
