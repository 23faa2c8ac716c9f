"""Which settings serve pods best on a machine."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict, final

from cpuctl.answers.decisions import Refusal, Verdict
from cpuctl.answers.start import NextPart, NotStarted, PlanningHeader, PolicyInPlace, Started, UnstartedHeader
from cpuctl.answers.values import ApiVersion, Bounds, Count, CPUList


class Service(TypedDict):
    """The result for the pods with some settings."""

    admitted: Count
    """Pods."""
    undetermined: Count
    """Pods whose admission is unknown."""
    notAdmitted: list[str]
    """The other pods, by namespace and name."""
    onOneNumaNode: Count
    """Containers whose exclusive CPUs, devices and memory are all on one NUMA node."""
    memoryToo: Count
    """Of these, containers whose memory is reserved there by the Memory Manager."""
    coresAlone: Count
    """Cores with exclusive CPUs of only one container and none of the shared pool."""
    cacheCrossings: Count | None
    """L3 caches beyond the first, summed over containers with exclusive CPUs; null if caches are unknown."""
    sharedPool: Count
    """CPUs of all containers without exclusive CPUs."""
    largestPod: Count
    """CPUs, in whole cores, of the largest additional container that would be admitted."""


class CurrentSettings(TypedDict):
    start: Started
    unbeaten: bool
    """Whether no settings tried are better than the current ones."""
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
    """Other settings that were tried and have the same result."""
    settings: dict[str, Any]
    """The fields of a KubeletConfiguration."""
    snippet: str
    """A KubeletConfiguration with these settings, as YAML."""
    dropIn: bool
    """Whether it works as the last drop-in file: the kubelet then has these settings and keeps all others."""
    flags: list[str]
    """Flags that override the file and must be removed or changed."""


class LeftOut(TypedDict):
    setting: str
    why: str


class Search(TypedDict):
    possible: Count
    """Settings in total."""
    alike: Count
    """Those that are equivalent to others on this machine with these pods."""
    refused: Count
    """Those with which the kubelet does not start."""
    undetermined: Count
    """Those with which it is unknown whether the kubelet starts."""
    failed: Count
    """Those with which it hangs or crashes on these pods."""
    tried: Count
    """Those that were run on the engine, including the current ones."""
    budget: Count
    ended: Literal["all", "budget", "stopped"]
    """Why the search ended: all settings were tried, the budget was used up, or it was interrupted."""


@final
class AdvisedSettings(PlanningHeader, NextPart):
    """The best settings for these pods: none is worse than another in every respect."""

    apiVersion: ApiVersion
    kind: Literal["Advice"]
    pods: Count
    """Number of new pods, in the order given."""
    search: Search
    current: CurrentSettings | FaultyCurrentSettings
    proposals: list[ProposedSettings]
    leftOut: list[LeftOut]
    """What was not tried."""


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
    """Empty: the largest possible container, which has no name."""
    cpus: CPUList
    """Its exclusive CPUs before it is evicted, or once it is admitted."""


class Immovable(TypedDict):
    pod: str
    why: str


class MoveSearch(TypedDict):
    tried: Count
    """Evictions and admissions that were run on the engine."""
    budget: Count
    ended: Literal["all", "budget", "stopped"]
    """Why it ended: everything relevant was tried, the budget was used up, or it was interrupted."""


class GivenPod(TypedDict):
    name: str
    now: Verdict
    """The decision about it without any move."""


class LargestPod(TypedDict):
    cpus: Count
    """The exclusive CPUs of the largest container that fits after the moves."""
    now: Count
    """The same without any move."""
    proven: bool
    """Whether nothing larger is possible."""


class WhyNotPart(TypedDict, total=False):
    whyNot: Refusal
    """What no move can change."""


@final
class FoundMoves(PlanningHeader, WhyNotPart):
    """The fewest moves after which a pod fits: every step has been run on the engine."""

    apiVersion: ApiVersion
    kind: Literal["Defragmentation"]
    start: Started
    pod: GivenPod | None
    """null: the search is for the largest possible container."""
    largest: LargestPod | None
    moves: Count | None
    """Pods that are evicted and admitted again; null if there is no plan."""
    steps: list[MoveStep]
    fewest: bool
    """Whether it is proven that no plan has fewer moves or, without a plan, that none exists."""
    immovable: list[Immovable]
    """Pods with CPUs, memory or devices of their own that are not moved."""
    search: MoveSearch


@final
class UnstartedDefragmentation(UnstartedHeader):
    """A kubelet that would not start."""

    apiVersion: ApiVersion
    kind: Literal["Defragmentation"]
    start: NotStarted


Defragmentation = Annotated[
    FoundMoves | UnstartedDefragmentation,
    "The fewest moves of pods on a node after which another one fits, or why its kubelet would not start.",
]
