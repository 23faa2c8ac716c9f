"""The answers of ``cpuctl fleet``: many nodes and their summary."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict, final

from cpuctl.answers.decisions import Reasons, Rejection
from cpuctl.answers.start import FleetNextPart, NextPart, PolicyPart, Start
from cpuctl.answers.values import (
    ApiVersion,
    Count,
    CPUList,
    FindingCounts,
    Found,
    Graded,
    Items,
    Metric,
    Pattern,
    Release,
    Requires,
    Sources,
)

Kind = Annotated[str, Pattern("^[0-9a-f]{12}$")]

FleetCheckName = Literal["config", "state", "audit", "nrt"]
FleetPartName = Literal["config", "state", "audit", "nrt", "machine"]


class MetricsPart(TypedDict, total=False):
    metrics: list[Metric]
    """Only with -o prom."""


class NodeName(TypedDict):
    node: str
    """The recording's file name without its extensions, or its whole path if two have the same name. A node
    in a must-gather has its own name, or is named by its source if that name is taken."""
    source: str
    """The value of -m for this node alone."""
    answerKey: str | None
    """Equal for equal files and options (used by --resume); null for directories."""


@final
class UnreadableNode(NodeName):
    """A recording that cannot be used."""

    outcome: Literal["Unreadable"]
    error: str
    hint: str
    """What to do; empty if unknown."""


class FleetMachine(TypedDict):
    """The machine as the kubelet sees it; null if the kubelet rejects it or nothing is recorded."""

    cpus: int | None
    cores: int | None
    sockets: int | None
    numaNodes: int | None
    uncoreCaches: int | None
    memory: int | None
    """Total memory in bytes."""


class FleetKubelet(TypedDict):
    """The kubelet's release and policies."""

    version: Release
    cpuManagerPolicy: str
    topologyManagerPolicy: str
    topologyManagerScope: str
    memoryManagerPolicy: str


class FreeCPUs(TypedDict):
    """CPUs that are left on a node whose kubelet starts."""

    exclusiveCPUs: Count
    """Number of CPUs that containers can still get exclusively."""
    cpuList: CPUList
    largestOnOneNode: Count
    """The largest number of exclusive CPUs that one container can get on a single NUMA node."""


class AssumedPart(TypedDict):
    assumed: dict[str, str]
    """Assumed values of unknown inputs: kubeletVersion, kubeletConfiguration, unknownFlags."""


@final
class ListedNode(NodeName, AssumedPart):
    """One node of a fleet."""

    outcome: Literal["Read"]
    kind: Kind
    """Equal for nodes that look the same to the kubelet, except for the amount of memory."""
    machine: FleetMachine
    kubelet: FleetKubelet | None
    """Null if the kubelet cannot load its configuration."""
    start: Start
    free: FreeCPUs | None
    """Null if the kubelet has no static CPU Manager policy or would not start."""
    facts: dict[str, str]
    """Everything that makes up the kind: the kubelet's release, its unusual settings, and its machine."""


FleetNode = ListedNode | UnreadableNode


class FactDifference(TypedDict):
    fact: str
    here: str
    """Empty if the nodes of this group do not have this fact."""
    there: str


class GroupPlacements(TypedDict):
    """Whether the given pods are placed differently than in the group that this one is compared with."""

    differ: bool | None
    """Null if it is unknown whether the kubelets would start."""
    pods: list[str]
    """Pods that are placed differently, by namespace and name."""


class FleetGroup(TypedDict):
    """Nodes that look the same to the kubelet."""

    kind: Kind
    count: Count
    nodes: list[str]
    machine: FleetMachine
    kubelet: FleetKubelet | None
    comparedWith: str | None
    """A node of the most similar larger group; null for the largest group."""
    differences: list[FactDifference]
    placements: NotRequired[GroupPlacements]
    """Only if pods are given."""


class FleetListSummary(TypedDict):
    nodes: Count
    groups: Count
    outliers: Count
    """Nodes outside the largest group."""
    wouldNotStart: Count
    undetermined: Count
    unreadable: Count


@final
class FleetList(MetricsPart, NextPart):
    """The nodes of a fleet, in groups of similar nodes."""

    apiVersion: ApiVersion
    kind: Literal["FleetList"]
    complete: bool
    """False if the command was interrupted; some nodes are then missing."""
    skipped: list[str]
    """Files in the directories that are not recordings."""
    summary: FleetListSummary
    groups: list[FleetGroup]
    """Largest first."""
    nodes: list[FleetNode]


@final
class PlannedNode(NodeName, AssumedPart):
    """A node at the beginning of a plan."""

    outcome: Literal["Read"]
    state: str
    """Equal for nodes that look the same to the kubelet and run the same pods; empty without a kubelet."""
    start: Start
    allocatable: dict[str, Count]
    """What is available to pods: CPU in millicores, the rest in bytes or units."""
    load: dict[str, Count]
    """Sum of the requests of the pods that are bound to the node."""


