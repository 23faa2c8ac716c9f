"""The requests and limits of a pod as a whole, and the part of the pod that determines them.

The amounts are those of ``cpuctl.pods.requests``: the scheduler's and the node's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cpuctl.pods.cgroups.values import is_limited
from cpuctl.pods.model import ContainerKind, Pod, is_pod_level_resource
from cpuctl.pods.requests import pod_limits, pod_requests
from cpuctl.quantity import Quantity
from cpuctl.records import Record

_ZERO = Quantity()
_Amounts = Mapping[str, Quantity]
_OVERHEAD = ", plus overhead"
_NO_BOUND = "; unlimited, as not every container has a limit"


class Effective(Record):
    """An amount and its source."""

    amount: Quantity
    rule: str


def effective_requests(pod: Pod) -> dict[str, Effective]:
    """Return the requests that the scheduler counts, by resource."""
    own = pod.resources.requests if pod.resources else {}
    inside = {each.name: each.resources.requests for each in pod.all_containers}
    return {
        name: Effective(amount, _rule(pod, name, own, inside) + (_OVERHEAD if name in pod.overhead else ""))
        for name, amount in pod_requests(pod).items()
    }


def effective_limits(pod: Pod) -> dict[str, Effective]:
    """Return the limits of all containers together, by resource; not always a bound."""
    own = pod.resources.limits if pod.resources else {}
    inside = {each.name: each.resources.limits for each in pod.all_containers}
    return {
        name: Effective(
            amount,
            _rule(pod, name, own, inside)
            + (_OVERHEAD if name in pod.overhead and amount.sign else "")
            + (_NO_BOUND if name in ("cpu", "memory") and not is_limited(pod, name) else ""),
        )
        for name, amount in pod_limits(pod).items()
    }


def _rule(pod: Pod, name: str, own: _Amounts, inside: Mapping[str, _Amounts]) -> str:
    if name in own and is_pod_level_resource(name):
        return "spec.resources"
    if not any(name in amounts for amounts in inside.values()):
        return "nothing but overhead"
    amounts = {container: of[name] for container, of in inside.items() if name in of}
    sidecars = [each.name for each in pod.init_containers if each.kind is ContainerKind.SIDECAR]
    most = _sum(amounts, (*sidecars, *(each.name for each in pod.containers)))
    peak, before = "", _ZERO
    for container in pod.init_containers:
        needed = before + amounts.get(container.name, _ZERO)
        if most < needed:
            most = needed
            peak = f"init container {container.name}" + (" and the sidecars before it" if before.sign else "")
        before = needed if container.kind is ContainerKind.SIDECAR else before
    if peak:
        return peak
    return "sum of app containers and sidecars" if sidecars else "sum of app containers"


def _sum(amounts: _Amounts, containers: Iterable[str]) -> Quantity:
    total = _ZERO
    for container in containers:
        total += amounts.get(container, _ZERO)
    return total
