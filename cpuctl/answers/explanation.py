"""The answer of ``cpuctl explain``."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict, final

from cpuctl.answers.decisions import Block, DevicesLeft, HintRound, MemoryTable, Node, PlacedContainer, Pod
from cpuctl.answers.dra import ClaimDevicesPart
from cpuctl.answers.plan import PlanWarning
from cpuctl.answers.resize import ResizeDecision
from cpuctl.answers.start import NextPart, NotStarted, PlanningHeader, Started, UnstartedHeader
from cpuctl.answers.values import ApiVersion, Bounds, Count, CPUList, Release, Requires


class Query(TypedDict):
    container: str | None
    """The container in question; null for the pod."""
    restarted: bool
    """Whether the pod is already running and is admitted again, as after a kubelet restart."""
    podsBefore: Count
    """Number of pods that the kubelet decided on before this one."""


class HugePages(TypedDict):
    numaNode: int
    pageKiB: int
    before: int
    after: int
    command: str
    """The command that reserves the huge pages; the kubelet detects them after a restart."""
    removesMemoryState: bool
    """Whether memory_manager_state must be removed before the kubelet restarts, because it lists other pages.
    """
    repairCommand: NotRequired[str]
    """The command that adds the pages to memory_manager_state, between stopping and starting the kubelet.

    Running pods keep what they have. Missing if the file must be removed, or does not exist.
    """
    lost: list[str]
    """Other pods that would no longer be admitted."""
    stillRejected: NotRequired[list[str]]
    """Pods of the same workload or template that are still not admitted."""


class TriedHugePages(TypedDict):
    """Huge pages of a NUMA node with which the pod is not admitted."""

    numaNode: int
    pageKiB: int
    before: int
    after: int
    """The largest number tried; never more than the NUMA node has memory for."""
    allUpTo: int
    """The number up to which every one was tried; above it, only some were."""


class PendingResize(ResizeDecision):
    """The decision about the pending resize of a running pod."""

    command: str
    """The command line that shows its CPUs, conditions and cgroups."""


class Decision(TypedDict):
    rule: Literal[
        "admitted",
        "notEnoughFree",
        "widthFromCapacity",
        "reusedCPUs",
        "largerThanOneNode",
        "noSingleNode",
        "maskInequality",
        "otherAssignment",
        "groupRule",
        "hugePagesAlone",
        "quantityForm",
        "noOwnResources",
        "nothingAllocated",
        "unhealthyDevices",
        "wholeCores",
        "freeCores",
        "emptyPool",
        "overBudget",
        "nodeFit",
        "resourceClaims",
        "policyInPlace",
        "kubeletFault",
        "apiServer",
        "failedBefore",
        "missingInput",
        "unknown",
    ]
    """The rule that determined the decision."""
    container: str | None
    """Null for the pod as a whole."""
    provider: str | None
    """The resource manager that made the decision, if any."""
    why: str


class Replacement(TypedDict):
    """What happens to a rejected pod."""

    loops: bool
    """Whether pods are created, bound here and rejected in a loop."""
    text: str
    admitted: bool | None
    """Whether the node admits the replacement; null if that is unknown."""


class Hint(TypedDict):
    """A topology hint."""

    numaNodes: CPUList | None
    """Null if there is no constraint."""
    preferred: bool


class Merged(Hint):
    """The hint that all providers agree on, and whether the policy accepts it."""

    admitted: bool


class Reusable(TypedDict):
    """CPUs of the pod's other containers that may be reused, and the nodes in their hints."""

    count: Count
    numaNodes: CPUList


class RulePart(TypedDict, total=False):
    width: Count
    """The smallest number of NUMA nodes with enough capacity: hints of this width are preferred."""
    narrowest: Count
    """Number of NUMA nodes in the narrowest hint; 0 if there is none."""


class RequestPart(TypedDict, total=False):
    request: int
    """Number of requested CPUs, bytes or devices."""


class CPUsPart(TypedDict, total=False):
    free: dict[str, Count]
    """Number of CPUs by NUMA node from which the hints were computed."""
    reusable: Reusable


_OF_MANY = Requires(((None, ("width", "narrowest")),))


