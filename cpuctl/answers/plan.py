"""The answers of ``cpuctl plan``: one plan, or two side by side."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict, final

from cpuctl.answers.capacity import Capacity, Fragmentation, Repeat
from cpuctl.answers.checkpoint import CPUHolder
from cpuctl.answers.decisions import (
    Alignment,
    Block,
    CPUsLeft,
    Device,
    DevicesLeftPart,
    MemoryPart,
    Node,
    Pod,
    TablesPart,
    Verdict,
)
from cpuctl.answers.dra import DriverPart, PodClaim
from cpuctl.answers.start import (
    KubeletPolicies,
    LoadedRelease,
    NextPart,
    NotStarted,
    PlanningHeader,
    Started,
    UnstartedHeader,
)
from cpuctl.answers.topology import PicturedCPU
from cpuctl.answers.values import (
    SHA256,
    ApiVersion,
    ContainerKind,
    Count,
    CPUList,
    Isolation,
    Metric,
    NamespacedName,
    Sources,
)


class StateFile(TypedDict):
    path: str
    sha256: SHA256


class StatePart(TypedDict, total=False):
    state: list[StateFile]
    """The state files that the plan starts from; absent for a new node."""


class PlanHeader(StatePart, PlanningHeader):
    pass


class UnstartedPlanHeader(StatePart, UnstartedHeader):
    pass


class PendingCount(TypedDict, total=False):
    pending: Count
    """Pods whose resource claims the scheduler cannot satisfy; absent if there are none."""


class Summary(PendingCount):
    pods: Count
    admitted: Count
    rejected: Count
    forbidden: Count
    kubeletFault: Count
    undetermined: Count
    exclusiveCPUs: Count


class HeldDevices(TypedDict):
    """Devices of one resource and the NUMA nodes near them."""

    resource: str
    numaNodes: str
    """The nodes; "none" if the plugin reports none."""
    count: Count


class HeldOthers(TypedDict, total=False):
    memory: list[Block]
    """The memory and huge pages that the Memory Manager has assigned to it."""
    devices: list[HeldDevices]
    """Its devices from device plugins."""
    othersUntil: str
    """When the kubelet releases the memory and the devices."""


class HeldByRejected(NamespacedName, HeldOthers):
    cpus: CPUList
    """Its exclusive CPUs, empty if it has only other resources."""
    until: str
    """When the kubelet releases the CPUs."""


class HeldPart(TypedDict, total=False):
    heldByRejected: list[HeldByRejected]
    """What rejected pods keep, because containers got it before the rejection."""


class After(CPUsLeft, TablesPart, DevicesLeftPart, HeldPart):
    """What is left after the decisions about all pods."""


class LostMemory(TypedDict):
    resource: str
    bytes: int
    numaNodes: str


class PagesAtRisk(TypedDict):
    """Huge pages that are guaranteed to pods but may be used by others; all in bytes."""

    resource: str
    numaNodes: CPUList
    allocatable: Count
    """What pods can get from these nodes in total."""
    guaranteed: Count
    """What the Memory Manager has assigned to Guaranteed pods."""
    usableByOthers: Count
    """What pods unknown to the Memory Manager may use, from any node."""
    missing: Count
    """How much of the guaranteed memory may be missing."""


class PlanWarning(TypedDict):
    """A warning; which members exist depends on its subject."""

    pod: NotRequired[str]
    sharedPool: NotRequired[Literal["empty", "only reserved CPUs"]]
    container: NotRequired[str]
    """The container that the warning is about."""
    performanceCPUs: NotRequired[str]
    """The container's CPUs of performance cores, if it also has others."""
    efficiencyCPUs: NotRequired[str]
    """The container's CPUs of efficiency cores, if it also has others."""
    takenCPUs: NotRequired[str]
    """CPUs assigned to a pod although they are reserved or belong to another pod."""
    readmission: NotRequired[Literal["lost", "rejected"]]
    """A running pod with pod-level resources: its resources are lost, or it is rejected."""
    lostCPUs: NotRequired[str]
    """CPUs that no longer have an owner."""
    lostMemory: NotRequired[list[LostMemory]]
    """Memory that no longer has an owner."""
    hugePages: NotRequired[PagesAtRisk]
    """Guaranteed huge pages that pods unknown to the Memory Manager could use."""
    message: str


class RepeatPart(TypedDict, total=False):
    repeat: Repeat


class CapacityPart(TypedDict, total=False):
    capacity: Capacity


class ExplainPart(TypedDict, total=False):
    explain: str
    """The command that explains the first rejected pod and what would help."""


class FollowingPart(NextPart, ExplainPart):
    pass


class MetricsPart(TypedDict, total=False):
    metrics: list[Metric]
    """The kubelet's own metrics after the plan, without durations."""


class PlanParts(DriverPart, MetricsPart, RepeatPart, CapacityPart, FollowingPart, total=False):
    pass


@final
class StartedPlan(PlanHeader, PlanParts):
    """What the kubelet would decide about pods, in the order given."""

    apiVersion: ApiVersion
    kind: Literal["Plan"]
    start: Started
    node: Node
    summary: Summary
    pods: list[Pod]
    after: After
    warnings: list[PlanWarning]


