"""The answer of ``cpuctl resize``."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict, final

from cpuctl.answers.decisions import CPUsLeft, HintRound, Node, Step
from cpuctl.answers.downward import Rereading
from cpuctl.answers.start import KubeletPolicies, NextPart, NotStarted, Started, UnstartedHeader
from cpuctl.answers.values import (
    ApiVersion,
    Bounds,
    ContainerKind,
    Count,
    CPUList,
    Isolation,
    QOSClass,
    Sources,
)

Ruling = Literal[
    "Admitted",
    "Unchanged",
    "NoEffect",
    "Deferred",
    "Infeasible",
    "Forbidden",
    "Ignored",
    "KubeletFault",
    "Undetermined",
]


class Reference(TypedDict):
    """The answer of the reference implementation, if it differs."""

    outcome: Ruling
    reason: str | None
    """Its reason for not making the resize."""
    message: str | None
    """Its message."""
    cpus: dict[str, CPUList | None]


class ResizeDecision(TypedDict):
    """The decision about one resize."""

    outcome: Ruling
    decidedBy: Literal["none", "apiServer", "podResizes", "resourceManagers", "nodeFit"]
    reason: str | None
    """The kubelet's reason for not making the resize."""
    message: str | None
    """The message of the component that decided."""
    needsGate: str | None
    """The feature gate that is missing; null if enabling it would not be enough."""
    container: str | None
    """The container whose resize is not made."""
    details: dict[str, int]
    where: str | None
    """Where in the kubelet a fault occurs."""
    departures: list[str]
    """Differences between the KEP and its reference implementation."""
    reference: Reference | None


class Amounts(TypedDict):
    """Quantities of cpu and memory, in the notation of Kubernetes."""

    cpu: NotRequired[str]
    memory: NotRequired[str]


class Resources(TypedDict):
    requests: Amounts
    limits: Amounts


class States(TypedDict):
    """Resources right after the decision."""

    before: Resources
    """Allocated before the decision."""
    requested: Resources
    """Requested by the resize."""
    desired: Resources
    """In the pod's spec."""
    allocated: Resources
    """Allocated by the kubelet."""
    actuated: Resources
    """Sent to the runtime."""
    actual: Resources
    """Reported by the runtime."""


class Scheduled(TypedDict):
    """What the scheduler uses for the pod."""

    before: Amounts
    during: Amounts
    after: Amounts


class CPUWeight(TypedDict):
    """cpu.weight by the kubelet's linear formula and by the curve of newer OCI runtimes."""

    linear: Count
    quadratic: Count


class Cgroup(TypedDict):
    cpuShares: Count
    cpuWeight: CPUWeight
    cpuQuota: int | None
    """Microseconds per period; -1 if there is no limit (exclusive CPUs); null if nothing is written."""
    cpuPeriod: int | None
    """In microseconds."""
    memoryLimit: int | None
    """In bytes; null if nothing is written."""


class Cgroups(TypedDict):
    """What the kubelet writes to the cgroup."""

    before: Cgroup
    after: Cgroup


class CPUCounts(TypedDict):
    before: Count
    after: Count


class ResizedCPUs(TypedDict):
    before: CPUList | None
    """Null for the shared pool."""
    after: CPUList | None
    """Null for the shared pool."""
    baseline: CPUList | None
    """The CPUs from admission that it keeps across every resize; null if there is no such guarantee."""
    kept: CPUList
    added: CPUList
    removed: CPUList
    counts: CPUCounts
    matchesRequest: bool
    """Whether the number of CPUs matches the request."""
    numaNodes: list[int]
    releasedAfter: str | None
    """The minimum time for which it keeps the CPUs that are removed (KEP-6122)."""
    steps: list[Step]
    """The rules of the CPU allocation that chose the CPUs."""


class ResizedContainer(TypedDict):
    name: str
    kind: ContainerKind
    changed: bool
    restarts: list[Literal["cpu", "memory"]]
    """The resources whose change restarts it (resizePolicy)."""
    resources: States
    isolation: Isolation | None
    """What its CPUs are shared with afterwards: nothing (container), the containers of its pod (pod,
    KEP-5526), or the node (host). Null for a pod that is not on the node.
    """
    whyShared: str | None
    """Why it gets no exclusive CPUs; null if it does."""
    cpus: ResizedCPUs | None
    """Its exclusive CPUs; null if it has and had none."""
    cgroup: Cgroups


class Condition(TypedDict):
    type: Literal["PodResizePending", "PodResizeInProgress"]
    status: Literal["True"]
    reason: str
    message: str
    observedGeneration: int | None


class PodLevel(TypedDict):
    changed: bool
    resources: States


class ResizedPod(ResizeDecision):
    """A running pod with new resources."""

    namespace: str
    name: str
    uid: str
    origin: str
    """Where the pod was read from."""
    qosClass: QOSClass
    fix: str | None
    """The option that enables the missing gate in addition to the given gates."""
    preview: bool
    """Whether the allocator of KEP-5554 was used, which no release has."""
    attempts: Annotated[int, Bounds(1)]
    generation: int
    """The pod's generation with these resources."""
    conditions: list[Condition]
    """From 1.33 on."""
    statusResize: Literal["Proposed", "InProgress", "Deferred", "Infeasible"] | None
    """status.resize, up to 1.32."""
    podLevel: PodLevel | None
    """The pod's own resources; null if it has none."""
    cgroup: Cgroups
    scheduler: Scheduled
    hints: list[HintRound]
    """How the Topology Manager merged the hints, for each container or (null) for the pod."""
    containers: list[ResizedContainer]
    downwardAPI: list[Rereading]
    """What the pod reads about its resources through the downward API, before and after."""


class Core(TypedDict):
    numaNode: int
    core: int
    cpus: list[int]


class AvailableAllocator(TypedDict):
    """Exclusive CPUs can be resized, as a preview: no release does this yet."""

    available: Literal[True]
    status: Literal["preview"]
    source: str
    semantics: Literal["kep", "reference"]
    whyNot: None


class NoAllocator(TypedDict):
    """Exclusive CPUs cannot be resized."""

    available: Literal[False]
    status: None
    source: None
    semantics: None
    whyNot: str


Allocator = AvailableAllocator | NoAllocator


class NodeAfterwards(CPUsLeft):
    """The node after the decisions about all resizes."""

    cpuManagerState: str | None
    """The content of cpu_manager_state afterwards."""


@final
class DecidedResize(NextPart):
    """The result for running pods with new resources."""

    apiVersion: ApiVersion
    kind: Literal["Resize"]
    sources: Sources
    kubelet: KubeletPolicies
    start: Started
    node: Node
    allocator: Allocator
    pods: list[ResizedPod]
    retryOrder: list[str] | None
    """The pods whose resize is deferred, in the order of retries.

    null if the release has no such order.
    """
    cores: list[Core]
    """The cores of all NUMA nodes used by the pods, before or after."""
    after: NodeAfterwards
    warnings: list[str]


@final
class NotStartedResize(UnstartedHeader, NextPart):
    """A kubelet that would not start, or might not, with this configuration on this machine."""

    apiVersion: ApiVersion
    kind: Literal["Resize"]
    start: NotStarted
    pods: list[ResizedPod]
    """Always empty."""


Resize = Annotated[DecidedResize | NotStartedResize, "The result for running pods with new resources."]
