"""The answer of ``cpuctl report``: a node as a whole, put together from the answers of other commands."""

from __future__ import annotations

from typing import Literal, TypedDict, final

from cpuctl.answers.audit import Audit
from cpuctl.answers.checkpoint import CheckpointDump, CheckpointVerify
from cpuctl.answers.config import ConfigCheck
from cpuctl.answers.explanation import Explanation
from cpuctl.answers.fleet import FleetFinding, FleetGroup, ListedNode, NodeName, UnreadableNode
from cpuctl.answers.plan import NotStartedPlan, PlanPicture, StartedPlan
from cpuctl.answers.replay import Replay
from cpuctl.answers.topology import Topology
from cpuctl.answers.values import ApiVersion, Count, FindingCounts, Sources

ReportPart = Literal["configuration", "state", "holders", "audit", "pods", "timeline"]


class UnknownPart(TypedDict):
    """What of the node nobody can tell from what there is: it is not clean, and not wrong either."""

    part: ReportPart
    what: str
    """What is missing, and why."""


class ReportSummary(FindingCounts):
    """What is found in all parts, and what is not known."""

    start: Literal["Started", "Refused", "KubeletFault", "Undetermined"]
    """Whether the kubelet would start on this machine with its state files."""
    notAdmitted: Count | None
    """Pods that were given and are not admitted; null where none were given, or no kubelet starts."""
    unmet: Count | None
    """Expectations of the timeline that are not met; null where none was given."""
    unknown: Count
    """Things that are not known."""


class ReportParts(TypedDict, total=False):
    """Parts that are not there where nobody asked for them, or where *unknown* says why."""

    state: CheckpointVerify
    """Whether a kubelet would start on the node's state files."""
    holders: CheckpointDump
    """Who holds which CPUs and memory by these files, with a map of the machine."""
    audit: Audit
    """The node against what its kubelet believes."""
    plan: NotStartedPlan | StartedPlan
    """What becomes of the pods that were given."""
    planned: PlanPicture
    """Who holds which CPUs once they are admitted, with a map of the machine."""
    explanations: list[Explanation]
    """Why pods are not admitted, and what would change that."""
    unexplained: list[str]
    """Pods that are not admitted and are not explained: more were rejected than are explained at once."""
    timeline: Replay
    """The node over time."""


class Report(ReportParts):
    """A node as a whole: its machine, its configuration, who holds what, and what is wrong with it."""

    apiVersion: ApiVersion
    kind: Literal["Report"]
    node: str
    """What the node is called: as its recording, or this host's name."""
    taken: str | None
    """When it was recorded, or looked at (RFC 3339); null where nobody has written that down."""
    sources: Sources
    summary: ReportSummary
    machine: Topology
    configuration: ConfigCheck
    unknown: list[UnknownPart]
    warnings: list[str]
    """What is to be known of the inputs."""


@final
class ReportedNode(NodeName):
    """How one node of a fleet stands."""

    outcome: Literal["Read"]
    verdict: str
    """In one sentence, as on its page."""
    summary: ReportSummary
    page: str | None
    """The file with its page, beside the index; null where no pages were asked for."""
    listed: ListedNode


class FleetReportSummary(TypedDict):
    nodes: Count
    wrong: Count
    """Nodes with errors or warnings, or pods that are not admitted, or whose kubelet would not start."""
    odd: Count
    """Nodes outside the largest group."""
    unknown: Count
    """Nodes of which something is not known."""
    unreadable: Count


class FleetReport(TypedDict):
    """The nodes of a fleet, those first that have to be looked at, and what is found on them, told once."""

    apiVersion: ApiVersion
    kind: Literal["FleetReport"]
    complete: bool
    """False where it was interrupted: nodes are missing then."""
    passedOver: list[str]
    """Files of the directories that are no recordings."""
    summary: FleetReportSummary
    groups: list[FleetGroup]
    """The largest first."""
    findings: list[FleetFinding]
    """The worst first."""
    nodes: list[ReportedNode | UnreadableNode]
