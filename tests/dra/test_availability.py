"""Devices available for a claim's request."""

from __future__ import annotations

from cpuctl.dra.allocation import CapacityLeft
from cpuctl.dra.availability import device_availability
from cpuctl.dra.driver import DriverSettings
from cpuctl.inputs.sources import Sources
from cpuctl.operations.claims import node_claims
from cpuctl.pods.identity import with_uids
from cpuctl.pods.reading.manifests import decode_manifests
from tests.dra.claims import claim, gpu_class, gpu_slice, loaded, pod

REQUEST = "{name: gpu, exactly: {deviceClassName: gpu%s}}"
AMOUNT = ', capacity: {requests: {memory: "%s"}}'


def gpu(name: str, memory: int, *, shared: bool) -> str:
    return (
        f"{name}, allowMultipleAllocations: {str(shared).lower()}, capacity: {{memory: {{value: {memory}}}}}"
    )


def capacities(request: str, *gpus: str) -> list[tuple[str, int, int, int]]:
    text = gpu_class() + gpu_slice(*gpus) + claim("c", request) + pod("a", "c")
    found = decode_manifests(text, "test.yaml")
    (a,) = with_uids(found.pods)
    node = node_claims(found.dra, loaded("2c", DriverSettings()), Sources())
    (availability,) = device_availability(node, a)
    return [_whole(each) for each in availability.capacities]


def _whole(found: CapacityLeft) -> tuple[str, int, int, int]:
    most, left, total = (amount // 10**9 for amount in (found.most, found.left, found.total))
    return str(found.requested), most, left, total


def test_only_shared_devices_have_capacity_left() -> None:
    mixed = (gpu("whole", 80, shared=False), gpu("slice0", 40, shared=True), gpu("slice1", 40, shared=True))
    assert capacities(REQUEST % (AMOUNT % 20), *mixed) == [("20", 40, 80, 80)]


def test_devices_with_different_requested_amounts_are_listed_separately() -> None:
    devices = (gpu("large", 40, shared=True), gpu("small", 10, shared=True))
    assert capacities(REQUEST % "", *devices) == [("40", 40, 40, 40), ("10", 10, 10, 10)]