@final
class NotStartedPlan(UnstartedPlanHeader, NextPart):
    """A kubelet that would not start, or might not, with this configuration on this machine."""

    apiVersion: ApiVersion
    kind: Literal["Plan"]
    start: NotStarted
    pods: list[Pod]
    """Always empty."""
    warnings: list[PlanWarning]


Plan = Annotated[
    StartedPlan | NotStartedPlan, "What the kubelet would decide about pods, in the order given."
]


class PlanPicture(TypedDict):
    """Data for the picture of a plan."""

    holders: list[CPUHolder]
    cpus: list[PicturedCPU]


class AlignedCounts(TypedDict):
    core: Count
    uncoreCache: Count | None
    """Null if caches are not recorded."""
    numaNode: Count
    socket: Count


class Totals(TypedDict):
    exclusiveCPUs: Count
    free: Count
    """CPUs still free for exclusive use."""
    sharedPool: CPUList
    exclusiveContainers: Count
    aligned: AlignedCounts
    """How many of them are aligned."""


@final
class StartedSide(RepeatPart, CapacityPart, HeldPart, ExplainPart):
    """One side of the comparison."""

    settings: str
    """As given; empty for the current configuration."""
    kubelet: KubeletPolicies
    start: Started
    summary: Summary
    fragmentation: Fragmentation | None
    warnings: list[PlanWarning]
    totals: Totals


@final
class NotStartedSide(TypedDict):
    """Settings with which the kubelet does not start."""

    next: NotRequired[str]
    """The command that shows what to change, or what else is known."""

    settings: str
    """As given; empty for the current configuration."""
    kubelet: KubeletPolicies | LoadedRelease
    """If the kubelet cannot load its configuration, only its release."""
    start: NotStarted
    warnings: NotRequired[list[PlanWarning]]


Side = StartedSide | NotStartedSide


class ComparisonSummary(TypedDict):
    pods: Count
    changed: Count
    """Pods with any of the differences below."""
    verdicts: Count
    """Pods with a different outcome or reason, or only on one side."""
    containers: Count
    """Containers with different exclusive or pod-level CPUs, memory or devices."""
    claims: NotRequired[Count]
    """Resource claims with different CPUs or devices; absent if no pod has any."""
    sharedPoolDiffers: bool
    """Whether both kubelets start and the node's shared pool differs afterwards."""
    sharing: Count
    """Containers that run in the node's shared pool on either side."""
    undetermined: Count
    """Pods whose result is unknown on one side, so that differences are unknown."""


class _Placed(MemoryPart):
    isolation: Isolation
    cpus: CPUList
    devices: NotRequired[list[Device]]


class ExclusivePlacement(_Placed):
    """Where a container of an admitted pod with exclusive CPUs runs."""

    exclusive: Literal[True]
    count: Count
    alignment: Alignment


class SharedPlacement(_Placed):
    """Where a container of an admitted pod without exclusive CPUs runs."""

    exclusive: Literal[False]
    whyShared: str


Placement = ExclusivePlacement | SharedPlacement


Move = Literal["cpus", "podPool", "memory", "devices"]


class ComparedContainer(TypedDict):
    name: str
    kind: ContainerKind
    moves: list[Move]
    """What differs: exclusive CPUs, the pool of its pod (KEP-5526), memory, devices."""
    a: Placement | None
    b: Placement | None
    onlyA: CPUList
    """Exclusive CPUs only in a."""
    onlyB: CPUList
    """Exclusive CPUs only in b."""


class ComparedClaim(TypedDict):
    name: str
    """Name of the claim in the pod."""
    moves: bool
    """Whether it has different CPUs or devices."""
    a: PodClaim | None
    """Null if the pod has nothing for it on this side."""
    b: PodClaim | None
    onlyA: CPUList
    """CPUs only in a."""
    onlyB: CPUList
    """CPUs only in b."""


class ClaimProblems(TypedDict):
    a: str | None
    """Null if the pod starts or is not admitted."""
    b: str | None


class ComparedClaimsPart(TypedDict, total=False):
    claims: list[ComparedClaim]
    """Only of pods with resource claims."""
    claimProblems: ClaimProblems
    """Why the pod does not start on a side that admits it."""


class ComparedPod(ComparedClaimsPart):
    namespace: str
    name: str
    uid: str
    changed: bool
    verdictDiffers: bool
    a: Verdict | None
    """Null if this side does not have the pod."""
    b: Verdict | None
    containers: list[ComparedContainer]


class ReleaseDifference(TypedDict):
    name: str
    since: str
    """The releases that introduced it."""
    a: str
    """What the kubelet of side A does."""
    b: str
    source: str
    status: Literal["verified", "documented", "preview"]


class DifferencesPart(TypedDict, total=False):
    differences: list[ReleaseDifference]
    """If the sides are releases and pods differ: the release differences that affect these pods.

    Each is tried alone (up to 64 pods).
    """


class PlanComparison(DifferencesPart):
    """The same pods planned with two settings of the kubelet, a and b, side by side."""

    apiVersion: ApiVersion
    kind: Literal["PlanComparison"]
    sources: Sources
    a: Side
    b: Side
    summary: ComparisonSummary
    pods: list[ComparedPod]