class ProviderOffer(RulePart, RequestPart, CPUsPart):
    """The hints of a provider for a resource."""

    provider: str
    resource: str
    status: Literal["no preference", "no hints", "impossible", "unusable", "usable"]
    """What the topology policy can do with the hints; no hints are treated as no preference."""
    hints: Annotated[list[Hint] | None, _OF_MANY]
    """Null if there are too many to list."""
    usable: Annotated[list[CPUList] | None, _OF_MANY]
    """The preferred sets of NUMA nodes, under single-numa-node only those of one node; null if there are too
    many to list."""


class Round(TypedDict):
    container: str | None
    """Null for the pod as a whole."""
    offers: list[ProviderOffer]
    merged: Merged | None
    """Null if the kubelet fails here."""


class ShareCounts(TypedDict):
    cpus: Count
    reserved: Count
    own: Count
    held: Count
    free: Count


class CPUShare(TypedDict):
    id: int
    cpus: CPUList
    reserved: CPUList
    own: CPUList
    """CPUs held by the pod in question."""
    held: CPUList
    """CPUs held by other pods."""
    free: CPUList
    """CPUs that can become exclusive."""
    counts: ShareCounts


class HeldDevices(TypedDict):
    resource: str
    numaNodes: str
    """The NUMA nodes near the devices ("none" if the plugin reports none)."""
    count: Count


class Holder(TypedDict):
    pod: str
    uid: str
    cpus: CPUList
    count: Count
    memory: list[Block]
    devices: list[HeldDevices]
    running: bool
    """Whether the kubelet considers the pod active. False if the pod has ended, was rejected, or was not yet
    admitted again since the restart. Resources of the first two are released with the next pod.
    """
    waiting: bool
    """Whether the pod was not yet admitted again since the restart."""


class Defect(TypedDict):
    text: str
    reference: str


class MixedCores(TypedDict):
    pod: str
    container: str
    performanceCPUs: str
    efficiencyCPUs: str
    message: str


class Amount(TypedDict):
    container: str | None
    """Null for the pod itself (spec.resources)."""
    resource: str
    before: str
    after: str


class FieldChange(TypedDict):
    field: str
    before: str | None
    """Null if it is not set."""
    after: str


class RequestChange(TypedDict):
    """Different requests, and limits if they were equal to the requests."""

    amounts: list[Amount]
    allPodsOf: NotRequired[str]
    """The workload whose template is changed, so that all of its pods here request less or more."""
    fields: NotRequired[list[FieldChange]]
    """What to change in the KubeVirt virtual machine from which these requests are derived."""


class SettingChange(TypedDict):
    """Another value in the KubeletConfiguration, set from the beginning."""

    setting: str
    option: str | None
    """The key, in a map of options."""
    before: str
    after: str


class Removal(TypedDict):
    """Pods to remove first."""

    remove: list[str]


class Earlier(TypedDict):
    """Pods to admit after this pod instead of before it."""

    before: list[str]


Change = RequestChange | SettingChange | Removal | Earlier
ChangeKind = Literal["request", "setting", "removal", "order"]


class Suggestion(TypedDict):
    kind: ChangeKind
    change: Change
    text: str
    command: str | None
    """The command that tries or makes the change; null if no single command does."""
    containers: list[PlacedContainer]
    """What the containers would get."""
    hints: list[HintRound]
    """The merged hints after the change."""
    lost: list[str]
    """Other pods that would no longer be admitted."""
    stillRejected: NotRequired[list[str]]
    """Pods of the same workload or template that are still not admitted."""


class Search(TypedDict):
    kind: ChangeKind
    found: Count
    runs: Count
    """Number of admissions that were simulated."""
    bound: Count
    """The maximum number of runs."""
    complete: bool
    """Whether everything was tried within this maximum."""
    excluded: str
    """Choices that were excluded from the search."""
    resources: list[str]
    """The resources of which other requests were tried."""
    alone: list[str]
    """Those of which the request alone was changed."""
    inProportion: list[str]
    """Those of which less was requested together, in proportion."""
    sharesCPUs: bool
    """Whether a change would help, but with CPUs that are reserved or another pod's."""
    more: bool
    """Whether other changes of this kind may help as well: only the best of the first ones are listed."""
    notStarted: list[str]
    """Settings with which the kubelet would not start on its state files."""


class SharedPoolPart(TypedDict, total=False):
    sharedPool: CPUList
    """CPUs on which containers without exclusive CPUs run after the decision, under a static policy."""


class HugePagesPart(TypedDict, total=False):
    hugePages: list[HugePages]
    """The fewest additional huge pages per NUMA node with which the pod would be admitted (tried)."""
    triedHugePages: list[TriedHugePages]
    """NUMA nodes on which more huge pages are not enough."""


