"""Dynamic resource allocation of CPUs: the devices of a driver, and what claims get of them."""

from __future__ import annotations

from typing import Literal, TypedDict

from cpuctl.answers.sources import Source, Sources
from cpuctl.answers.values import ApiVersion, CPUList

ClaimOutcomeName = Literal["Allocated", "Unsatisfied", "NotPrepared", "Undetermined"]


class DriverDevices(TypedDict):
    """What ``dra slices`` shows to people: what else it prints are the ResourceSlices themselves."""

    sources: dict[str, Source]
    node: str
    devices: list[DeviceRow]
    available: str
    reserved: str


class DeviceRow(TypedDict):
    name: str
    slice: int
    cpus: CPUList
    count: int
    socket: int | None
    numaNode: int | None
    core: int | None
    l3: int | None
    coreType: str | None
    pcieRoots: list[str]


class ClaimAllocation(TypedDict):
    """What pods get for their ResourceClaims on a node, one pod after the other."""

    apiVersion: ApiVersion
    kind: Literal["ClaimAllocation"]
    sources: Sources
    node: str
    pods: list[PodClaims]
    available: str
    """CPUs of the driver, those of claims among them."""
    shared: str
    """CPUs of containers without a claim, after the last pod."""
    reserved: str
    warnings: list[str]


class PodClaims(TypedDict):
    pod: str
    outcome: ClaimOutcomeName
    """Unsatisfied: the scheduler finds no devices; NotPrepared: the pod comes, and does not start."""
    reason: str | None
    claims: list[PodClaim]
    """Empty where nothing is allocated."""


class PodClaim(TypedDict):
    name: str
    """As the pod calls it."""
    claim: str
    containers: list[str]
    devices: list[ClaimDevice]
    cpus: CPUList | None
    """What the driver gives its container; null where none of its devices are CPUs, or it is not prepared."""
    numaNodes: list[int]
    """Of the CPUs."""
    strays: str
    """CPUs that are outside its devices."""


class ClaimDevice(TypedDict):
    request: str
    driver: str
    device: str
    consumed: dict[str, str]
    """Of the capacities of a device that is shared."""
    numaNode: int | None
