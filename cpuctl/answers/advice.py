"""Which settings serve pods best on a machine."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict, final

from cpuctl.answers.decisions import Rejection, Verdict
from cpuctl.answers.start import NotStarted, PlanningHeader, PolicyInPlace, Started, UnstartedHeader
from cpuctl.answers.values import ApiVersion, Bounds, Count, CPUList


class Service(TypedDict):
    """The result for the pods with these settings."""

    admitted: Count
    """Pods that are admitted."""
    undetermined: Count
    """Pods whose admission is unknown."""
    notAdmitted: list[str]
    """Pods that are not admitted or whose admission is unknown, by namespace and name."""
    onOneNumaNode: Count
    """Containers whose exclusive CPUs, devices and memory are all on one NUMA node."""
    memoryOnOneNumaNode: Count
    """Of these, containers whose memory the Memory Manager reserves on that node."""
    unsharedCores: Count
    """Cores with exclusive CPUs of a single container and no CPUs of the shared pool."""
    cacheCrossings: Count | None
    """L3 caches beyond the first that a container's exclusive CPUs belong to, summed over containers; null if
    caches are unknown.
    """
    sharedPool: Count
    """Number of CPUs in the shared pool, for all containers without exclusive CPUs."""
    largestPod: Count
    """Number of CPUs, in whole cores, of the largest additional container that would be admitted."""
    overlappingPods: Count
    """Pods with exclusive CPUs that are reserved or also another pod's."""


class CurrentSettings(TypedDict):
    start: Started
    unbeaten: bool
    """Whether none of the settings tried is better than the current ones."""
    service: Service


class FaultyCurrentSettings(TypedDict):
    start: NotStarted
    """Why the kubelet does not start with the current settings, or where it fails with these pods."""


class _Changed(TypedDict, total=False):
    policy: PolicyInPlace


class ProposedSettings(_Changed):
    number: Annotated[int, Bounds(1)]
    changes: list[str]
    """A short description of the differences from the current settings."""
    beatsCurrent: bool
    service: Service
    others: Count
    """Number of other settings that were tried and have the same result."""
    settings: dict[str, Any]
    """These settings as fields of a KubeletConfiguration."""
    snippet: str
    """A KubeletConfiguration with these settings, as YAML."""
    dropIn: bool
    """Whether the snippet works as the last drop-in file: the kubelet then has these settings and keeps all
    others.
    """
    flags: list[str]
    """Flags that override the file and must be removed or changed."""
    stateFiles: list[str]
    """State files to delete, if they exist, before the kubelet starts: they do not fit these settings."""


class SkippedSetting(TypedDict):
    setting: str
    why: str


class Search(TypedDict):
    possible: Count
    """Number of possible settings."""
    equivalent: Count
    """Settings that are equivalent to others on this machine with these pods."""
    wouldNotStart: Count
    """Settings with which the kubelet does not start."""
    undetermined: Count
    """Settings with which it is unknown whether the kubelet starts."""
    whyUndetermined: list[str]
    """Why it is unknown: each reason once."""
    failed: Count
    """Settings with which the kubelet hangs or crashes on these pods."""
    tried: Count
    """Settings that were simulated, including the current ones."""
    budget: Count
    """Maximum number of settings to try."""
    ended: Literal["all", "budget", "stopped"]
    """Why the search ended: all settings were tried, the budget was used up, or it was interrupted."""


class NextAdvice(TypedDict, total=False):
    next: str
    """The command to run next: it prints the settings of a proposal or, without proposals, shows
    what to change or why a pod is not admitted. FILE stands for what was read from standard input."""


@final
class AdvisedSettings(PlanningHeader, NextAdvice):
    """The best settings for these pods: none is worse than another in every respect."""

    apiVersion: ApiVersion
    kind: Literal["Advice"]
    pods: Count
    """Number of new pods, in the order given."""
    search: Search
    current: CurrentSettings | FaultyCurrentSettings
    proposals: list[ProposedSettings]
    skipped: list[SkippedSetting]
    """Settings that were not tried, and why."""


@final
class UnloadedAdvice(UnstartedHeader):
    """A configuration that the kubelet cannot load."""

    apiVersion: ApiVersion
    kind: Literal["Advice"]
    start: NotStarted


Advice = Annotated[
    AdvisedSettings | UnloadedAdvice,
    "The best settings for these pods, or why the kubelet cannot load its configuration.",
]


class MoveStep(TypedDict):
    action: Literal["evict", "admit"]
    pod: str
    """Empty for the largest possible container, which has no name."""
    cpus: CPUList
    """Its exclusive CPUs before it is evicted, or once it is admitted."""


class Immovable(TypedDict):
    pod: str
    why: str


class MoveSearch(TypedDict):
    tried: Count
    """Number of evictions and admissions that were simulated."""
    budget: Count
    """Maximum number of evictions and admissions to try."""
    ended: Literal["all", "budget", "stopped"]
    """Why it ended: everything relevant was tried, the budget was used up, or it was interrupted."""


class GivenPod(TypedDict):
    name: str
    now: Verdict
    """The decision about the pod without any move."""


class LargestPod(TypedDict):
    cpus: Count
    """Number of exclusive CPUs of the largest container that fits after the moves."""
    now: Count
    """The same number without any move."""
    proven: bool
    """Whether it is proven that nothing larger is possible."""


class WhyNotPart(TypedDict, total=False):
    whyNot: Rejection
    """Why no move helps."""


class NextMove(TypedDict, total=False):
    next: str
    """The command to run next: it shows why the pod is not admitted although pods may move. FILE stands for
    what was read from standard input."""


class StartCheck(TypedDict, total=False):
    next: str
    """The command to run next: it shows what to change. Without it, *start* shows that."""


@final
class FoundMoves(PlanningHeader, WhyNotPart, NextMove):
    """The fewest moves after which a pod fits: every step has been simulated."""

    apiVersion: ApiVersion
    kind: Literal["Defragmentation"]
    start: Started
    pod: GivenPod | None
    """Null if the search is for the largest possible container."""
    largest: LargestPod | None
    moves: Count | None
    """Number of pods that are evicted and admitted again; null if there is no plan."""
    sharedCPUs: CPUList
    """CPUs that the pod, or the largest container, would get without moves although they are reserved or
    another pod's.
    """
    steps: list[MoveStep]
    minimal: bool
    """Whether it is proven that no plan has fewer moves or, without a plan, that none exists."""
    immovable: list[Immovable]
    """Pods that hold CPUs, memory or devices but are not moved."""
    search: MoveSearch


@final
class UnstartedDefragmentation(UnstartedHeader, StartCheck):
    """A kubelet that would not start."""

    apiVersion: ApiVersion
    kind: Literal["Defragmentation"]
    start: NotStarted


Defragmentation = Annotated[
    FoundMoves | UnstartedDefragmentation,
    "The fewest moves of pods on a node after which another one fits, or why its kubelet would not start.",
]