class MissingPart(TypedDict, total=False):
    alsoMissing: list[str]
    """Huge pages that no NUMA node has free, although the pod was rejected for another reason."""


class ReportedRejection(TypedDict):
    """What the kubelet itself reported when it rejected the pod."""

    reason: str
    """Empty if it is not known in addition to the message."""
    message: str
    count: Count
    lastTimestamp: str
    """Time of the last event (RFC 3339); empty if the event does not have it, or for a message."""
    node: str
    """Empty if it is not known."""
    agrees: bool
    """Whether cpuctl's decision is the same."""


class ReportedPart(TypedDict, total=False):
    reported: ReportedRejection
    """Only with --events, or with --message for a message about the explained pod."""


@final
class ExplainedDecision(
    PlanningHeader, SharedPoolPart, HugePagesPart, MissingPart, ClaimDevicesPart, ReportedPart, NextPart
):
    """Why the kubelet decides about a pod as it does, and what would change that."""

    apiVersion: ApiVersion
    kind: Literal["Explanation"]
    start: Started
    node: Node
    query: Query
    pod: Pod
    decision: Decision
    unaligned: list[Decision]
    """The rules that kept an admitted pod from a preferred hint."""
    rounds: list[Round]
    """The rounds of the Topology Manager, in order."""
    numaNodes: list[CPUShare]
    """The owners of CPUs at the time of the decision."""
    memory: list[MemoryTable]
    """The Memory Manager's tables with the static policy: bytes by NUMA node and resource."""
    devices: list[DevicesLeft]
    """Devices of device plugins by NUMA node ("none" if the plugin reports none)."""
    holders: list[Holder]
    """Other pods that held CPUs or memory."""
    defects: list[Defect]
    """Known defects of the kubelet that affect this decision."""
    suggestions: list[Suggestion]
    """Changes with which the pod is admitted: each has been simulated."""
    searches: list[Search]
    """How changes of each kind were searched for; empty for an admitted pod."""
    warnings: list[PlanWarning]
    """What to know about CPUs that the admitted pod gets: the last free ones, or another pod's."""
    mixedCores: list[MixedCores]
    """Containers with CPUs of both performance and efficiency cores, which the kubelet does not distinguish.
    """
    resize: PendingResize | None
    replacement: Replacement | None
    """Null if the pod is not rejected, the scheduler detects the reason, or the pod's owner is unknown."""


@final
class NotStartedExplanation(UnstartedHeader, NextPart):
    """A kubelet that would not start, or might not, with this configuration on this machine."""

    apiVersion: ApiVersion
    kind: Literal["Explanation"]
    start: NotStarted


Explanation = Annotated[
    ExplainedDecision | NotStartedExplanation,
    "Why the kubelet decides about a pod as it does, and what would change that.",
]


class FoundMessage(TypedDict):
    """A message that was recognized."""

    line: Annotated[int, Bounds(1)]
    """Number of the first line that contains it."""
    count: Annotated[int, Bounds(1)]
    """How many lines contain it, with the same values and for the same pod."""
    code: str
    component: Literal[
        "CPU Manager",
        "Memory Manager",
        "Topology Manager",
        "Device Manager",
        "kubelet",
        "API server",
        "scheduler",
        "container runtime",
        "k3s or rke2",
        "systemd",
        "libvirt",
        "cluster autoscaler",
    ]
    text: str
    """The message as it appears in the input."""
    pod: str | None
    """The pod that the line names."""
    container: str | None
    values: dict[str, str]
    """The numbers and names in the message."""
    releases: str | None
    """The kubelet releases that print it; null if all known ones do."""
    printed: bool | None
    """Whether the given kubelet version prints it; null if none was given."""
    meaning: str
    fix: str | None
    commands: list[str]
    """Commands to run next; replace words in capitals with your files. The one whose answer is in
    ``explanation`` is left out.
    """


@final
class Messages(TypedDict):
    """What messages of kubelets, API servers and runtimes mean."""

    apiVersion: ApiVersion
    kind: Literal["Messages"]
    release: Release | None
    """The kubelet version that was given."""
    lines: Count
    """Lines that were read."""
    unrecognized: Count
    """Lines without a known message."""
    omitted: Count
    """Messages that are not listed because there are too many."""
    messages: list[FoundMessage]
    explanation: Explanation | None
    """Why the pod of the message is rejected, if manifests were given."""
