"""What a plan leaves room for."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict, final

from cpuctl.answers.decisions import Refusal, Verdict
from cpuctl.answers.start import NotStarted, Started
from cpuctl.answers.values import Bounds, Count, CPUList, TopologyPolicy


class Repeat(TypedDict):
    """How many copies of all pods fit (--repeat)."""

    asked: Literal["max"] | Annotated[int, Bounds(1)]
    rounds: Count
    """How many times over the pods are in this plan."""
    fitted: Count | None
    """How many of the first rounds were admitted whole; null where it is not known what becomes of a pod."""
    stop: StoppedPod | None
    """The first pod that was not admitted; with max it is not in this plan unless nothing fitted."""
    bound: Count | None
    """The number of pods at which max ended, where no pod stopped it."""


class StoppedPod(Refusal):
    pod: str


class Copies(TypedDict):
    pods: list[str]
    """Pods that differ in their names only."""
    fits: Count | None
    """How many more of this kind the node admits; null where it is not known what becomes of one."""
    stop: Refusal | None
    """Why not one more; null where that was not tried."""


class _UnderPolicy(TypedDict):
    topologyManagerPolicy: TopologyPolicy
    current: bool
    """Whether it is the policy of this plan."""


@final
class LargestFitting(_UnderPolicy):
    start: Started
    cpus: Count
    """The most exclusive CPUs that one more container would get."""
    stop: LargerRequest | None
    """The next larger request and what becomes of it; null where no more CPUs are free."""


@final
class LargestNotStarted(_UnderPolicy):
    start: NotStarted


LargestRequest = LargestFitting | LargestNotStarted


class LargerRequest(Refusal):
    cpus: Count


class Room(TypedDict):
    id: int
    cpus: CPUList
    freeCPUs: CPUList
    free: Count
    largest: Count
    """The largest request that gets all its CPUs here when every free CPU elsewhere is taken.

    What the node has in all is left out of account.
    """


class CacheRoom(Room):
    numaNodes: list[int]
    """Of an uncore cache: the NUMA nodes that it belongs to."""


class Scatter(TypedDict):
    reached: Count
    possible: Count
    percent: Annotated[int, Bounds(0, 100)]
    """What is lost: 100 * (possible - reached) / possible, rounded down, but 0 only where nothing is."""


class Fragmentation(TypedDict):
    """How far the CPUs that can still become exclusive are scattered; 0% without containers."""

    core: Scatter
    """reached: free CPUs on cores of which no container has a part; possible: all free CPUs."""
    uncoreCache: Scatter | None
    """reached: the most free CPUs in one uncore cache; possible: the most there could be with as
    many CPUs free. Null where nothing is recorded of caches.
    """
    numaNode: Scatter
    """The same for NUMA nodes."""


class Leaving(TypedDict):
    pod: str
    uid: str
    cpus: CPUList
    cpusAfter: CPUList | None
    """null where the pod does not come back."""


class _Rejected(TypedDict):
    pods: list[str]
    """Pods that differ in their names only."""


class Trial(TypedDict):
    cpus: CPUList
    """The exclusive CPUs that the pod gets then."""
    leaving: list[Leaving]
    fewest: bool
    """Whether it is proven that fewer pods are not enough."""
    excluded: Count
    """No set of up to so many pods helps in this way."""
    immovable: Count | None
    """Where pods have to go: no set of up to so many pods could be moved instead, null: none at all."""
    admissions: Count
    """Admissions that were tried."""


class Remedy(_Rejected, Trial, Verdict):
    """What would let rejected pods of one kind in, and the verdict then."""

    remedy: Literal["nothing", "moves", "evictions", "unknown"]
    """nothing: the node admits one as it is now; moves: others leave, and come back once it is admitted, the
    largest first; evictions: others go.
    """


class NoRemedy(_Rejected, Trial, Refusal):
    """The node rejects pods of this kind also when no other pod runs there, and so it says."""

    remedy: Literal["impossible"]


class SearchBounds(TypedDict):
    copies: Count
    """Copies tried of one kind."""
    kinds: Count
    """Kinds of pods whose copies are counted."""
    admissions: Count
    """Admissions tried for remedies, shared by the kinds of rejected pods."""
    leaving: Count
    """Pods that a remedy moves or sends away."""


class Capacity(TypedDict):
    """What else fits (--capacity), once CPUs of rejected pods have come back.

    It is absent where the kubelet does not start or has failed.
    """

    copies: list[Copies]
    kindsLeftOut: Count
    """Kinds of pods of which no copies were counted: there are too many."""
    largestRequests: list[LargestRequest]
    """By policy of the Topology Manager, everything else and all pods being as they are."""
    numaNodes: list[Room]
    uncoreCaches: list[CacheRoom]
    fragmentation: Fragmentation | None
    """null: there are no exclusive CPUs."""
    refused: list[Remedy | NoRemedy]
    bounds: SearchBounds
    """What the searches are bounded by."""
