"""The answers of ``cpuctl plan``: one plan, or two side by side."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict, final

from cpuctl.answers.capacity import Capacity, Fragmentation, Repeat
from cpuctl.answers.checkpoint import CPUHolder
from cpuctl.answers.decisions import (
    Alignment,
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
    Sources,
)


class StateFile(TypedDict):
    path: str
    sha256: SHA256


class StatePart(TypedDict, total=False):
    state: list[StateFile]
    """The state files that the plan starts from, as they were then; not there for a fresh node."""


class PlanHeader(StatePart, PlanningHeader):
    pass


class UnstartedPlanHeader(StatePart, UnstartedHeader):
    pass


class PendingCount(TypedDict, total=False):
    pending: Count
    """Pods whose resource claims the scheduler cannot satisfy; not there where none is."""


class Summary(PendingCount):
    pods: Count
    admitted: Count
    rejected: Count
    forbidden: Count
    kubeletFault: Count
    undetermined: Count
    exclusiveCPUs: Count


class After(CPUsLeft, TablesPart, DevicesLeftPart):
    """What is left when every pod has been decided on."""


class LostMemory(TypedDict):
    resource: str
    bytes: int
    numaNodes: str


class PagesAtRisk(TypedDict):
    """Huge pages that are guaranteed to pods, and may be gone when they want them; all in bytes."""

    resource: str
    numaNodes: CPUList
    allocatable: Count
    """What pods may get of these nodes in all."""
    promised: Count
    """What Guaranteed pods have in the Memory Manager's books."""
    outside: Count
    """What pods that are not in its books may take, from any node."""
    missing: Count
    """How much of what is promised may be gone."""


class PlanWarning(TypedDict):
    """What to beware of; which members are there depends on what it is about."""

    pod: NotRequired[str]
    sharedPool: NotRequired[Literal["empty", "only reserved CPUs"]]
    container: NotRequired[str]
    """The container that the warning is about."""
    performanceCPUs: NotRequired[str]
    """The container's CPUs of performance cores, where it has others, too."""
    efficiencyCPUs: NotRequired[str]
    """The container's CPUs of efficiency cores, where it has others, too."""
    takenCPUs: NotRequired[str]
    """CPUs that a pod is given though they are reserved or another pod's."""
    readmission: NotRequired[Literal["lost", "refused"]]
    """A pod with pod-level resources that ran: what it held is lost, or it is rejected."""
    lostCPUs: NotRequired[str]
    """CPUs that nobody owns any more."""
    lostMemory: NotRequired[list[LostMemory]]
    """Memory that nobody owns any more."""
    hugePages: NotRequired[PagesAtRisk]
    """Promised huge pages that pods outside of the Memory Manager's books could take."""
    message: str


class RepeatPart(TypedDict, total=False):
    repeat: Repeat


class CapacityPart(TypedDict, total=False):
    capacity: Capacity


class FollowingPart(NextPart, total=False):
    explain: str
    """The command that explains the first pod that is rejected, and what would help it."""


class MetricsPart(TypedDict, total=False):
    metrics: list[Metric]
    """What the kubelet's own metrics would read afterwards; durations are left out."""


class PlanParts(DriverPart, MetricsPart, RepeatPart, CapacityPart, FollowingPart, total=False):
    pass


@final
class StartedPlan(PlanHeader, PlanParts):
    """What a kubelet would decide about pods, in the order they were given."""

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
    """A kubelet that would not start with this configuration on this machine, or may not."""

    apiVersion: ApiVersion
    kind: Literal["Plan"]
    start: NotStarted
    pods: list[Pod]
    """None."""
    warnings: list[PlanWarning]


Plan = Annotated[
    StartedPlan | NotStartedPlan, "What a kubelet would decide about pods, in the order they were given."
]


class PlanPicture(TypedDict):
    """What the picture of a plan is drawn from."""

    holders: list[CPUHolder]
    cpus: list[PicturedCPU]


class AlignedCounts(TypedDict):
    core: Count
    uncoreCache: Count | None
    """Null where nothing is recorded of caches."""
    numaNode: Count
    socket: Count


class Totals(TypedDict):
    exclusiveCPUs: Count
    free: Count
    """CPUs that can still become exclusive."""
    sharedPool: CPUList
    exclusiveContainers: Count
    aligned: AlignedCounts
    """How many of them keep together."""


@final
class StartedSide(RepeatPart, CapacityPart):
    """One plan."""

    settings: str
    """As given; empty for the configuration as it is."""
    kubelet: KubeletPolicies
    start: Started
    summary: Summary
    fragmentation: Fragmentation | None
    warnings: list[PlanWarning]
    totals: Totals


@final
class NotStartedSide(TypedDict):
    """Settings with which no kubelet starts."""

    settings: str
    """As given; empty for the configuration as it is."""
    kubelet: KubeletPolicies | LoadedRelease
    """Its release alone where it cannot even load its configuration."""
    start: NotStarted
    warnings: NotRequired[list[PlanWarning]]


Side = StartedSide | NotStartedSide


class ComparisonSummary(TypedDict):
    pods: Count
    changed: Count
    """Pods that differ in anything below."""
    verdicts: Count
    """Pods with another outcome or reason, or that only one side has."""
    containers: Count
    """Containers with other CPUs of their own or of their pod, memory or devices."""
    claims: NotRequired[Count]
    """Resource claims with other CPUs or devices; not there where no pod has any."""
    sharedPoolDiffers: bool
    """Whether both kubelets start, and the node's shared pool is another afterwards."""
    sharing: Count
    """Containers that run in the node's shared pool on either side."""
    undetermined: Count
    """Pods of which it cannot be said on a side what becomes of them: whether they move is not known."""


class _Placed(MemoryPart):
    isolation: Isolation
    cpus: CPUList
    devices: NotRequired[list[Device]]


class ExclusivePlacement(_Placed):
    """Where a container of an admitted pod runs on CPUs of its own."""

    exclusive: Literal[True]
    count: Count
    alignment: Alignment


class SharedPlacement(_Placed):
    """Where a container of an admitted pod runs that has no CPUs of its own."""

    exclusive: Literal[False]
    whyShared: str


Placement = ExclusivePlacement | SharedPlacement


Move = Literal["cpus", "podPool", "memory", "devices"]


class ComparedContainer(TypedDict):
    name: str
    kind: ContainerKind
    moves: list[Move]
    """What is another: exclusive CPUs, the pool of its pod (KEP-5526), memory of its own, devices."""
    a: Placement | None
    b: Placement | None
    onlyA: CPUList
    """Exclusive CPUs that it has in a only."""
    onlyB: CPUList
    """Exclusive CPUs that it has in b only."""


class ComparedClaim(TypedDict):
    name: str
    """As the pod calls it."""
    moves: bool
    """Whether it has other CPUs or devices."""
    a: PodClaim | None
    """null where the pod has nothing for it on this side."""
    b: PodClaim | None
    onlyA: CPUList
    """CPUs that it has in a only."""
    onlyB: CPUList
    """CPUs that it has in b only."""


class ClaimProblems(TypedDict):
    a: str | None
    """null where nothing keeps the pod from starting, or it is not admitted."""
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
    """null where this side has no such pod."""
    b: Verdict | None
    containers: list[ComparedContainer]


class ReleaseDifference(TypedDict):
    name: str
    begin: str
    """The releases that brought it."""
    a: str
    """What a kubelet of side A does."""
    b: str
    source: str
    standing: Literal["verified", "documented", "preview"]


class DifferencesPart(TypedDict, total=False):
    differences: list[ReleaseDifference]
    """Where the two sides are releases and pods move: the differences between them that these pods show.

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
