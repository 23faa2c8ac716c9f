"""The answers about a kubelet's configuration."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict, final

from cpuctl.answers.start import KubeletFault, NextPart, SettingPlace, SettingToFix, Start, StartRejected
from cpuctl.answers.topology import TopologyCounts
from cpuctl.answers.values import (
    Amount,
    ApiVersion,
    Bounds,
    Count,
    CPUList,
    FindingCounts,
    Found,
    Graded,
    Minor,
    Pattern,
    Release,
    Sources,
)

GateStageName = Literal["alpha", "beta", "GA", "deprecated"]


class KubeletRelease(TypedDict):
    version: Release


class Header(TypedDict):
    sources: Sources
    kubelet: KubeletRelease


class Pools(TypedDict):
    reservedCPUs: CPUList
    allocatableCPUs: CPUList
    sharedCPUs: CPUList
    """CPUs on which containers without exclusive CPUs run."""


class ConfigFinding(Graded, SettingPlace, Found):
    pass


# config check


class KnownRelease(TypedDict, total=False):
    kubelet: KubeletRelease
    """Absent if it is unknown and the configuration cannot be read."""


class CheckParts(TypedDict, total=False):
    node: PooledNode | UnpooledNode
    """The node as the kubelet sees it; only if the kubelet would start."""
    next: str
    """The command that checks the kubelet with its flags if these are unknown and no finding has it as its
    fix; FLAGS stands for them."""


class ConfigCheck(KnownRelease, CheckParts):
    """Whether the kubelet would start with a configuration on a machine, and what else is wrong with it."""

    apiVersion: ApiVersion
    kind: Literal["ConfigCheck"]
    sources: Sources
    start: Start
    summary: FindingCounts
    """How many findings there are of each severity."""
    findings: list[ConfigFinding]
    notChecked: list[NotChecked]
    """Startup checks that the kubelet makes on its host and that were not made here."""


class NotChecked(TypedDict):
    settings: list[str]
    what: str


class CountedNode(TopologyCounts):
    topologyManagerPolicy: str
    """none, best-effort, restricted or single-numa-node."""
    reservation: dict[str, str]
    """Resources that are not available to pods, by resource name."""


class PooledNode(CountedNode, Pools):
    cpuManagerPolicy: Literal["static"]


class UnpooledNode(CountedNode):
    cpuManagerPolicy: Literal["none"]


# config show


class ShownPools(TypedDict, total=False):
    node: Pools
    """The CPU pools, if the kubelet starts with a static policy."""
    next: str
    """The command that shows what to change if the kubelet would not start."""


@final
class ConfigInForce(Header, ShownPools):
    """A kubelet's effective configuration, with the origin of every value."""

    apiVersion: ApiVersion
    kind: Literal["ConfigShow"]
    dropIns: list[str]
    """Drop-in files, in the order in which they are merged."""
    settings: list[Setting]
    """One entry for each scalar, list or empty mapping."""
    featureGates: list[FeatureGate]
    """Gates of this release that resource managers depend on."""
    reservation: Reservation | RejectedReservation
    start: Start
    """Whether a kubelet with these settings would start on this machine without state files."""
    warnings: list[ConfigWarning]


@final
class UnloadedConfig(Header):
    """A configuration that the kubelet cannot load."""

    apiVersion: ApiVersion
    kind: Literal["ConfigShow"]
    start: StartRejected | KubeletFault


ConfigShow = Annotated[
    ConfigInForce | UnloadedConfig,
    "A kubelet's effective configuration, with the origin of every value, or why the kubelet cannot load it.",
]


_FROM = TypedDict("_FROM", {"from": Literal["default", "file", "drop-in", "flag"]})


class Setting(_FROM):
    setting: str
    """Path of the field, such as kubeReserved.cpu."""
    field: str
    value: Any
    where: str | None
    """File and line, or the flag; null if it is not set."""
    resourceManagers: bool
    """Whether a resource manager depends on the field."""


