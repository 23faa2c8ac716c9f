"""The kubelet's decision about a pod, and what its containers get."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict, final

from cpuctl.answers.downward import DownwardItem
from cpuctl.answers.dra import ClaimsPart
from cpuctl.answers.start import Fault, StaticPolicy
from cpuctl.answers.topology import TopologyCounts
from cpuctl.answers.values import (
    ContainerKind,
    Count,
    CPUList,
    Isolation,
    NodeGroup,
    Pattern,
    QOSClass,
    Requires,
    Together,
)

Outcome = Literal["Admitted", "Rejected", "Forbidden", "Pending", "KubeletFault", "Undetermined"]
RejectedOutcome = Literal["Rejected", "Forbidden", "Pending", "KubeletFault", "Undetermined"]
_SAYS_WHY = Requires(
    (
        ("Rejected", ("reason", "message")),
        ("Forbidden", ("message", "rejections")),
        ("Pending", ("message",)),
        ("KubeletFault", ("fault", "where", "why")),
        ("Undetermined", ("why",)),
    )
)


class Reasons(TypedDict, total=False):
    """Why a pod is rejected; which members exist depends on the outcome."""

    reason: str
    """The reason in the pod's status."""
    message: str
    """The kubelet's message; for the outcome Pending, why the scheduler cannot satisfy a claim or the
    driver keeps the pod from starting."""
    rejections: list[str]
    """For the outcome Forbidden: the API server's messages, in its order."""
    container: str
    """The container that was rejected."""
    details: dict[str, int]
    fault: Fault
    where: str
    why: str


class Faulty(TypedDict):
    fault: Fault
    where: str
    why: str


class Verdict(Reasons):
    """The decision about a pod."""

    outcome: Annotated[Outcome, _SAYS_WHY]


class Rejection(Reasons):
    """Why a pod is not admitted."""

    outcome: Annotated[RejectedOutcome, _SAYS_WHY]


class ScopePart(TypedDict, total=False):
    topologyManagerScope: Literal["container", "pod"]


class AllocatablePart(TypedDict, total=False):
    allocatable: dict[str, int]
    """What is available to pods: CPU in millicores, the rest in bytes or units."""


class Node(TopologyCounts, ScopePart, AllocatablePart, StaticPolicy):
    """The machine as the kubelet sees it."""

    cpuManagerPolicy: Annotated[Literal["none", "static"], Requires((("static", ("reservedCPUs",)),))]


class Step(TypedDict):
    rule: str
    cpus: CPUList


class OfferedHints(TypedDict):
    status: Literal["hints", "no preference", "impossible"]
    preferred: list[CPUList] | None
    """The preferred sets of NUMA nodes; null if none are reported."""


class Offer(OfferedHints):
    provider: Literal["devices", "cpu", "memory"]
    resource: str


@final
class MergedHint(TypedDict):
    container: str | None
    numaNodes: CPUList | None
    preferred: bool
    admitted: bool
    offers: list[Offer]
    """The hints of each provider by resource; providers without any preference are omitted."""


@final
class FaultyRound(Faulty):
    container: str | None
    outcome: Literal["KubeletFault"]


@final
class UndeterminedRound(TypedDict):
    container: str | None
    outcome: Literal["Undetermined"]
    why: str


HintRound = MergedHint | FaultyRound | UndeterminedRound


class ScoredCPUs(TypedDict):
    cpus: CPUList
    score: float


class Scoring(TypedDict):
    """How a what-if policy rated the CPUs it could take."""

    remainder: bool
    """Whether these CPUs replace CPUs that are missing on the target NUMA nodes."""
    removed: CPUList
    """The CPUs that the policy's filter removed."""
    scores: list[ScoredCPUs]
    """The other CPUs by score, best first."""
    sets: list[ScoredCPUs]
    """The sets that it considered, best first, the chosen one first among equals; at most 100."""
    setCount: Count


class PolicyChoice(TypedDict, total=False):
    scoring: list[Scoring]
    """If a what-if policy decides: how it chose these CPUs."""


class Alignment(TypedDict):
    """core: whether all cores are used completely; others: whether all CPUs are in a single one."""

    core: bool
    uncoreCache: bool | None
    """Null if caches are not recorded."""
    numaNode: bool
    socket: bool


class Aligned(TypedDict):
    """The CPUs in each core, cache, NUMA node and socket, by its ID."""

    cores: dict[str, CPUList]
    uncoreCaches: dict[str, CPUList] | None
    """Null if caches are not recorded."""
    numaNodes: dict[Annotated[str, Pattern("^-?[0-9]+$")], CPUList]
    sockets: dict[str, CPUList]


