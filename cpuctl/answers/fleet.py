"""The answers of ``cpuctl fleet list``, ``check`` and ``diff``: many nodes and their summary."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict, final

from cpuctl.answers.start import NextPart, Start
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


class PublishedNode(NodeName):
    """What an exporter on one node would publish."""

    outcome: Literal["Read"]
    object: dict[str, Any]
    notes: list[str]
    """What is wrong with the object or missing from it."""


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
