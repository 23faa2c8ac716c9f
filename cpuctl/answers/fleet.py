"""The answers of ``cpuctl fleet``: many nodes, and what they come to together."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict, final

from cpuctl.answers.decisions import Reasons, Refusal
from cpuctl.answers.start import PolicyPart, Start
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


class MetricsPart(TypedDict, total=False):
    metrics: list[Metric]
    """Only with -o prom."""


class NodeName(TypedDict):
    node: str
    """The recording's name without its endings, or the whole path where two have the same; a must-gather's
    nodes have their own names."""
    source: str
    """What -m takes to ask this node alone."""
    answerKey: str | None
    """Equal where files of equal content are asked the same (--resume goes by it); null for directories."""


@final
class UnreadableNode(NodeName):
    """A recording that cannot be used."""

    outcome: Literal["Unreadable"]
    error: str
    hint: str
    """What to do; empty where that is not known."""


class FleetMachine(TypedDict):
    """What a kubelet counts; null where it refuses the machine, or nothing is recorded."""

    cpus: int | None
    cores: int | None
    sockets: int | None
    numaNodes: int | None
    uncoreCaches: int | None
    memory: int | None
    """Bytes."""


class FleetKubelet(TypedDict):
    """The kubelet's release and policies."""

    version: Release
    cpuManagerPolicy: str
    topologyManagerPolicy: str
    topologyManagerScope: str
    memoryManagerPolicy: str


class FreeCPUs(TypedDict):
    """What is left of a node whose kubelet starts."""

    exclusiveCPUs: Count
    """CPUs that containers can still get exclusively."""
    cpuList: CPUList
    largestOnOneNode: Count
    """The most exclusive CPUs that one container can get on a single NUMA node."""


class AssumedPart(TypedDict):
    assumed: dict[str, str]
    """What is taken for inputs that nobody tells: kubeletVersion, kubeletConfiguration, unknownFlags."""


@final
class ListedNode(NodeName, AssumedPart):
    """One node of a fleet."""

    outcome: Literal["Read"]
    kind: Kind
    """Equal for nodes that a kubelet could not tell apart, but for the amount of memory."""
    machine: FleetMachine
    kubelet: FleetKubelet | None
    """Null where the kubelet cannot load its configuration."""
    start: Start
    free: FreeCPUs | None
    """Null where the kubelet has no static CPU Manager policy, or would not start."""
    facts: dict[str, str]
    """All that the kind is made of: the kubelet's release, its settings but for usual ones, and what it is
    told of its machine."""


FleetNode = ListedNode | UnreadableNode


class FactDifference(TypedDict):
    fact: str
    here: str
    """Empty where the nodes of this group have no such fact."""
    there: str


class GroupPlacements(TypedDict):
    """Whether the given pods are placed otherwise than on the group that it is compared with."""

    differ: bool | None
    """Null where nobody can say whether the kubelets would start."""
    pods: list[str]
    """Those that are, by namespace and name."""


class FleetGroup(TypedDict):
    """Nodes that are identical to a kubelet."""

    kind: Kind
    count: Count
    nodes: list[str]
    machine: FleetMachine
    kubelet: FleetKubelet | None
    comparedWith: str | None
    """A node of the larger group that is most alike; null for the largest group."""
    differences: list[FactDifference]
    placements: NotRequired[GroupPlacements]
    """Only where pods are given."""


class FleetListSummary(TypedDict):
    nodes: Count
    groups: Count
    odd: Count
    """Nodes outside the largest group."""
    wouldNotStart: Count
    undetermined: Count
    unreadable: Count


@final
class FleetList(MetricsPart):
    """The nodes of a fleet, and the groups of those that are alike."""

    apiVersion: ApiVersion
    kind: Literal["FleetList"]
    complete: bool
    """False where it was interrupted: nodes are missing then."""
    passedOver: list[str]
    """Files of the directories that are no recordings."""
    summary: FleetListSummary
    groups: list[FleetGroup]
    """The largest first."""
    nodes: list[FleetNode]


@final
class PlannedNode(NodeName, AssumedPart):
    """What a plan begins with on one node."""

    outcome: Literal["Read"]
    state: str
    """Equal for nodes that a kubelet could not tell apart, with what they run; empty without a kubelet."""
    start: Start
    allocatable: dict[str, Count]
    """What the node has for pods: CPU in milli, all else in bytes or pieces."""
    load: dict[str, Count]
    """What the pods request together that are bound to it."""