class GateStage(TypedDict):
    stage: GateStageName
    default: bool
    locked: bool
    verified: bool
    """Whether the stage in this release is verified with the kubelet itself."""


class FeatureGate(GateStage):
    gate: str
    enabled: bool


@final
class RejectedReservation(TypedDict):
    error: str
    """The kubelet's own error message."""


@final
class Reservation(TypedDict):
    resources: list[ReservedResource]
    podsMemoryLimit: Amount | None
    """The memory limit of all pods, if the node's memory is known; hard eviction is not
    subtracted.
    """
    reservedMemory: list[ReservedMemory]
    memoryBalance: list[MemoryBalance]
    """The Memory Manager's static policy requires the two quantities to be equal."""


class ReservedResource(TypedDict):
    resource: str
    capacity: Amount | None
    """Null if unknown."""
    kubeReserved: Amount
    systemReserved: Amount
    evictionHard: Amount | None
    """Null if it is a percentage of an unknown capacity."""
    reserved: Amount | None
    allocatable: Amount | None
    """The node's status.allocatable."""


class ReservedMemory(TypedDict):
    numaNode: int
    limits: dict[str, Amount]


class MemoryBalance(TypedDict):
    type: str
    reservedMemory: Amount
    totalReserved: Amount
    equal: bool


class ConfigWarning(TypedDict):
    code: str
    """A stable identifier."""
    setting: str | None
    where: str | None
    """File and line, or the directory."""
    message: str


# config reserve


class _Reserving(Header):
    apiVersion: ApiVersion
    kind: Literal["ConfigReserve"]


@final
class Proposed(_Reserving):
    proposal: Proposal


@final
class Unproposed(_Reserving):
    rejection: Rejection


ConfigReserve = Annotated[
    Proposed | Unproposed, "Reserved CPUs and memory with which a kubelet starts, or why there are none."
]


class Proposal(TypedDict):
    cpus: ChosenCPUs | None
    """Null if none were requested."""
    memory: ChosenMemory | None
    """Null if only CPUs were requested."""
    settings: ProposedSettings
    """The settings to write, as fields of a KubeletConfiguration."""
    snippet: str
    """A KubeletConfiguration with these settings, as YAML."""
    flags: list[str]
    """The same settings as kubelet flags, not quoted for a shell."""
    replaces: list[SettingToFix]
    """Where these settings are set now."""
    findings: list[ConfigFinding]
    next: NotRequired[str]
    """The command that checks the node's state files with these settings, if it has any."""


class ChosenCPUs(TypedDict):
    cpuManagerPolicy: Literal["none", "static"]
    """With none, only the number of CPUs matters."""
    cpus: str
    count: Annotated[int, Bounds(1)]
    inSplitCores: str
    """Reserved CPUs whose core is shared with CPUs for pods."""
    inSplitCaches: str
    """Reserved CPUs whose L3 cache is shared with CPUs for pods."""
    performanceCPUs: str
    """CPUs of performance cores that are reserved despite --keep-p-cores."""


class ChosenMemory(TypedDict):
    currentPolicy: str
    """The memoryManagerPolicy without the proposed settings, which set Static."""
    totalReserved: Amount
    kubeReserved: Amount
    systemReserved: Amount
    evictionHard: Amount
    numaNodes: list[NodeMemory]
    """hugePages and allocatable are null if huge pages are not recorded."""


class NodeMemory(TypedDict):
    """The memory of a NUMA node in bytes."""

    numaNode: int
    total: Count
    hugePages: Count | None
    reserved: Count
    allocatable: Count | None


class ProposedSettings(TypedDict, total=False):
    memoryManagerPolicy: Literal["Static"]
    reservedSystemCPUs: Annotated[str, Pattern("^[0-9,-]+$")]
    reservedMemory: list[MemoryReservation]


class MemoryReservation(TypedDict):
    numaNode: int
    limits: dict[str, str]


class _Stumbling(TypedDict, total=False):
    start: Start
    """Other errors that keep the kubelet from starting."""


