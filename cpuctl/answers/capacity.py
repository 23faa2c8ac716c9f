"""What else fits on a node after a plan."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict, final

from cpuctl.answers.decisions import Rejection, Verdict
from cpuctl.answers.start import NotStarted, Started
from cpuctl.answers.values import Bounds, Count, CPUList, TopologyPolicy


class Repeat(TypedDict):
    """How many copies of all pods fit (--repeat)."""

    requested: Literal["max"] | Annotated[int, Bounds(1)]
    rounds: Count
    """How many copies of the pods are in this plan."""
    fitted: Count | None
    """How many complete copies were admitted; null if the result for a pod is unknown."""
    stop: StoppedPod | None
    """The first pod that was not admitted; with max, it is not in this plan unless nothing fitted."""
    bound: Count | None
    """The number of pods at which max ended, if no pod stopped it."""


class StoppedPod(Rejection):
    pod: str


class Copies(TypedDict):
    pods: list[str]
    """Pods that differ only in their names."""
    fits: Count | None
    """How many more pods of this kind the node admits; null if unknown."""
    stop: Rejection | None
    """Why one more pod does not fit; null if that was not tried."""


class _UnderPolicy(TypedDict):
    topologyManagerPolicy: TopologyPolicy
    current: bool
    """Whether it is the policy of this plan."""


@final
class LargestFitting(_UnderPolicy):
    start: Started
    cpus: Count
    """The largest number of exclusive CPUs that one more container would get."""
    stop: LargerRequest | None
    """The next larger request and its result; null if no more CPUs are free."""


@final
class LargestNotStarted(_UnderPolicy):
    start: NotStarted


LargestRequest = LargestFitting | LargestNotStarted


class LargerRequest(Rejection):
    cpus: Count


class Room(TypedDict):
    id: int
    cpus: CPUList
    freeCPUs: CPUList
    free: Count
    largest: Count
    """The largest request, in CPUs, that is admitted with all its CPUs here."""


class CacheRoom(Room):
    numaNodes: list[int]
    """The NUMA nodes that the uncore cache belongs to."""


class Scatter(TypedDict):
    reached: Count
    possible: Count
    percent: Annotated[int, Bounds(0, 100)]
    """The loss: 100 * (possible - reached) / possible, rounded down, but 0 only if nothing is lost."""


class Fragmentation(TypedDict):
    """How scattered the CPUs still free for exclusive use are; 0% without containers."""

    core: Scatter
    """reached: free CPUs on cores with all CPUs free; possible: the most that could be free there with the
    same number of free CPUs. Siblings of reserved CPUs do not count.
    """
    uncoreCache: Scatter | None
    """reached: the most free CPUs in one uncore cache; possible: the most that could be free there with the
    same number of free CPUs. Null if caches are not recorded.
    """
    numaNode: Scatter
    """The same for NUMA nodes."""


class EvictedPod(TypedDict):
    pod: str
    uid: str
    cpus: CPUList
    cpusAfter: CPUList | None
    """Null if the pod is not placed again."""


class _Rejected(TypedDict):
    pods: list[str]
    """Pods that differ only in their names."""


class Trial(TypedDict):
    cpus: CPUList
    """The exclusive CPUs that the pod would get."""
    evicted: list[EvictedPod]
    minimal: bool
    """Whether it is proven that fewer pods are not enough."""
    excluded: Count
    """No set of up to this many pods helps."""
    immovable: Count | None
    """If pods must be removed: no set of up to this many pods could be moved instead; null: no set of
    any size could."""
    admissions: Count
    """Number of admissions that were tried."""


class Remedy(_Rejected, Trial, Verdict):
    """A change that admits rejected pods of one kind, and the decision after it."""

    remedy: Literal["nothing", "moves", "evictions", "unknown"]
    """nothing: the node admits one as it is; moves: other pods are evicted and admitted again after it, the
    largest first; evictions: other pods are removed.
    """


class NoRemedy(_Rejected, Trial, Rejection):
    """The node rejects pods of this kind even without other pods, for this reason."""

    remedy: Literal["impossible"]


class SearchBounds(TypedDict):
    copies: Count
    """Maximum number of copies tried of one kind."""
    kinds: Count
    """Maximum number of kinds of pods whose copies are counted."""
    admissions: Count
    """Maximum number of admissions tried for remedies, shared by the kinds of rejected pods."""
    evictions: Count
    """Maximum number of pods that a remedy moves or removes."""


class Capacity(TypedDict):
    """What else fits (--capacity), after rejected pods have returned their CPUs.

    Absent if the kubelet does not start or has failed.
    """

    copies: list[Copies]
    skippedKinds: Count
    """Kinds of pods whose copies were not counted because there are too many kinds."""
    largestRequests: list[LargestRequest]
    """By Topology Manager policy; all else is unchanged."""
    numaNodes: list[Room]
    uncoreCaches: list[CacheRoom]
    fragmentation: Fragmentation | None
    """Null if there are no exclusive CPUs."""
    remedies: list[Remedy | NoRemedy]
    bounds: SearchBounds
    """The limits of the searches."""
