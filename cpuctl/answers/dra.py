"""Dynamic resource allocation of CPUs: the devices of a driver, and what claims get of them."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from cpuctl.answers.values import ApiVersion, Count, CPUList, Source, Sources

ClaimOutcomeName = Literal["Allocated", "Unsatisfied", "NotPrepared", "Undetermined"]


class DriverDevices(TypedDict):
    """The table of ``dra slices``; other formats print the ResourceSlices themselves."""

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


class _ExplainPart(TypedDict, total=False):
    next: str
    """The command that explains the first pod that does not get its claims, or does not start."""


class ClaimAllocation(_ExplainPart):
    """What pods get for their ResourceClaims on a node, one pod after another."""

    apiVersion: ApiVersion
    kind: Literal["ClaimAllocation"]
    sources: Sources
    node: str
    pods: list[PodClaims]
    available: str
    """CPUs of the driver, including those allocated to claims."""
    shared: str
    """CPUs for containers without a claim, after the last pod."""
    reserved: str
    warnings: list[str]


class PodClaims(TypedDict):
    pod: str
    outcome: ClaimOutcomeName
    """Unsatisfied: the scheduler finds no devices; NotPrepared: the pod is bound but does not start."""
    reason: str | None
    claims: list[PodClaim]
    """Empty if nothing is allocated."""


class PodClaim(TypedDict):
    name: str
    """Name of the claim in the pod."""
    claim: str
    containers: list[str]
    devices: list[ClaimDevice]
    cpus: CPUList | None
    """The container's CPUs from the driver; null if no device is a CPU or the claim is not prepared."""
    numaNodes: list[int]
    """NUMA nodes of these CPUs."""
    aligned: bool | None
    """Whether its devices and CPUs are on one NUMA node; null if their nodes are unknown."""
    extraCPUs: str
    """CPUs that are not among the claim's devices."""
    whyUnknown: NotRequired[str]
    """Why the CPUs from the driver are unknown."""


class ClaimCgroup(TypedDict):
    container: str | None
    """Null for the pod's own cgroup."""
    shares: Count
    """CPU shares, in the unit of cgroup v1."""
    quota: int | None
    """Microseconds per period; -1 if there is no limit; null if nothing is written."""
    period: int | None
    """In microseconds."""


class ClaimAccounting(TypedDict):
    """How claims are accounted for as node resources (KEP-5517): at admission and, from 1.37, in cgroups."""

    claims: str
    """Number of CPUs from claims."""
    footprint: str
    """Number of CPUs of the pod in total."""
    cgroups: list[ClaimCgroup]
    """Values that the kubelet writes to cgroups; up to 1.36, they do not include the claims."""


class ClaimsPart(TypedDict, total=False):
    accounting: ClaimAccounting
    """Only if devices are accounted for as node resources."""
    claims: list[PodClaim]
    """Devices for the pod's resource claims, outside the kubelet's resource managers."""
    claimProblem: str
    """Why the pod does not start, although the kubelet admits it."""


class CapacityLeft(TypedDict):
    name: str
    requested: str
    """Quantity requested from one device."""
    largestOnOneDevice: str
    """Largest quantity left on any one device."""
    left: str
    """Quantity left on all devices together."""
    total: str


class ClaimDevices(TypedDict):
    """The devices of one NUMA node that one request of a claim could use."""

    claim: str
    request: str
    driver: str
    numaNode: int | None
    """Null if the driver reports none."""
    devices: int
    matching: int | None
    """Null if the selectors of the request cannot be evaluated."""
    free: int
    """Matching devices that no claim uses exclusively."""
    capacities: list[CapacityLeft]
    """Capacities of devices that claims share."""
    heldBy: list[str]
    """The claims that hold some of them, or a share."""


class ClaimDevicesPart(TypedDict, total=False):
    claimDevices: list[ClaimDevices]
    """For a pod whose claims are not satisfied: the devices of the node at that time."""


class ClaimDriver(TypedDict):
    """The dra.cpu driver on the node, after the last pod."""

    node: str
    available: str
    """CPUs of the driver, including those allocated to claims."""
    shared: str
    """CPUs for containers without a claim."""
    reserved: str


class DriverPart(TypedDict, total=False):
    driver: ClaimDriver
    """Only if pods have resource claims."""


class ClaimDevice(TypedDict):
    request: str
    driver: str
    device: str
    consumed: dict[str, str]
    """How much of each capacity of a shared device the claim consumes."""
    numaNode: int | None
