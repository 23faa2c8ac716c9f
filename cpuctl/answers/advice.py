"""Which settings serve pods best on a machine."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict, final

from cpuctl.answers.decisions import Refusal, Verdict
from cpuctl.answers.start import NextPart, NotStarted, PlanningHeader, PolicyInPlace, Started, UnstartedHeader
from cpuctl.answers.values import ApiVersion, Bounds, Count, CPUList


class Service(TypedDict):
    """What becomes of the pods with some settings."""

    admitted: Count
    """Pods."""
    undetermined: Count
    """Pods of which it cannot be said."""
    notAdmitted: list[str]
    """The other pods, by namespace and name."""
    onOneNumaNode: Count
    """Containers with CPUs of their own, all of them, and their devices and memory, next to one NUMA node."""
    memoryToo: Count
    """Those of them whose memory the Memory Manager keeps there."""
    coresAlone: Count
    """Cores of one container that no other container has CPUs of, nor the shared pool."""
    cacheCrossings: Count | None
    """Of all containers with CPUs of their own, the L3 caches beyond the first; null where none are known."""
    sharedPool: Count
    """CPUs of all containers without CPUs of their own."""
    largestPod: Count
    """The most CPUs, in whole cores, of one more container that would be admitted."""


class CurrentSettings(TypedDict):
    start: Started
    unbeaten: bool
    """Nothing that was tried beats the settings as they are."""
    service: Service


class FaultyCurrentSettings(TypedDict):
    start: NotStarted
    """Why the kubelet does not start with the settings as they are, or where it ends with these pods."""


class _Changed(TypedDict, total=False):
    policy: PolicyInPlace


class ProposedSettings(_Changed):
    number: Annotated[int, Bounds(1)]
    changes: list[str]
    """What differs from the settings as they are, in short."""
    beatsCurrent: bool
    service: Service
    others: Count
    """Other settings that were tried and come to the same."""
    settings: dict[str, Any]
    """The fields of a KubeletConfiguration."""
    snippet: str
    """A KubeletConfiguration with these settings, as YAML."""
    dropIn: bool
    """Whether it does as the last drop-in file: the kubelet then has these settings, all others as now."""
    flags: list[str]
    """The flags that win over what a file says, and have to go or to change."""


class LeftOut(TypedDict):
    setting: str
    why: str


class Search(TypedDict):
    possible: Count
    """Settings in all."""
    alike: Count
    """Those that cannot differ from others on this machine with these pods."""
    refused: Count
    """Those with which the kubelet does not start."""
    undetermined: Count
    """Those of which it cannot be said whether the kubelet starts."""
    failed: Count
    """Those with which it hangs or crashes over these pods."""
    tried: Count
    """Those that were run on the engine, the present ones among them."""
    budget: Count
    ended: Literal["all", "budget", "stopped"]
    """Why the search ended: all settings are known, the budget was used up, or somebody interrupted it."""


@final
class AdvisedSettings(PlanningHeader, NextPart):
    """Settings that no others beat for these pods, each of them run on the engine."""

    apiVersion: ApiVersion
    kind: Literal["Advice"]
    pods: Count
    """How many come, in the order given."""
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
    "Settings that no others beat for these pods, or why the kubelet cannot load its configuration.",
]


class MoveStep(TypedDict):
    action: Literal["evict", "admit"]
    pod: str
    """Empty: the largest there can be, which nobody has named."""
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
    """Why it ended: all was tried that matters, the budget was used up, or somebody interrupted it."""


class GivenPod(TypedDict):
    name: str
    now: Verdict
    """What becomes of it without any move."""


class LargestPod(TypedDict):
    cpus: Count
    """The exclusive CPUs of the largest container for which there is room after the moves."""
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
    """null: the largest there can be is looked for."""
    largest: LargestPod | None
    moves: Count | None
    """Pods that are evicted and admitted again; null where there is no plan."""
    steps: list[MoveStep]
    fewest: bool
    """Whether it is proven that no plan has fewer moves or, where there is none, that none exists."""
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
