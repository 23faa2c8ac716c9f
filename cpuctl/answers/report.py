"""The answer of ``cpuctl report``: a node as a whole, from the answers of other commands."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict, final

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
    """Something about the node that cannot be determined: it is neither clean nor wrong."""

    part: ReportPart
    what: str
    """What is missing, and why."""


class ReportSummary(FindingCounts):
    """The findings of all parts, and what is unknown."""

    start: Literal["Started", "Rejected", "KubeletFault", "Undetermined"]
    """Whether the kubelet would start on this machine with its state files."""
    notAdmitted: Count | None
    """Given pods that are not admitted; null if none were given or no kubelet starts."""
    unmet: Count | None
    """Expectations of the timeline that are not met; null without a timeline."""
    unknown: Count
    """Number of unknown things."""


class ReportParts(TypedDict, total=False):
    """Parts are absent if not requested, or for the reason in *unknown*."""

    next: str
    """The command that explains a pod that is not admitted or, without one, also shows notes and fixes."""
    state: CheckpointVerify
    """Whether the kubelet would start with the node's state files."""
    holders: CheckpointDump
    """Owners of CPUs and memory according to these files, with a map of the machine."""
    audit: Audit
    """The node compared with its kubelet's state."""
    plan: NotStartedPlan | StartedPlan
    """The result for the given pods."""
    planned: PlanPicture
    """The owners of CPUs once these pods are admitted, with a map of the machine."""
    explanations: list[Explanation]
    """Why pods are not admitted, and what would change that."""
    unexplained: list[str]
    """Pods that are not admitted and not explained because too many were rejected."""
    timeline: Replay
    """The node over time."""


class Report(ReportParts):
    """A node as a whole: its machine, configuration, CPU owners, and problems."""

    apiVersion: ApiVersion
    kind: Literal["Report"]
    node: str
    """The node's name: that of its recording, or this host's name."""
    recordedAt: str | None
    """When it was recorded or read (RFC 3339); null if unknown."""
    sources: Sources
    summary: ReportSummary
    machine: Topology
    configuration: ConfigCheck
    unknown: list[UnknownPart]
    warnings: list[str]
    """Warnings about the inputs."""


@final
class ReportedNode(NodeName):
    """The state of one node of a fleet."""

    outcome: Literal["Read"]
    verdict: str
    """The node's state in one sentence, as on its page."""
    summary: ReportSummary
    page: str | None
    """The file with its page, next to the index; null without pages."""
    listed: ListedNode


class FleetReportSummary(TypedDict):
    nodes: Count
    withProblems: Count
    """Nodes with errors or warnings, or pods that are not admitted, or whose kubelet would not start."""
    outliers: Count
    """Nodes outside the largest group."""
    unknown: Count
    """Nodes about which something is unknown."""
    unreadable: Count


class FleetReport(TypedDict):
    """The nodes of a fleet, most urgent first, and all findings, each once."""

    apiVersion: ApiVersion
    kind: Literal["FleetReport"]
    complete: bool
    """False if the command was interrupted; some nodes are then missing."""
    skipped: list[str]
    """Files in the directories that are not recordings."""
    summary: FleetReportSummary
    groups: list[FleetGroup]
    """Largest first."""
    findings: list[FleetFinding]
    """Most severe first."""
    nodes: list[ReportedNode | UnreadableNode]
    next: NotRequired[str]
    """The command that shows which of the given pods a node does not admit, and why."""