class PublishedNode(NodeName):
    """What an exporter on one node would publish."""

    outcome: Literal["Read"]
    object: dict[str, Any]
    remarks: list[str]
    """What is wrong with the object, or left out of it."""


class FittingNodes(TypedDict):
    """Where a pod would have been admitted."""

    tried: Count
    """Nodes that the scheduler could have chosen, too, and on which the kubelet was asked."""
    count: Count
    """Those of them whose kubelet admits the pod."""
    nodes: list[str]
    """The first of those."""


FleetPodOutcome = Literal[
    "Admitted", "Pending", "Scheduled", "Rejected", "Forbidden", "KubeletFault", "Undetermined"
]


_SAYS_WHY = Requires(
    (
        ("Pending", ("message",)),
        ("Rejected", ("reason", "message")),
        ("Forbidden", ("message", "refusals")),
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


FleetOutcome = PendingPod | AdmittedPod | ScheduledPod | Refusal


class FilteredByPlugin(TypedDict):
    """Nodes that could take the pod but for the plug-in."""

    message: str
    """What the plug-in says, as in a pod's events."""
    container: str
    """The container that finds too little; empty where the pod as a whole does."""
    resource: str
    nodes: Count


class WronglyFiltered(TypedDict):
    """Nodes that the plug-in filters although their kubelets would admit the pod."""

    count: Count
    nodes: list[str]
    """The first of them."""
    why: str


class PluginVerdict(TypedDict):
    """What NodeResourceTopologyMatch makes of the pod, beside the kubelets."""

    filtered: list[FilteredByPlugin]
    wronglyFiltered: WronglyFiltered | None
    wronglyPassed: str
    """Why the plug-in lets the pod through to a node whose kubelet rejects it; empty where that is not so."""


class PluginPart(TypedDict, total=False):
    plugin: PluginVerdict
    """Only where the scheduler has the plug-in."""


class FitsPart(TypedDict, total=False):
    fits: FittingNodes
    """Only where the kubelet rejects the pod."""


class DaemonShare(Reasons):
    """Nodes with the same outcome for a DaemonSet's pod."""

    outcome: Annotated[FleetPodOutcome, _SAYS_WHY]
    count: Count
    nodes: list[str]


class FleetDaemonSet(TypedDict):
    """What becomes of a DaemonSet, which makes a pod for every node whose labels and taints let it."""

    namespace: str
    name: str
    shares: list[DaemonShare]
    """The largest first."""
    running: list[str]
    """Nodes where a pod of it runs already (--pods)."""
    leftOut: list[str]
    """Nodes for which it makes no pod: they are not selected, or have a taint that it does not tolerate."""


class FleetClaimsPart(TypedDict, total=False):
    claims: dict[str, CPUList | None]
    """CPUs by the pod's names for its resource claims; null where they are not known."""
    claimProblem: str
    """Why the pod does not start, although the kubelet admits it."""


class FleetPod(Reasons, FitsPart, PluginPart, FleetClaimsPart):
    """What becomes of a pod: where the scheduler sends it, and what the kubelet there makes of it."""

    namespace: str
    name: str
    uid: str
    owner: str
    """The workload that it is a replica of, as ``Kind/name``; empty where that is not known."""
    outcome: Annotated[FleetPodOutcome, _SAYS_WHY]
    """Pending: the scheduler finds no node, or the kubelet of its node does not start. Scheduled: it finds
    one, and no recording tells what the kubelet there makes of the pod."""
    node: str | None
    """Where the scheduler sends it, or the node that it names; null where there is none."""
    cpus: dict[str, CPUList]
    """Exclusive CPUs by container."""
    replacement: str
    """What follows a rejection, and whether the next pod is sent here again; may be empty."""


class FleetPlanSummary(TypedDict):
    nodes: Count
    pods: Count
    """Those of DaemonSets, a pod for each of their nodes, are among them."""
    admitted: Count
    pending: Count
    rejected: Count
    undetermined: Count
    """Of which that cannot be said; kubelets that fail are among them."""
    scheduled: Count
    """Sent to nodes without a recording: the scheduler's decision alone."""
    wronglyFiltered: Count
    """Pods that the scheduler's plug-in keeps from a node whose kubelet would admit them."""
    wronglyPassed: Count
    """Pods that the scheduler's plug-in lets through to a kubelet that rejects them."""
    wouldNotStart: Count
    """Nodes that are not ready, as their kubelets would not start: pods are kept off."""
    startUndetermined: Count
    """Nodes that are taken for not ready, as nobody can say whether their kubelets would start."""
    unreadable: Count


class FleetRepeat(TypedDict):
    """How often the pods fit one after the other: each is admitted, and starts."""

    copies: Count
    stop: FleetPod | None
    """The first pod that does not; null where the number asked for was reached."""


class RepeatedPart(TypedDict, total=False):
    repeat: FleetRepeat


@final
class FleetPlan(RepeatedPart, PolicyPart):
    """Where a fleet's scheduler would send pods, and what the kubelets there would make of them."""

    apiVersion: ApiVersion
    kind: Literal["FleetPlan"]
    sources: Sources
    summary: FleetPlanSummary
    pods: list[FleetPod]
    """All but those of DaemonSets."""
    daemonSets: list[FleetDaemonSet]
    nodes: list[PlannedNode | UnreadableNode]
    """Every node before the plan."""


class CheckedPart(TypedDict):
    check: FleetCheckName
    """config is what cpuctl config check looks at, state cpuctl checkpoint verify, audit cpuctl audit; nrt
    is whether the NodeResourceTopology is true of the node."""


class FindingPlace(TypedDict):
    about: str
    """The setting, the state file, or what of the node; may be empty."""
    where: str
    """File and line, or the control group; may be empty."""


class NodeFinding(Graded, CheckedPart, FindingPlace, Found):
    pass


class UncheckedPart(CheckedPart):
    missing: str
    """What was not there to be looked at."""


@final
class CheckedNode(NodeName, AssumedPart):
    """What is found on one node of a fleet."""

    outcome: Literal["Read"]
    start: Start | None
    """Whether the kubelet would start, on its state files where these are checked; null where neither they
    nor the configuration are."""
    summary: FindingCounts
    findings: list[NodeFinding]
    """The worst first."""
    unchecked: list[UncheckedPart]


class FleetFinding(NodeFinding):
    """A finding of many nodes; in its texts ... stands for what is not the same on all of them."""

    count: Count
    """How often it is found; on one node more than once, perhaps."""
    nodes: list[str]


class FleetUnchecked(UncheckedPart):
    nodes: list[str]


class FleetCheckSummary(FindingCounts):
    """How many findings there are of each severity, equal ones counted once; and nodes."""

    nodes: Count
    clean: Count
    """Nodes on which all was checked and nothing found but notes, and whose kubelet would start."""
    wouldNotStart: Count
    undetermined: Count
    """Nodes of which cannot be said whether their kubelet would start."""
    unchecked: Count
    """Nodes that could not be checked completely."""
    unreadable: Count


@final
class FleetCheck(MetricsPart):
    """What is wrong on the nodes of a fleet, each finding once. With -o jsonl each line is a node."""

    apiVersion: ApiVersion
    kind: Literal["FleetCheck"]
    complete: bool
    """False where it was interrupted: nodes are missing then."""
    passedOver: list[str]
    """Files of the directories that are no recordings."""
    checks: list[FleetCheckName]
    summary: FleetCheckSummary
    findings: list[FleetFinding]
    """The worst first, then those of most nodes."""
    unchecked: list[FleetUnchecked]
    nodes: list[CheckedNode | UnreadableNode]


class NodeChange(TypedDict):
    aspect: Literal["start", "fact", "free", "finding"]
    """What it is about: whether the kubelet would start; a fact of fleet list, its release and settings among
    them; what is left for exclusive use; with --check, what is found."""
    what: str
    before: str
    """Empty where there was none; of lists, what only they had."""
    after: str


class FleetChange(NodeChange):
    """A change that is the same on all of these nodes."""

    nodes: Annotated[list[str], Items(1, 1_000_000)]


DiffOutcome = Literal["Gone", "New", "Changed", "Same", "Unreadable"]


class DiffedNode(TypedDict):
    node: str
    """Its name in both collections; where several have it, their path below the collection."""
    outcome: DiffOutcome
    before: str | None
    """What -m takes to ask about the node as it was; null where there was none."""
    after: str | None
    error: str
    """Why a recording cannot be used; empty where both can be."""
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
    """What changed on the nodes of a fleet, equal changes once. With -o jsonl each line is a node."""

    apiVersion: ApiVersion
    kind: Literal["FleetDiff"]
    summary: FleetDiffSummary
    changes: list[FleetChange]
    """Of starts first, then those of most nodes."""
    nodes: list[DiffedNode]