class PublishedNode(NodeName):
    """What an exporter on one node would publish."""

    outcome: Literal["Read"]
    object: dict[str, Any]
    notes: list[str]
    """What is wrong with the object or missing from it."""


class FittingNodes(TypedDict):
    """Where a pod would have been admitted."""

    tried: Count
    """Number of other nodes that the scheduler could have chosen and whose kubelets were tried."""
    count: Count
    """Number of those nodes whose kubelet admits the pod."""
    nodes: list[str]
    """The first of those nodes."""


FleetPodOutcome = Literal[
    "Admitted", "Pending", "Scheduled", "Rejected", "Forbidden", "KubeletFault", "Undetermined"
]


_SAYS_WHY = Requires(
    (
        ("Pending", ("message",)),
        ("Rejected", ("reason", "message")),
        ("Forbidden", ("message", "rejections")),
        ("KubeletFault", ("fault", "where", "why")),
        ("Undetermined", ("why",)),
    )
)


class PendingPod(TypedDict):
    outcome: Literal["Pending"]
    message: str


class AdmittedPod(TypedDict):
    outcome: Literal["Admitted"]


class ScheduledPod(TypedDict):
    outcome: Literal["Scheduled"]


FleetOutcome = PendingPod | AdmittedPod | ScheduledPod | Rejection


class FilteredByPlugin(TypedDict):
    """Nodes that only the plugin filters out."""

    message: str
    """The plugin's message, as in pod events."""
    container: str
    """The container with too few resources; empty for the pod as a whole."""
    resource: str
    nodes: Count


class WronglyFiltered(TypedDict):
    """Nodes that the plugin filters out although their kubelets would admit the pod."""

    count: Count
    nodes: list[str]
    """The first of these nodes."""
    why: str


class PluginVerdict(TypedDict):
    """The decision of NodeResourceTopologyMatch, compared with the kubelets."""

    filtered: list[FilteredByPlugin]
    wronglyFiltered: WronglyFiltered | None
    wronglyPassed: str
    """Why the plugin accepts a node whose kubelet rejects the pod; empty if it does not."""


class PluginPart(TypedDict, total=False):
    plugin: PluginVerdict
    """Only with the scheduler plugin."""


class FitsPart(TypedDict, total=False):
    fits: FittingNodes
    """Only if the kubelet rejects the pod."""


class DaemonSetOutcome(Reasons):
    """Nodes with the same outcome for a DaemonSet's pod."""

    outcome: Annotated[FleetPodOutcome, _SAYS_WHY]
    count: Count
    nodes: list[str]


class FleetDaemonSet(TypedDict):
    """The result for a DaemonSet, which creates a pod for each node with matching labels and taints."""

    namespace: str
    name: str
    outcomes: list[DaemonSetOutcome]
    """Largest first."""
    running: list[str]
    """Nodes where one of its pods already runs (--pods)."""
    excluded: list[str]
    """Nodes without a pod: they are not selected, or have a taint that it does not tolerate."""


class FleetClaimsPart(TypedDict, total=False):
    claims: dict[str, CPUList | None]
    """CPUs of each resource claim, by its name in the pod; null if unknown."""
    claimProblem: str
    """Why the pod does not start, although the kubelet admits it."""


class FleetPod(Reasons, FitsPart, PluginPart, FleetClaimsPart):
    """The result for a pod: the node chosen by the scheduler, and the decision of its kubelet."""

    namespace: str
    name: str
    uid: str
    owner: str
    """The workload that it is a replica of, as ``Kind/name``; empty if unknown."""
    outcome: Annotated[FleetPodOutcome, _SAYS_WHY]
    """Pending: the scheduler finds no node, or the kubelet of its node does not start. Scheduled: it
    finds one, but its kubelet is not recorded."""
    node: str | None
    """The node chosen by the scheduler or named in the pod; null if there is none."""
    cpus: dict[str, CPUList]
    """Exclusive CPUs by container."""
    replacement: str
    """What happens after a rejection, and whether the next pod is sent here again; may be empty."""


class FleetPlanSummary(TypedDict):
    nodes: Count
    pods: Count
    """Number of pods, including DaemonSet pods: one for each of their nodes."""
    admitted: Count
    pending: Count
    rejected: Count
    undetermined: Count
    """Pods with an unknown result, including those on kubelets that fail."""
    scheduled: Count
    """Pods sent to nodes without a recording: only the scheduler's decision is known."""
    wronglyFiltered: Count
    """Pods for which the plugin filters out a node whose kubelet would admit them."""
    wronglyPassed: Count
    """Pods for which the plugin accepts a node whose kubelet rejects them."""
    wouldNotStart: Count
    """Nodes that are not ready because their kubelets would not start; they get no pods."""
    startUndetermined: Count
    """Nodes considered not ready because it is unknown whether their kubelets would start."""
    unreadable: Count


