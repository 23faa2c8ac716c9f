"""The devices of a node for a pod's claims: how many match or are free, and the claims that hold them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cpuctl.dra.allocation import CapacityLeft, capacities_left
from cpuctl.dra.model import Claim, Device, DeviceRequest
from cpuctl.dra.node import NodeClaims
from cpuctl.dra.selectors import SelectorFailedError, SelectorUnknownError
from cpuctl.dra.slices import NUMA_NODE
from cpuctl.pods.model import Pod


class DeviceAvailability(NamedTuple):
    """The devices of a driver at one NUMA node (None: not reported), for one request of a claim.

    ``matching`` is None if unknown. Free devices match and are not used exclusively by a claim.
    """

    claim: str
    request: str
    driver: str
    numa_node: int | None
    devices: int
    matching: int | None
    free: int
    capacities: tuple[CapacityLeft, ...]
    holders: tuple[str, ...]


def device_availability(claims: NodeClaims, pod: Pod) -> Iterator[DeviceAvailability]:
    """Report every request of a pod's unallocated claims, by driver and NUMA node.

    Drivers without matching devices are omitted, unless no driver has any.
    """
    for claim in claims.wanted(pod):
        for request in claim.requests:
            for each in request.alternatives or (request,):
                label = each.name if each is request else f"{request.name}/{each.name}"
                found = list(_of_request(claims, claim, label, each))
                fitting = {one.driver for one in found if one.matching != 0}
                yield from (one for one in found if not fitting or one.driver in fitting)


def _of_request(
    claims: NodeClaims, claim: Claim, label: str, request: DeviceRequest
) -> Iterator[DeviceAvailability]:
    groups: dict[tuple[str, int | None], list[Device]] = {}
    for device in claims.inventory.devices:
        node = device.attributes.get(NUMA_NODE)
        groups.setdefault((device.driver, node if type(node) is int else None), []).append(device)
    for (driver, node), devices in groups.items():
        matching = _matching(claims, request, devices)
        fit = devices if matching is None else matching
        free = [each for each in fit if each.id not in claims.books.taken]
        shared = [each for each in free if each.allows_many]
        names = (name for each in shared for name in each.capacity)
        yield DeviceAvailability(
            claim=claim.full_name,
            request=label,
            driver=driver,
            numa_node=node,
            devices=len(devices),
            matching=None if matching is None else len(matching),
            free=len(free),
            capacities=tuple(capacities_left(request, shared, claims.books, names)),
            holders=claims.holders(fit),
        )


def _matching(claims: NodeClaims, request: DeviceRequest, devices: Sequence[Device]) -> list[Device] | None:
    """Return the matching devices; None if a selector cannot be evaluated."""
    device_class = claims.inventory.classes.get(request.class_name)
    if device_class is None:
        return None
    expressions = (*device_class.selectors, *request.selectors)
    try:
        return [each for each in devices if claims.selectors.match(each, expressions)]
    except (SelectorFailedError, SelectorUnknownError):
        return None
