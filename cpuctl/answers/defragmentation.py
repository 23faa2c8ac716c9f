"""Which pods of a node to move, so that another one fits."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict, final

from cpuctl.answers.decisions import Refusal, Verdict
from cpuctl.answers.start import NotStarted, PlanningHeader, Started, UnstartedHeader
from cpuctl.answers.values import ApiVersion, Count, CPUList


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