class Block(TypedDict):
    resource: str
    bytes: Count
    numaNodes: NodeGroup


class ContainerMemory(TypedDict):
    cpusetMems: str
    """What the kubelet writes to cpuset.mems; empty if unchanged."""
    blocks: list[Block]
    whyNone: NotRequired[str]


class Device(TypedDict):
    resource: str
    count: Count
    numaNodes: dict[Annotated[str, Pattern("^none$|^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$")], Count]
    """Number of devices by NUMA nodes; "none" if the plugin reports none."""
    reused: Count
    """How many of them an init container used before."""
    numaNodesUncertain: bool
    """Whether the device plugin, or chance, may choose devices on other NUMA nodes."""


class MemoryPart(TypedDict, total=False):
    memory: ContainerMemory
    """The memory that the Memory Manager's static policy reserves for the container."""


class DevicesPart(TypedDict, total=False):
    devices: list[Device]
    """The container's devices from device plugins."""
    devicesAligned: Annotated[bool, Together(("devices",))]
    """Whether all devices, and the exclusive CPUs if any, are on one NUMA node."""


class _Named(TypedDict):
    name: str
    kind: ContainerKind


class _Placed(_Named, MemoryPart, DevicesPart):
    isolation: Isolation
    """What its CPUs are shared with: nothing (container), its own pod (pod, KEP-5526), or the node (host)."""
    cpus: CPUList
    """Exclusive CPUs, or the shared pool it runs in."""


@final
class ExclusiveContainer(_Placed, PolicyChoice):
    exclusive: Literal[True]
    count: Count
    alignment: Alignment
    aligned: Aligned
    steps: list[Step]
    """Which rule of the CPU allocation took which CPUs."""


@final
class SharedContainer(_Placed):
    exclusive: Literal[False]
    whyShared: str


@final
class UnplacedContainer(_Named):
    """A container of a pod that is not admitted: the kubelet releases what it assigned."""

    exclusive: None
    """Null because it has neither exclusive nor shared CPUs."""


PlacedContainer = ExclusiveContainer | SharedContainer
Container = PlacedContainer | UnplacedContainer


class PodCPUs(TypedDict, total=False):
    podCPUs: CPUList
    """The CPUs that an admitted pod holds as a whole (KEP-5526)."""


class DownwardPart(TypedDict, total=False):
    downwardAPI: list[DownwardItem]
    """What an admitted pod reads about its resources through the downward API."""


class Evictions(TypedDict, total=False):
    evicted: list[str]
    """The pods that a what-if policy evicts for this one."""


class Pod(Verdict, PodCPUs, ClaimsPart, DownwardPart, Evictions):
    """A pod, the decision about it, and what its containers get."""

    namespace: str
    name: str
    uid: str
    origin: NotRequired[str]
    """Where the pod was read from."""
    qosClass: QOSClass
    qosReason: str
    containers: list[Container]
    """The containers that the kubelet processed, with their resources if the pod is admitted."""
    hints: list[HintRound]
    """How the Topology Manager merged the hints, for each container or (null) for the pod."""


class TableEntry(TypedDict):
    """One kind of memory of a NUMA node, in bytes."""

    resource: str
    total: Count
    systemReserved: Count
    allocatable: Count
    reserved: Count
    free: Count


class MemoryTable(TypedDict):
    numaNode: int
    group: NodeGroup
    """The group of NUMA nodes that this one belongs to; "-1" if the kernel does not report the package that
    the kubelet uses as a node."""
    assignments: int
    resources: list[TableEntry]


class DevicesLeft(TypedDict):
    resource: str
    numaNodes: str
    total: Count
    healthy: Count
    free: Count


class TablesPart(TypedDict, total=False):
    memory: list[MemoryTable]
    """The Memory Manager's tables with the static policy: bytes by NUMA node and resource."""


class DevicesLeftPart(TypedDict, total=False):
    devices: list[DevicesLeft]
    """Devices of device plugins by NUMA node ("none" if the plugin reports none)."""


class NumaNode(TypedDict):
    id: int
    cpus: CPUList
    sharedCPUs: CPUList
    freeCPUs: CPUList
    free: Count


class CPUsLeft(TypedDict):
    sharedPool: CPUList
    sharedPoolSize: Count
    freeCPUs: CPUList
    """CPUs still free for exclusive use."""
    free: Count
    numaNodes: list[NumaNode]
