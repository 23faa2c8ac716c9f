"""The answer of ``cpuctl explain``."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict, final

from cpuctl.answers.decisions import Block, DevicesLeft, HintRound, MemoryTable, Node, PlacedContainer, Pod
from cpuctl.answers.dra import ClaimDevicesPart
from cpuctl.answers.resize import ResizeDecision
from cpuctl.answers.start import NextPart, NotStarted, PlanningHeader, Started, UnstartedHeader
from cpuctl.answers.values import ApiVersion, Bounds, Count, CPUList, Release, Requires


class Asked(TypedDict):
    container: str | None
    """The container that was asked about; null: the pod."""
    restarted: bool
    """The pod runs already and is looked at again as after a restart of the kubelet."""
    podsBefore: Count
    """Pods that the kubelet looked at before this one."""


class HugePages(TypedDict):
    numaNode: int
    pageKiB: int
    before: int
    after: int
    command: str
    """Sets them aside; a kubelet sees them after a restart."""
    removesMemoryState: bool
    """Whether memory_manager_state has to go before the kubelet starts again: it names other pages."""


class PendingResize(ResizeDecision):
    """What becomes of the resize that is pending of a pod that runs."""

    command: str
    """The command line that shows its CPUs, conditions and cgroups."""


class Decision(TypedDict):
    rule: Literal[
        "admitted",
        "notEnoughFree",
        "widthFromCapacity",
        "reuseBinds",
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
        "inputLacks",
        "unknown",
    ]
    """The rule that decided."""
    container: str | None
    """null: the pod as a whole."""
    provider: str | None
    """The resource manager that did it, where it was one."""
    why: str


class Replacement(TypedDict):
    """What becomes of a pod that is rejected."""

    loops: bool
    """Whether pods are made, bound here and rejected again and again."""
    text: str


class Hint(TypedDict):
    """A topology hint."""

    numaNodes: CPUList | None
    """null: no constraint."""
    preferred: bool


class Merged(Hint):
    """The hint that all providers agree on, and whether the policy admits it."""

    admitted: bool


class Reusable(TypedDict):
    """CPUs of the pod's other containers that may be used again, and the nodes that hints hold for them."""

    count: Count
    numaNodes: CPUList


class RulePart(TypedDict, total=False):
    width: Count
    """The fewest NUMA nodes whose capacity would do: hints that wide are preferred."""
    narrowest: Count
    """NUMA nodes of the smallest hint, 0 where there is none."""


class RequestPart(TypedDict, total=False):
    request: int
    """CPUs, bytes or devices asked for."""


class CPUsPart(TypedDict, total=False):
    free: dict[str, Count]
    """CPUs by NUMA node that the hints were made from."""
    reusable: Reusable


_OF_MANY = Requires(((None, ("width", "narrowest")),))


class ProviderOffer(RulePart, RequestPart, CPUsPart):
    """What a provider offers for a resource."""

    provider: str
    resource: str
    standing: Literal["no preference", "no hints", "impossible", "unusable", "usable"]
    """What the topology policy can do with it; no hints count as no preference."""
    hints: Annotated[list[Hint] | None, _OF_MANY]
    """null where there are too many to list."""
    usable: Annotated[list[CPUList] | None, _OF_MANY]
    """Sets of NUMA nodes that the policy admits; null where there are too many to list."""


class Round(TypedDict):
    container: str | None
    """null: the pod as a whole."""
    offers: list[ProviderOffer]
    merged: Merged | None
    """null where the kubelet fails over it."""


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
    """Held by the pod in question."""
    held: CPUList
    """Held by other pods."""
    free: CPUList
    """CPUs that can become exclusive."""
    counts: ShareCounts


class Holder(TypedDict):
    pod: str
    uid: str
    cpus: CPUList
    count: Count
    memory: list[Block]
    running: bool
    """false: the kubelet does not take the pod for active: it has ended, was rejected, or has not been looked
    at since the restart. What the first two hold comes back with the next pod."""


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
    """null: the pod itself (spec.resources)."""
    resource: str
    before: str
    after: str


class FieldChange(TypedDict):
    field: str
    before: str | None
    """null: it is not set."""
    after: str


class RequestChange(TypedDict):
    """Other requests, and limits where they were equal."""

    amounts: list[Amount]
    fields: NotRequired[list[FieldChange]]
    """What to change in a virtual machine of KubeVirt, of which these requests are worked out."""


class SettingChange(TypedDict):
    """Another value in the KubeletConfiguration, from the start."""

    setting: str
    option: str | None
    """The member of a map of options."""
    before: str
    after: str


class Removal(TypedDict):
    """Pods that end before."""

    remove: list[str]


class Earlier(TypedDict):
    """Pods that come after it instead of before."""

    before: list[str]


