"""The answers of ``cpuctl checkpoint``."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

from cpuctl.answers.decisions import Block, MemoryTable
from cpuctl.answers.start import NextPart, NotStarted, Start
from cpuctl.answers.topology import HeldMap
from cpuctl.answers.values import (
    ApiVersion,
    Count,
    CPUList,
    FindingCounts,
    Found,
    Graded,
    Items,
    Metric,
    Release,
    Sources,
)

StateFileName = Literal[
    "cpu_manager_state",
    "memory_manager_state",
    "allocated_pods_state",
    "actuated_pods_state",
    "pod_status_manager_state",
    "kubelet_internal_checkpoint",
    "dra_manager_state",
]


class ReadingKubelet(TypedDict):
    """The kubelet that will read the files."""

    version: Release
    cpuManagerPolicy: NotRequired[str]
    memoryManagerPolicy: NotRequired[str]
    podLevelResourceManagers: bool
    """Whether the feature gate PodLevelResourceManagers is enabled."""
    exclusiveResize: bool
    """Whether the feature gate InPlacePodVerticalScalingExclusiveCPUs is enabled."""


class StateFile(TypedDict):
    file: StateFileName
    source: str
    format: str
    """V1 to V4; empty for other files."""
    writtenBy: str
    """The releases that write this format."""
    policy: str | None
    checksums: list[Checksum]
    embeddedDiffers: bool
    """Whether the copy for older kubelets differs from the rest of the file."""
    problem: str
    """What is wrong with the file besides its checksums."""


class Checksum(TypedDict):
    name: str
    written: Count
    expected: Count
    ok: bool


class Owner(TypedDict):
    podUID: str
    namespace: str | None
    pod: str | None
    """Null if the running pods are unknown or the pod is gone."""
    container: str | None
    """Null for a pod as a whole."""
    owner: Literal["running", "podGone", "containerGone", "unknown"]


class MetricsPart(TypedDict, total=False):
    metrics: list[Metric]
    """Only with -o prom."""


# checkpoint dump


class DumpedParts(MetricsPart, total=False):
    cpus: HeldCPUs
    """From cpu_manager_state."""
    memory: HeldMemory
    """From memory_manager_state."""
    pods: list[RecordedPod]
    """Resources of pods as allocated or actuated by an in-place resize."""
    devices: HeldDevices
    """From kubelet_internal_checkpoint: which containers hold which devices."""
    claims: list[PreparedClaim]
    """From dra_manager_state: the resource claims that are prepared."""
    map: HeldMap
    """Only with --map."""


class CheckpointDump(DumpedParts):
    """Which pods and containers hold which CPUs and memory in the kubelet's state files."""

    apiVersion: ApiVersion
    kind: Literal["CheckpointDump"]
    sources: Sources
    files: list[StateFile]


class HeldCPUs(TypedDict):
    sharedPool: CPUList
    sharedCPUs: Count
    exclusive: CPUList
    exclusiveCPUs: Count
    holders: list[CPUHolder]


class NamelessHolder(TypedDict, total=False):
    containerID: str
    """The container ID: the oldest format identifies containers only by ID."""


class CPUHolder(Owner, NamelessHolder):
    mark: str
    """The holder's mark in the picture."""
    holding: Literal["container", "pod"]
    cpus: CPUList
    count: Count
    baseline: CPUList | None
    """The CPUs guaranteed at admission (KEP-5554)."""


class HeldMemory(TypedDict):
    holders: list[MemoryHolder]
    numaNodes: list[MemoryTable]


class MemoryHolder(Owner):
    holding: Literal["container", "pod"]
    blocks: list[Block]


class RecordedPod(Owner):
    file: StateFileName
    resources: list[RecordedAmount]
    resize: str | None
    """The status of a resize, stored with the resources up to 1.31."""


class RecordedAmount(TypedDict):
    container: str | None
    resource: str
    request: str | None
    limit: str | None


class HeldDevices(TypedDict):
    holders: list[DeviceHolder]
    registered: list[RegisteredDevices]


class DeviceHolder(Owner):
    resource: str
    devices: list[str]
    numaNodes: CPUList
    """NUMA nodes of the devices; empty if the plugin reports none."""


class RegisteredDevices(TypedDict):
    resource: str
    devices: Count


class Claim(TypedDict):
    namespace: str
    claim: str
    claimUID: str


class PreparedClaim(Claim):
    pods: list[Owner]
    devices: list[str]


# checkpoint diff


class CheckpointDiff(TypedDict):
    """What differs between the state files of two sides."""

    apiVersion: ApiVersion
    kind: Literal["CheckpointDiff"]
    sources: Sources
    files: list[ComparedFile]


class Changes(TypedDict):
    policies: Annotated[list[str], Items(2, 2)] | None
    """Both policies, if they differ."""
    cpus: list[CPUChange]
    memory: list[MemoryChange]
    tables: list[TableChange]
    """Values that differ in the Memory Manager's tables."""
    pods: list[AmountChange]
    """Resources of pods as allocated or actuated by an in-place resize."""
    devices: list[DevicesChange]
    """Holders whose devices changed, with device names; null if there was no such holder."""
    claims: list[ClaimChange]
    """Resource claims (DRA) whose pods or devices have changed."""


class Difference(Changes):
    equal: bool


class ComparedFile(Difference):
    file: StateFileName
    a: StateFile | None
    b: StateFile | None


