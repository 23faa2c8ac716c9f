"""Dynamic resource allocation of CPUs: the devices of a driver, and what claims get of them."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from cpuctl.answers.values import ApiVersion, Count, CPUList, Source, Sources

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
    aligned: bool | None
    """Whether its devices and CPUs are on one NUMA node; null where nobody tells of which they are."""
    strays: str
    """CPUs that are outside its devices."""
    whyUnknown: NotRequired[str]
    """Why it is not known which CPUs the driver gives."""


class ClaimCgroup(TypedDict):
    container: str | None
    """null: the pod's own."""
    shares: Count
    """As cgroup v1 counts them."""
    quota: int | None
    """Microseconds in a period, -1 for none; null where nothing is written."""
    period: int | None


class ClaimAccounting(TypedDict):
    """What claims count as of the node's resources (KEP-5517): at admission; from 1.37 on in cgroups, too."""

    claims: str
    """CPUs."""
    footprint: str
    """CPUs that the pod comes to."""
    cgroups: list[ClaimCgroup]
    """As the kubelet writes them: up to 1.36 without the claims."""


class ClaimsPart(TypedDict, total=False):
    accounting: ClaimAccounting
    """Only where devices count as the node's resources."""
    claims: list[PodClaim]
    """What the pod has for its resource claims: no manager of the kubelet's has a say in that."""
    claimProblem: str
    """Why the pod does not start, although the kubelet admits it."""


class CapacityLeft(TypedDict):
    name: str
    asked: str
    """Of one device."""
    most: str
    """What is left on the one that has the most."""
    left: str
    """On all of them together."""
    total: str


class ClaimDevices(TypedDict):
    """How devices next to one NUMA node stand to one request of a claim."""

    claim: str
    request: str
    driver: str
    numaNode: int | None
    """Null where the driver names none."""
    devices: int
    matching: int | None
    """Null where its selectors cannot be evaluated."""
    free: int
    """Devices that match, and that no claim has for itself."""
    capacities: list[CapacityLeft]
    """Of devices that claims share."""
    heldBy: list[str]
    """The claims that have some of them, or a share."""


class ClaimDevicesPart(TypedDict, total=False):
    claimDevices: list[ClaimDevices]
    """For a pod whose claims are not satisfied: the devices of the node when it came."""


class ClaimDriver(TypedDict):
    """The driver dra.cpu on the node, after the last pod."""

    node: str
    available: str
    """CPUs of the driver, those of claims among them."""
    shared: str
    """CPUs on which it keeps containers without a claim."""
    reserved: str


class DriverPart(TypedDict, total=False):
    driver: ClaimDriver
    """Only where pods have resource claims."""


class ClaimDevice(TypedDict):
    request: str
    driver: str
    device: str
    consumed: dict[str, str]
    """Of the capacities of a device that is shared."""
    numaNode: int | None