Change = RequestChange | SettingChange | Removal | Earlier
ChangeKind = Literal["request", "setting", "removal", "order"]


class Suggestion(TypedDict):
    kind: ChangeKind
    change: Change
    words: str
    command: str | None
    """What tries the change, or makes it; null where no one command does."""
    containers: list[PlacedContainer]
    """What the containers get then."""
    hints: list[HintRound]
    """The merged hints then."""
    lost: list[str]
    """Other pods that are not admitted then."""


class Search(TypedDict):
    kind: ChangeKind
    found: Count
    runs: Count
    """Pods that the engine looked at."""
    bound: Count
    """The runs after which the search ends."""
    complete: bool
    """Whether all was tried within the bound."""
    leftOut: str
    """Choices that were never meant to be tried."""


class SharedPoolPart(TypedDict, total=False):
    sharedPool: CPUList
    """Where Burstable and BestEffort containers run after the decision, under a static policy."""


class HugePagesPart(TypedDict, total=False):
    hugePages: list[HugePages]
    """Huge pages with which the pod would be admitted: the fewest more on each NUMA node, tried."""


class Said(TypedDict):
    """What the kubelet itself said when it rejected the pod."""

    reason: str
    message: str
    times: Count
    last: str
    """When last (RFC 3339), empty where the event does not say."""
    node: str
    agrees: bool
    """The answer is the same."""


class SaidPart(TypedDict, total=False):
    said: Said
    """Only with --events."""


@final
class ExplainedDecision(PlanningHeader, SharedPoolPart, HugePagesPart, ClaimDevicesPart, SaidPart, NextPart):
    """Why a kubelet decides about a pod as it does, and what would change that."""

    apiVersion: ApiVersion
    kind: Literal["Explanation"]
    start: Started
    node: Node
    asked: Asked
    pod: Pod
    decision: Decision
    unaligned: list[Decision]
    """The rules that kept an admitted pod from a preferred hint."""
    rounds: list[Round]
    """The rounds of the Topology Manager, in order."""
    numaNodes: list[CPUShare]
    """Who had the CPUs when it was decided."""
    memory: list[MemoryTable]
    """The Memory Manager's tables with the static policy: bytes by NUMA node and resource."""
    devices: list[DevicesLeft]
    """The devices of device plugins by the NUMA nodes next to them (none: the plugin names none)."""
    holders: list[Holder]
    """Other pods that held CPUs or memory."""
    defects: list[Defect]
    """What is known to be odd about the kubelet's way to this decision."""
    suggestions: list[Suggestion]
    """Changes with which the engine admits the pod."""
    searches: list[Search]
    """How changes of each kind were looked for; none for an admitted pod."""
    mixedCores: list[MixedCores]
    """Containers with CPUs of performance and of efficiency cores, which no kubelet tells apart."""
    resize: PendingResize | None
    replacement: Replacement | None
    """null: the pod is not rejected, or the scheduler sees why, or nobody knows whose it is."""


@final
class NotStartedExplanation(UnstartedHeader, NextPart):
    """A kubelet that would not start with this configuration on this machine, or may not."""

    apiVersion: ApiVersion
    kind: Literal["Explanation"]
    start: NotStarted


Explanation = Annotated[
    ExplainedDecision | NotStartedExplanation,
    "Why a kubelet decides about a pod as it does, and what would change that.",
]


class FoundMessage(TypedDict):
    """A message that was recognised."""

    line: Annotated[int, Bounds(1)]
    """The first line that has it."""
    count: Annotated[int, Bounds(1)]
    """How many lines have it, with the same values and of the same pod."""
    code: str
    speaker: Literal[
        "CPU Manager",
        "Memory Manager",
        "Topology Manager",
        "Device Manager",
        "kubelet",
        "API server",
        "scheduler",
        "container runtime",
        "systemd",
        "libvirt",
    ]
    text: str
    """The message as it stands there."""
    pod: str | None
    """The pod that the line names."""
    container: str | None
    values: dict[str, str]
    """The figures and names in the message."""
    releases: str | None
    """The kubelets that print it; null: all from the oldest to the newest that are known."""
    printed: bool | None
    """Whether the kubelet that was asked about prints it; null: none was named."""
    meaning: str
    fix: str | None
    commands: list[str]
    """What to type next; words in capitals stand for files of one's own."""


@final
class Messages(TypedDict):
    """What messages of kubelets, API servers and runtimes mean."""

    apiVersion: ApiVersion
    kind: Literal["Messages"]
    release: Release | None
    """The kubelet that was asked about."""
    lines: Count
    """Lines that were read."""
    unrecognized: Count
    """Lines with no message that is known."""
    omitted: Count
    """Messages beyond the most that are listed."""
    messages: list[FoundMessage]
    explanation: Explanation | None
    """Why the pod of the message is rejected, where manifests were given."""