class Rejection(_Stumbling, NextPart):
    why: str


# config versions


_Between = TypedDict("_Between", {"from": Release, "to": Release})
Starts = TypedDict("Starts", {"from": Start, "to": Start})


class ChangedPods(TypedDict, total=False):
    pods: list[PodChange]
    """Pods with a different or unknown result, running ones first.

    Only if pods are given.
    """
    rejectedByBoth: list[PodChange]
    """Other pods, which neither kubelet admits, for the same reason; amounts in its messages may differ."""
    podsDiff: str
    """The command that compares what is not compared here: QoS classes, cgroups and OOM scores."""


class VersionsHeader(Header, _Between):
    pass


class Changes(TypedDict):
    behaviours: list[BehaviourChange]
    featureGates: list[GateChange]
    options: list[OptionChange]
    fields: list[FieldChange]
    """Fields that one of the two releases does not know."""
    flags: list[FlagChange]
    """Flags that one of the two releases does not know; a kubelet that gets one exits immediately."""
    rules: list[RuleChange]
    """Validation and startup rules that only one of the two releases has."""


class StartsPart(NextPart):
    start: Starts
    """Whether the kubelet would start, for each of the two versions."""


class BothStarts(VersionsHeader, StartsPart):
    apiVersion: ApiVersion
    kind: Literal["ConfigVersions"]
    notChecked: list[str]
    """Other conditions for a start that were not checked here, with the command that checks them."""


@final
class UncomparedVersions(BothStarts, ChangedPods):
    """A configuration that the old kubelet cannot load: the changes are unknown."""


@final
class ComparedVersions(BothStarts, Changes, ChangedPods):
    """What changes for a configuration between two kubelet versions."""

    omitted: Count
    """Changes that do not affect this configuration; see --all."""


ConfigVersions = Annotated[
    ComparedVersions | UncomparedVersions,
    "What changes for a configuration between two kubelet versions.",
]


class ShownBy(TypedDict, total=False):
    shownByPods: bool
    """Whether it affects the given pods: their result changes with this difference alone."""
    shownByState: bool
    """Whether it affects the state files: with this difference alone, the kubelet's start on them changes."""
    shownByConfiguration: bool
    """Whether it affects the kubelet's start without state files: with this difference alone, it changes."""


class _Change(TypedDict):
    relevant: bool
    """Whether it affects this configuration."""


class BehaviourChange(_Change, ShownBy):
    name: str
    area: str
    since: Minor
    backports: list[Annotated[str, Pattern(r"^1\.[0-9]+\.[0-9]+$")]]
    """The first patch releases of older minor versions that also have it."""
    before: str
    after: str
    source: str
    """A pull request of kubernetes/kubernetes, a KEP or a source file."""
    status: Literal["verified", "documented", "preview"]
    recordedOn: list[Minor]
    """Releases whose recorded answers show it; empty if known only from documents or sources."""
    gate: str | None
    """The gate whose default changes."""


class GateChange(_Change, ShownBy):
    gate: str
    before: GateStage | None
    """Null if the gate does not exist."""
    after: GateStage | None
    """Null if the gate does not exist."""
    enabledBefore: bool
    enabledAfter: bool
    setTo: bool | None
    problem: str | None
    """The error of the other release about this gate's setting."""


class OptionChange(_Change):
    field: str
    option: str
    before: str | None
    """The stage; null if the release does not know the option."""
    after: str | None


class FieldChange(_Change):
    field: str
    since: Minor


class _Known(TypedDict):
    since: Minor
    """The release that added or removed it."""
    known: bool
    """True if it was added, false if it was removed."""


class FlagChange(_Known):
    flag: str
    relevant: bool
    """Whether this kubelet has this flag."""


class RuleChange(_Known):
    setting: str
    stage: str
    """The stage of the kubelet's startup that fails."""
    message: str
    """The kubelet's message, with ... in place of values."""
    relevant: bool
    """Whether the setting is set."""


class PodChange(TypedDict):
    pod: str
    before: str
    after: str
