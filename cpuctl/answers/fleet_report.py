"""The answer of ``cpuctl fleet report``."""

from __future__ import annotations

from typing import Literal, TypedDict, final

from cpuctl.answers.fleet import FleetFinding, FleetGroup, ListedNode, NodeName, UnreadableNode
from cpuctl.answers.report import ReportSummary
from cpuctl.answers.values import ApiVersion, Count


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