class FleetRepeat(TypedDict):
    """How many times the pods fit, one after the other; each is admitted and starts."""

    copies: Count
    stop: FleetPod | None
    """The first pod that does not fit; null if the requested number was reached."""


class RepeatedPart(FleetNextPart, total=False):
    repeat: FleetRepeat


@final
class FleetPlan(RepeatedPart, PolicyPart):
    """Where the scheduler would send pods, and what the kubelets there would decide."""

    apiVersion: ApiVersion
    kind: Literal["FleetPlan"]
    sources: Sources
    summary: FleetPlanSummary
    pods: list[FleetPod]
    """All pods except those of DaemonSets."""
    daemonSets: list[FleetDaemonSet]
    nodes: list[PlannedNode | UnreadableNode]
    """Every node before the plan."""


class CheckedPart(TypedDict):
    check: FleetPartName
    """config is cpuctl config check, state cpuctl checkpoint verify, audit cpuctl audit; nrt checks the
    NodeResourceTopology object, and machine is what a report says about the machine itself."""


class FindingPlace(TypedDict):
    subject: str
    """What the finding is about: the setting, the state file, or the part of the node; may be empty."""
    where: str
    """File and line, or the cgroup; may be empty."""


class NodeFinding(Graded, CheckedPart, FindingPlace, Found):
    pass


class UncheckedPart(CheckedPart):
    missing: str
    """What is missing."""


@final
class CheckedNode(NodeName, AssumedPart):
    """The findings on one node of a fleet."""

    outcome: Literal["Read"]
    start: Start | None
    """Whether the kubelet would start, with its state files if these are checked; null if neither they nor
    the configuration are checked."""
    summary: FindingCounts
    findings: list[NodeFinding]
    """Most severe first."""
    unchecked: list[UncheckedPart]


class FleetFinding(NodeFinding):
    """A finding of one or more nodes; in its texts, ... replaces what differs between them."""

    count: Count
    """How often it occurs, possibly several times on one node."""
    nodes: list[str]


class FleetUnchecked(UncheckedPart):
    nodes: list[str]


class FleetCheckSummary(FindingCounts):
    """Number of findings of each severity, equal ones counted once, and number of nodes."""

    nodes: Count
    clean: Count
    """Nodes that were checked completely, with at most notes, and whose kubelet would start."""
    wouldNotStart: Count
    undetermined: Count
    """Nodes for which it is unknown whether the kubelet would start."""
    unchecked: Count
    """Nodes that were only partly checked."""
    unreadable: Count


@final
class FleetCheck(MetricsPart, NextPart):
    """What is wrong on the nodes of a fleet, each finding once. With -o jsonl, each line is a node."""

    apiVersion: ApiVersion
    kind: Literal["FleetCheck"]
    complete: bool
    """False if the command was interrupted; some nodes are then missing."""
    skipped: list[str]
    """Files in the directories that are not recordings."""
    checks: list[FleetCheckName]
    summary: FleetCheckSummary
    findings: list[FleetFinding]
    """Most severe first, then those of most nodes."""
    unchecked: list[FleetUnchecked]
    nodes: list[CheckedNode | UnreadableNode]


class NodeChange(TypedDict):
    aspect: Literal["start", "fact", "free", "finding"]
    """What changed: whether the kubelet would start; a fact of fleet list, such as its release or settings;
    free CPUs; with --check, findings."""
    what: str
    before: str
    """Empty if there was none; for lists, only what differs."""
    after: str


class FleetChange(NodeChange):
    """A change that is the same on all of these nodes."""

    nodes: Annotated[list[str], Items(1, 1_000_000)]


DiffOutcome = Literal["Gone", "New", "Changed", "Same", "Unreadable"]


class DiffedNode(TypedDict):
    node: str
    """Its name in both collections; if several share it, the path within the collection."""
    outcome: DiffOutcome
    before: str | None
    """The value of -m for the node in the earlier collection; null if it is not in it."""
    after: str | None
    error: str
    """Why a recording cannot be used; empty if both can be."""
    changes: list[NodeChange]


class FleetDiffSummary(TypedDict):
    before: Count
    after: Count
    gone: Count
    new: Count
    changed: Count
    same: Count
    unreadable: Count


@final
class FleetDiff(TypedDict):
    """What changed on the nodes of a fleet, equal changes once. With -o jsonl, each line is a node."""

    apiVersion: ApiVersion
    kind: Literal["FleetDiff"]
    summary: FleetDiffSummary
    changes: list[FleetChange]
    """Changes of kubelet starts first, then those of most nodes."""
    nodes: list[DiffedNode]