class ChangedHolder(Owner):
    holding: Literal["sharedPool", "container", "pod", "baseline"]


class CPUChange(ChangedHolder):
    before: CPUList | None
    """Null if there was no such holder."""
    after: CPUList | None
    added: CPUList
    removed: CPUList


class MemoryChange(ChangedHolder):
    before: list[Block] | None
    after: list[Block] | None


class TableChange(TypedDict):
    """A value in bytes or, without a resource, the number of assignments or the group of a NUMA node."""

    numaNode: int
    resource: str | None
    field: str
    before: int | str | None
    after: int | str | None


class AmountChange(Owner):
    side: Literal["requests", "limits"]
    resource: str
    before: str | None
    after: str | None


class DevicesChange(Owner):
    resource: str
    before: list[str] | None
    after: list[str] | None


class ClaimChange(Claim):
    before: ClaimHolders | None
    after: ClaimHolders | None


class ClaimHolders(TypedDict):
    """UIDs of pods and names of devices; null if there is no such claim."""

    pods: list[str]
    devices: list[str]


# checkpoint migrate, repair, new


class LoadedKubelet(TypedDict, total=False):
    kubelet: ReadingKubelet
    """Absent if the kubelet cannot load its configuration."""


class CheckpointChange(LoadedKubelet, NextPart):
    """The result of migrating, repairing or creating state files, and whether it was written."""

    apiVersion: ApiVersion
    kind: Literal["CheckpointChange"]
    sources: Sources
    outcome: Literal["Changed", "Unchanged", "Rejected"]
    files: list[ChangedFile]
    proof: Proof | None
    """Whether the kubelet starts with these files, rejected ones unchanged; null if the node is unknown."""
    kubelets: list[RunningKubelet]
    """Running kubelets that use these files."""
    written: bool


class ChangedFile(Difference):
    file: StateFileName
    source: str | None
    """Null for a new file."""
    outcome: Literal["changed", "unchanged", "rejected"]
    reason: str
    """Why the file cannot be changed."""
    fix: str
    """What to do instead."""
    formatBefore: str
    formatAfter: str
    actions: list[Action]
    losses: list[Loss]
    target: str | None
    """Where the file was written."""
    backup: str | None


class Action(TypedDict):
    kind: Literal[
        "removed", "moved", "released", "pool", "pod", "baseline", "policy", "tables", "checksum", "format"
    ]
    holder: Owner | None
    before: str
    after: str
    reason: str


class Loss(TypedDict):
    kind: Literal["podCPUs", "podMemory", "baseline"]
    holder: Owner
    before: str
    meaning: str


class FoundInFiles(TypedDict):
    summary: FindingCounts
    """How many findings there are of each severity."""
    findings: list[StateFinding]
    """An error keeps the kubelet from starting; a warning is about a problem that it does not detect."""


class Proof(FoundInFiles):
    start: Start
    """Kubelet messages that quote a large file are shortened."""


class RunningKubelet(TypedDict):
    pid: Count
    name: str
    rootDirectory: str


# checkpoint verify


class CheckpointVerify(FoundInFiles, LoadedKubelet, MetricsPart):
    """Whether the kubelet would start with its state files, and what else is wrong with them."""

    apiVersion: ApiVersion
    kind: Literal["CheckpointVerify"]
    sources: Sources
    start: Start
    """Kubelet messages that quote a large file are shortened."""
    files: list[VerifiedFile]
    memoryDrift: MemoryDrift | None
    """How the machine's memory differs from the file; null if it does not."""


class VerifiedFile(StateFile):
    verdict: FileVerdict


class AcceptedFile(TypedDict):
    outcome: Literal["Accepted", "NotReached", "NotRead", "Skipped"]


FileVerdict = AcceptedFile | NotStarted


class MemoryDrift(TypedDict):
    kind: Literal["benign", "real"]
    """benign: only differences that are normal after a reboot."""
    podsNoLongerFit: bool
    """Whether the memory of pods no longer fits."""
    changes: list[DriftChange]


class DriftChange(TypedDict):
    """A value in bytes, except for assignments, which is a number."""

    numaNode: int
    resource: str | None
    field: Literal["total", "systemReserved", "allocatable", "assignments"]
    saved: int | None
    now: int | None
    cause: Literal["reboot", "memory", "numaNodes", "hugePages", "reserved"]


class StateFinding(Graded, Found):
    file: str
    """Empty if the finding is not about a file."""
    podUID: str | None
    container: str | None


# checkpoint versions


class CheckpointVersions(TypedDict):
    """Which kubelet writes which format of a state file, and how other kubelets read it."""

    apiVersion: ApiVersion
    kind: Literal["CheckpointVersions"]
    formats: list[Format]
    unconverted: list[UnconvertedFormat]
    """The kubelet's own error message."""


class Format(TypedDict):
    file: str
    format: str
    writtenBy: str
    readers: list[FormatReader]


class FormatReader(TypedDict):
    kubelet: str
    outcome: Literal["reads", "readsPartly", "rejects"]
    error: str
    """The kubelet's own error message."""
    lost: list[str]
    """The members that the kubelet ignores."""


class UnconvertedFormat(TypedDict):
    file: str
    format: str
    """cpuctl's name for it; empty if there is only one."""
    writtenBy: str
    readBy: str
    onLoadError: str
    """What a kubelet does if it cannot load the file."""
