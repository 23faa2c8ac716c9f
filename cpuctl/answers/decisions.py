"""What a kubelet decides about a pod, and what its containers get."""

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
RefusedOutcome = Literal["Rejected", "Forbidden", "Pending", "KubeletFault", "Undetermined"]
_SAYS_WHY = Requires(
    (
        ("Rejected", ("reason", "message")),
        ("Forbidden", ("message", "refusals")),
        ("Pending", ("message",)),
        ("KubeletFault", ("fault", "where", "why")),
        ("Undetermined", ("why",)),
    )
)


class Reasons(TypedDict, total=False):
    """Why a pod is rejected; which of them are there depends on the outcome."""

    reason: str
    """The reason in the pod's status."""
    message: str
    """The kubelet's message; where the outcome is Pending, why the scheduler cannot satisfy a claim, or the
    driver keeps the pod from starting."""
    refusals: list[str]
    """Where the outcome is Forbidden: what the API server says, in its order."""
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
    """What becomes of a pod."""

    outcome: Annotated[Outcome, _SAYS_WHY]


class Refusal(Reasons):
    """Why a pod is not admitted."""

    outcome: Annotated[RefusedOutcome, _SAYS_WHY]


class ScopePart(TypedDict, total=False):
    topologyManagerScope: Literal["container", "pod"]


class AllocatablePart(TypedDict, total=False):
    allocatable: dict[str, int]
    """What pods must fit into: CPU in milli, the rest in bytes or pieces."""


class Node(TopologyCounts, ScopePart, AllocatablePart, StaticPolicy):
    """The machine as the kubelet counts it."""

    cpuManagerPolicy: Annotated[Literal["none", "static"], Requires((("static", ("reservedCPUs",)),))]


class Step(TypedDict):
    rule: str
    cpus: CPUList


class OfferedHints(TypedDict):
    standing: Literal["hints", "no preference", "impossible"]
    preferred: list[CPUList] | None
    """The sets of NUMA nodes that are preferred; null where none are told."""


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
    """The hints of each provider by resource; who has no preference at all is left out."""


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


class Weighing(TypedDict):
    """What a policy that no kubelet has made of the CPUs it could take."""

    aside: bool
    """Whether this is what was missing on the NUMA nodes that were aimed at."""
    removed: CPUList
    """The CPUs that its filter took away."""
    scores: list[ScoredCPUs]
    """The other CPUs by their score, the best first."""
    sets: list[ScoredCPUs]
    """The sets that it looked at, the best first, and of equal ones the one that was taken; 100 at most."""
    setsInAll: Count


class PolicyChoice(TypedDict, total=False):
    weighings: list[Weighing]
    """Where a policy decides in the kubelet's place: how it came to these CPUs."""


class Alignment(TypedDict):
    """core: every core is used whole; the others: all CPUs lie in one of them."""

    core: bool
    uncoreCache: bool | None
    """Null where nothing is recorded of caches."""
    numaNode: bool
    socket: bool


class Aligned(TypedDict):
    """The evidence: CPUs by id of the element."""

    cores: dict[str, CPUList]
    uncoreCaches: dict[str, CPUList] | None
    """Null where nothing is recorded of caches."""
    numaNodes: dict[Annotated[str, Pattern("^-?[0-9]+$")], CPUList]
    sockets: dict[str, CPUList]


class Block(TypedDict):
    resource: str
    bytes: Count
    numaNodes: NodeGroup


class ContainerMemory(TypedDict):
    cpusetMems: str
    """What the kubelet makes cpuset.mems; empty leaves it as it is."""
    blocks: list[Block]
    whyNone: NotRequired[str]


class Device(TypedDict):
    resource: str
    count: Count
    numaNodes: dict[Annotated[str, Pattern("^none$|^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$")], Count]
    """Devices by the NUMA nodes next to them; none where the plugin names none."""
    reused: Count
    """How many of them an init container had before."""
    byChance: bool
    """The device plugin, or chance, may choose devices at other NUMA nodes."""


class MemoryPart(TypedDict, total=False):
    memory: ContainerMemory
    """What the Memory Manager sets aside for it, with the static policy."""


class DevicesPart(TypedDict, total=False):
    devices: list[Device]
    """What device plugins give it."""
    devicesAligned: Annotated[bool, Together(("devices",))]
    """One NUMA node is next to all devices, and has the exclusive CPUs if there are any."""


class _Named(TypedDict):
    name: str
    kind: ContainerKind


class _Placed(_Named, MemoryPart, DevicesPart):
    isolation: Isolation
    """Whom it shares its CPUs with: nobody, its own pod (KEP-5526), or the node."""
    cpus: CPUList
    """Exclusive CPUs, or the shared pool it runs in."""


@final
class ExclusiveContainer(_Placed, PolicyChoice):
    exclusive: Literal[True]
    count: Count
    alignment: Alignment
    aligned: Aligned
    steps: list[Step]
    """Which rule of the picker took which CPUs."""


@final
class SharedContainer(_Placed):
    exclusive: Literal[False]
    whyShared: str


@final
class UnplacedContainer(_Named):
    """A container of a pod that is not admitted: what the kubelet set aside for it, it takes back."""

    exclusive: None
    """Null: it has neither CPUs of its own nor a share."""


PlacedContainer = ExclusiveContainer | SharedContainer
Container = PlacedContainer | UnplacedContainer


class PodCPUs(TypedDict, total=False):
    podCPUs: CPUList
    """The CPUs that an admitted pod holds as a whole (KEP-5526)."""


class DownwardPart(TypedDict, total=False):
    downwardAPI: list[DownwardItem]
    """What references of an admitted pod to resources read, in variables and files."""


class Evictions(TypedDict, total=False):
    evicted: list[str]
    """The pods that a policy in the kubelet's place evicts for this one."""


class Pod(Verdict, PodCPUs, ClaimsPart, DownwardPart, Evictions):
    """A pod, what becomes of it, and what its containers get."""

    namespace: str
    name: str
    uid: str
    origin: NotRequired[str]
    """Where the pod was read."""
    qosClass: QOSClass
    qosReason: str
    containers: list[Container]
    """Those that the kubelet came to, with what they get where the pod is admitted."""
    hints: list[HintRound]
    """What the Topology Manager made of the hints, for each container or (null) for the pod."""


class TableEntry(TypedDict):
    resource: str
    total: Count
    systemReserved: Count
    allocatable: Count
    reserved: Count
    free: Count


class MemoryTable(TypedDict):
    numaNode: int
    group: NodeGroup
    """The NUMA nodes that it is shared with, itself included; "-1" where the kernel does not know the package
    that a kubelet takes for a node."""
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
    """The devices of device plugins by the NUMA nodes next to them (none: the plugin names none)."""


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
    """CPUs that can still become exclusive."""
    free: Count
    numaNodes: list[NumaNode]
