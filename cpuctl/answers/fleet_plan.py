"""The answer of ``cpuctl fleet plan``: nodes, the pods sent to them, and the decisions of the kubelets."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict, final

from cpuctl.answers.decisions import Reasons, Rejection
from cpuctl.answers.fleet import AssumedPart, NodeName, UnreadableNode
from cpuctl.answers.start import FleetNextPart, PolicyPart, Start
from cpuctl.answers.values import ApiVersion, Count, CPUList, Requires, Sources


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


class FleetCPUsPart(TypedDict):
    cpus: dict[str, CPUList]
    """Exclusive CPUs by container."""
    shared: dict[str, str]
    """Why the other containers of an admitted pod have no exclusive CPUs."""


class FleetPod(Reasons, FitsPart, PluginPart, FleetClaimsPart, FleetCPUsPart):
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
