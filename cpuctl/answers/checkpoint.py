"""The answers of ``cpuctl checkpoint``."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

from cpuctl.answers.decisions import Block, MemoryTable
from cpuctl.answers.start import NotStarted, Start
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
    """The kubelet that is to read the files."""

    version: Release
    cpuManagerPolicy: NotRequired[str]
    memoryManagerPolicy: NotRequired[str]
    podLevelResourceManagers: bool
    """The gate of that name."""
    exclusiveResize: bool
    """The gate InPlacePodVerticalScalingExclusiveCPUs."""


class StateFile(TypedDict):
    file: StateFileName
    source: str
    format: str
    """V1 to V4; empty where it is none."""
    writtenBy: str
    """The releases that write this format."""
    policy: str | None
    checksums: list[Checksum]
    embeddedDiffers: bool
    """The copy for older kubelets does not say what the file says."""
    problem: str
    """What is wrong beside the checksums."""


class Checksum(TypedDict):
    name: str
    written: Count
    right: Count
    ok: bool


class Owner(TypedDict):
    podUID: str
    namespace: str | None
    pod: str | None
    """Null where nobody says who runs, or where the pod is gone."""
    container: str | None
    """Null for a pod as a whole."""
    owner: Literal["running", "podGone", "containerGone", "unknown"]


class MetricsPart(TypedDict, total=False):
    metrics: list[Metric]
    """Only with -o prom."""


# checkpoint dump


class DumpedParts(MetricsPart, total=False):
    cpus: HeldCPUs
    """cpu_manager_state."""
    memory: HeldMemory
    """memory_manager_state."""
    pods: list[RecordedPod]
    """What pods were promised, or have got, for an in-place resize."""
    devices: HeldDevices
    """kubelet_internal_checkpoint: who holds which devices."""
    claims: list[PreparedClaim]
    """dra_manager_state: the resource claims that are prepared."""
    map: HeldMap
    """Only with --map."""


class CheckpointDump(DumpedParts):
    """Who holds which CPUs and memory in the kubelet's state files."""

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
    """The oldest format knows containers by it only."""


class CPUHolder(Owner, NamelessHolder):
    mark: str
    """What stands for the holder in the picture."""
    holding: Literal["container", "pod"]
    cpus: CPUList
    count: Count
    baseline: CPUList | None
    """The CPUs promised at admission (KEP-5554)."""


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
    """The word on a resize that up to 1.31 stands beside the resources."""


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
    """Empty where the plugin names none."""


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
    """Both, where they differ."""
    cpus: list[CPUChange]
    memory: list[MemoryChange]
    tables: list[TableChange]
    """Numbers of the Memory Manager's tables that differ."""
    pods: list[AmountChange]
    """What pods were promised, or have got, for an in-place resize."""
    devices: list[DevicesChange]
    """Whose devices have changed: their names, null where there was no such holder."""
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
    """Null where there was no such holder."""
    after: CPUList | None
    gained: CPUList
    lost: CPUList


class MemoryChange(ChangedHolder):
    before: list[Block] | None
    after: list[Block] | None


class TableChange(TypedDict):
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
    """UIDs of pods and names of devices; null where there is no such claim."""

    pods: list[str]
    devices: list[str]


# checkpoint migrate, repair, new


class LoadedKubelet(TypedDict, total=False):
    kubelet: ReadingKubelet
    """Absent where it cannot even load its configuration."""


class CheckpointChange(LoadedKubelet):
    """What migrating, repairing or making state files comes to, and whether it was written."""

    apiVersion: ApiVersion
    kind: Literal["CheckpointChange"]
    sources: Sources
    outcome: Literal["Changed", "Unchanged", "Refused"]
    files: list[ChangedFile]
    proof: Proof | None
    """Whether the kubelet starts on all of it; null where its node is not known."""
    kubelets: list[RunningKubelet]
    """Kubelets that run and use these files."""
    written: bool


class ChangedFile(Difference):
    file: StateFileName
    source: str | None
    """Null for a new file."""
    outcome: Literal["changed", "unchanged", "refused"]
    reason: str
    """Why it is refused."""
    advice: str
    """What to do instead."""
    formatBefore: str
    formatAfter: str
    actions: list[Action]
    losses: list[Loss]
    target: str | None
    """Where it was written."""
    backup: str | None


class Action(TypedDict):
    did: Literal["dropped", "moved", "pool", "pod", "baseline", "policy", "tables", "checksum", "format"]
    holder: Owner | None
    before: str
    after: str
    reason: str


class Loss(TypedDict):
    kind: Literal["podCPUs", "podMemory", "baseline"]
    holder: Owner
    was: str
    meaning: str


class FoundInFiles(TypedDict):
    summary: FindingCounts
    """How many findings there are of each severity."""
    findings: list[StateFinding]
    """An error is what the kubelet refuses, a warning what it does not notice."""


class Proof(FoundInFiles):
    start: Start
    """Texts of the kubelet that quote a large file are cut."""


class RunningKubelet(TypedDict):
    pid: Count
    name: str
    rootDirectory: str


# checkpoint verify


class CheckpointVerify(FoundInFiles, LoadedKubelet, MetricsPart):
    """Whether a kubelet would start on its state files, and what else is wrong with them."""

    apiVersion: ApiVersion
    kind: Literal["CheckpointVerify"]
    sources: Sources
    start: Start
    """Texts of the kubelet that quote a large file are cut."""
    files: list[VerifiedFile]
    memoryDrift: MemoryDrift | None
    """How the machine's memory differs from what the file says; null where it does not."""


class VerifiedFile(StateFile):
    verdict: FileVerdict


class Taken(TypedDict):
    outcome: Literal["Accepted", "NotReached", "NotRead", "PassedOver"]


FileVerdict = Taken | NotStarted


class MemoryDrift(TypedDict):
    kind: Literal["benign", "real"]
    """Benign: a reboot does that, and nothing else has changed."""
    misfit: bool
    """What pods hold does not fit any more."""
    changes: list[DriftChange]


class DriftChange(TypedDict):
    numaNode: int
    resource: str | None
    field: Literal["total", "systemReserved", "allocatable", "assignments"]
    saved: int | None
    now: int | None
    cause: Literal["reboot", "memory", "numaNodes", "hugePages", "reserved"]


class StateFinding(Graded, Found):
    file: str
    """Empty for what is about no file."""
    podUID: str | None
    container: str | None


# checkpoint versions


class CheckpointVersions(TypedDict):
    """Which kubelet writes which format of a state file, and what every other makes of it."""

    apiVersion: ApiVersion
    kind: Literal["CheckpointVersions"]
    formats: list[Format]
    unconverted: list[UnconvertedFormat]
    """Formats that no kubelet converts."""


class Format(TypedDict):
    file: str
    format: str
    writtenBy: str
    readers: list[FormatReader]


class FormatReader(TypedDict):
    kubelet: str
    outcome: Literal["reads", "readsPartly", "refuses"]
    error: str
    """The kubelet's text."""
    lost: list[str]
    """The members that it passes over."""


class UnconvertedFormat(TypedDict):
    file: str
    format: str
    """cpuctl's name; empty where there is one only."""
    writtenBy: str
    readBy: str
    whenBroken: str
    """What becomes of a kubelet that cannot load it."""
