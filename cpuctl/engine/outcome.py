"""The possible results of a decision: values, never exceptions. Different kinds are never equal.

A kubelet's "no" is ``Rejected``; if the real kubelet would loop forever or crash, the answer is a
``KubeletFault``; if the input lacks what the answer depends on, it is ``Undetermined``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

from cpuctl.engine.changeable import ByContent
from cpuctl.engine.masks import CPUMask
from cpuctl.records import Record


class FaultKind(StrEnum):
    """How the real kubelet fails."""

    ENDLESS_LOOP = "endless loop"
    NO_ANSWER = "no answer"
    CRASH = "crash"


class KubeletFault(Record):
    """A failure instead of an answer: where in the kubelet, and why."""

    kind: FaultKind
    where: str
    why: str


class Undetermined(Record):
    """Why there is no answer: the input lacks what it depends on, or no kubelet's answer is known.

    ``variants`` are the possible answers if only chance decides between them, such as the order of a map.
    ``without_flags`` is the answer of a kubelet of unknown flags if it has none.
    """

    why: str
    variants: tuple[str, ...] = ()
    without_flags: StartRefused | None = None

    @property
    def text(self) -> str:
        """Why, and what the answer may be."""
        return f"{self.why}: {', or '.join(self.variants)}" if self.variants else self.why


_SAY_IT = "set --memory QUANTITY (plan, advise, explain, resize, config, checkpoint)"

MEMORY_UNKNOWN = f"the machine information does not include the amount of memory: {_SAY_IT}"
"""Why what depends on memory is undetermined on a machine that was recorded without it."""


CORES_UNKNOWN = (
    "the core and package of the CPUs are not recorded (cpu*/topology), but the kubelet needs both"
)
"""Why it is undetermined what a kubelet does on a machine that was recorded without cores."""


CACHES_UNKNOWN = (
    "L3 caches are not recorded: prefer-align-cpus-by-uncorecache uses sockets instead here, "
    "so the node may choose other CPUs"
)
"""Why CPUs that are picked by cache are uncertain on a machine that was recorded without caches."""


HUGE_PAGES_UNKNOWN = (
    "memory_manager_state has huge pages, but those of the node are not recorded: the kubelet compares them"
)
"""Why it is undetermined whether a kubelet would take over a state file of the Memory Manager."""


def memory_unknown_of(nodes: Sequence[int]) -> str:
    """Return why what depends on memory is undetermined if that of these NUMA nodes was not recorded."""
    named = (
        f"NUMA node {nodes[0]} has" if len(nodes) == 1 else f"NUMA nodes {', '.join(map(str, nodes))} have"
    )
    return f"the machine information does not include the memory that {named}: {_SAY_IT}"


class RejectionReason(StrEnum):
    """The reasons a kubelet writes into the status of a pod it refuses."""

    TOPOLOGY_AFFINITY = "TopologyAffinityError"
    SMT_ALIGNMENT = "SMTAlignmentError"
    UNEXPECTED_ADMISSION = "UnexpectedAdmissionError"
    EMPTY_POD_SHARED_POOL = "EmptyPodSharedPoolError"


FAILED_IN_POD_SCOPE = (
    "Pod Scope pod with pod-level resources failed admission under pod-scope topology manager"
)
"""The kubelet's words if no hint for a divided pod is admitted (KEP-5526)."""


class Rejected(Record):
    """The kubelet refuses the pod, with its reason and message; what was allocated before stays taken.

    ``reason`` is a ``RejectionReason``, a ``ResizeReason``, ``PodLevelResourcesNotSupported`` or, if the
    node is too small, ``OutOf`` and the resource's name. ``container`` is empty if the pod as a whole is
    refused. ``details`` are the amounts behind the message: CPUs, bytes or devices, and CPU in milli if
    the node is too small.
    """

    reason: str
    message: str
    container: str = ""
    details: Mapping[str, int] = {}


class Forbidden(Record):
    """A pod that no API server stores, so no kubelet sees it: the server's words, in its order."""

    refusals: tuple[str, ...]


class Pending(Record):
    """A pod for whose claims the scheduler finds no devices, so no kubelet sees it; ``message`` says why.

    Or a static pod with claims, whose manifest no kubelet accepts.
    """

    message: str


class Admitted(ByContent):
    """The kubelet runs the pod."""


Verdict = Admitted | Rejected | Forbidden | Pending | KubeletFault | Undetermined


def why_not(verdict: Rejected | Forbidden | Pending | KubeletFault | Undetermined) -> str:
    """Return in a few words why a pod does not run, or why it is unknown whether it does."""
    match verdict:
        case Rejected():
            return f"{verdict.reason}: {verdict.message}"
        case Forbidden():
            return "; ".join(verdict.refusals)
        case Pending():
            return verdict.message
        case KubeletFault() | Undetermined():
            return verdict.why


class AllocationError(Record):
    """The kubelet's error text for CPUs that cannot be picked."""

    message: str


class PickStep(Record):
    """One rule of the picker that took CPUs (a mask): the evidence behind a placement."""

    rule: str
    cpus: CPUMask


class Weighing(Record):
    """How a policy that no kubelet has rated the CPUs it could take, and which set won.

    ``removed`` are CPUs (a mask) that its filters removed, ``scores`` those of the others, ``sets`` the sets
    that it considered with their scores, ``winner`` the index of the one that was taken. ``aside``: only for
    what was missing on the intended NUMA nodes.
    """

    removed: CPUMask
    scores: Mapping[int, float]
    sets: tuple[tuple[CPUMask, float], ...]
    winner: int
    aside: bool = False


class Picked(Record):
    """The CPUs a picker chose, as a mask, and the steps that chose them, or a policy that weighed them."""

    cpus: CPUMask
    steps: tuple[PickStep, ...] = ()
    weighings: tuple[Weighing, ...] = ()


PickResult = Picked | AllocationError | KubeletFault | Undetermined


_ON_STATE_FILES = ("cpuManagerStart", "memoryManagerStart")
"""The stages in which managers read their state files."""


class StartRefused(Record):
    """A refused start: the stage, the kubelet's error text, and the settings to fix, by path."""

    stage: str
    error: str
    settings: tuple[tuple[str, ...], ...] = ()

    @property
    def by_state_file(self) -> bool:
        """Whether the CPU or Memory Manager rejects its state file."""
        return self.stage in _ON_STATE_FILES
