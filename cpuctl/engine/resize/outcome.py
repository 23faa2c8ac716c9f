"""The outcome of a resize: who decided what, and what the pod's status says about it."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

from cpuctl.engine.cpu.resizing.request import Departure
from cpuctl.engine.hints.topology_manager import HintRound
from cpuctl.engine.outcome import Admitted, Rejected, Verdict
from cpuctl.engine.placement import Placement
from cpuctl.engine.resize.rules import ResizeRules
from cpuctl.engine.resize.running import PodResize
from cpuctl.records import Record


class ResizeResult(StrEnum):
    """How a resize ends.

    ``Forbidden``: the API server refuses it, and the pod stays as it is. ``Ignored``: the kubelet does not
    even check it. ``NoEffect``: the kubelet accepts it, but a container's exclusive CPUs stay as they are.
    """

    ADMITTED = "Admitted"
    UNCHANGED = "Unchanged"
    NO_EFFECT = "NoEffect"
    DEFERRED = "Deferred"
    INFEASIBLE = "Infeasible"
    FORBIDDEN = "Forbidden"
    IGNORED = "Ignored"
    FAULT = "KubeletFault"
    UNKNOWN = "Undetermined"

    @property
    def accepted(self) -> bool:
        """Whether the kubelet has granted the desired resources."""
        return self in (ResizeResult.ADMITTED, ResizeResult.NO_EFFECT)


class DecidedBy(StrEnum):
    """The component that decided in the end."""

    NONE = "none"
    API_SERVER = "apiServer"
    RESIZE_HANDLER = "podResizes"
    MANAGERS = "resourceManagers"
    NODE_FIT = "nodeFit"


class Obstacle(StrEnum):
    """The obstacle to a refused resize.

    ``POD``: a running pod may not be changed like that, but a new one may have these resources. ``NODE``:
    too little of a resource is free, or the node is too small.
    """

    POD = "pod"
    NODE = "node"


class CPUShare(Record):
    """A container's exclusive CPUs (masks), None if it shares; ``baseline`` are those it was promised."""

    before: int | None
    after: int | None
    baseline: int | None


class ResizeOutcome(Record):
    """The decision about one resize and what it is based on.

    ``message`` is in the words of the component that decided. ``shares`` has the containers that hold or
    held exclusive CPUs, ``unfollowed`` those among them whose CPUs do not follow their new size. ``preview``
    shows that the allocator of KEP-5554 was asked, ``departures`` where its reference implementation
    differs. ``delay`` is the minimum number of nanoseconds for which containers keep the CPUs that they lose
    (KEP-6122). ``obstacle`` is None if the resize is not refused, or if no new pod may have these resources.
    """

    request: PodResize
    result: ResizeResult
    decided_by: DecidedBy
    verdict: Verdict = Admitted()
    message: str = ""
    shares: Mapping[str, CPUShare] = {}
    unfollowed: tuple[str, ...] = ()
    hint_rounds: tuple[HintRound, ...] = ()
    placements: tuple[Placement, ...] = ()
    preview: bool = False
    departures: tuple[Departure, ...] = ()
    delay: int = 0
    obstacle: Obstacle | None = None

    @property
    def reason(self) -> str:
        """The kubelet's reason, if it refuses."""
        return str(self.verdict.reason) if isinstance(self.verdict, Rejected) else ""


ConditionType = Literal["PodResizePending", "PodResizeInProgress"]


class Condition(Record):
    """A condition of the pod that is ``True``; ``observed_generation`` is None if not reported."""

    type: ConditionType
    reason: str = ""
    message: str = ""
    observed_generation: int | None = None


def conditions_of(outcome: ResizeOutcome, rules: ResizeRules) -> tuple[Condition, ...]:
    """Return the pod's resize conditions right after the decision, only those that are ``True``."""
    generation = outcome.request.generation if rules.observes_generation else None
    if not rules.conditions:
        return ()
    if outcome.result in (ResizeResult.DEFERRED, ResizeResult.INFEASIBLE):
        return (
            Condition(
                type="PodResizePending",
                reason=str(outcome.result),
                message=outcome.message,
                observed_generation=generation,
            ),
        )
    if outcome.result.accepted:
        return (Condition(type="PodResizeInProgress", observed_generation=generation),)
    return ()


LegacyStatus = Literal["Proposed", "InProgress", "Deferred", "Infeasible"]
_LEGACY: Mapping[ResizeResult, LegacyStatus] = {
    ResizeResult.ADMITTED: "InProgress",
    ResizeResult.NO_EFFECT: "InProgress",
    ResizeResult.DEFERRED: "Deferred",
    ResizeResult.INFEASIBLE: "Infeasible",
    ResizeResult.IGNORED: "Proposed",  # by the API server; no kubelet answers
}


def legacy_status(outcome: ResizeOutcome, rules: ResizeRules) -> LegacyStatus | None:
    """Return the value of ``status.resize``, which conditions replaced in 1.33; None if it is empty."""
    return None if rules.conditions else _LEGACY.get(outcome.result)
