"""Resize requests, resizes that are always refused, and the results of a resize.

Rule: KEP-5554; the texts are those of its reference implementation, as no release has the allocator.
"""

from collections.abc import Mapping
from enum import StrEnum

from cpuctl.cpuset import CPUSet
from cpuctl.engine.cpu.state import CPUManagerState
from cpuctl.engine.hints.topology_manager import HintRound
from cpuctl.engine.outcome import Admitted, Rejected
from cpuctl.engine.placement import Placement
from cpuctl.engine.provider import Refusal
from cpuctl.pods.model import Container, StoredPod
from cpuctl.quantity import Quantity
from cpuctl.records import Record, replace

_NOTHING = Quantity.parse("0")


class ResizeReason(StrEnum):
    """The reasons that the resize of exclusive CPUs adds to those of admission (KEP-5554)."""

    PROHIBITED = "prohibitedCPUAllocationError"
    INCONSISTENT = "inconsistentCPUAllocationError"
    NO_BASELINE = "getOriginalCPUSetError"
    ALLOCATION = "ResizeAllocateCPUsError"
    UNSUPPORTED = "UnsupportedLifecycleOperationError"


Status = Mapping[str, Quantity | None]
"""The CPUs allocated according to a pod's status, by container; None if it has no such value."""


class ResizeRequest(Record):
    """A pod with its desired resources, the pod ``before``, and the CPUs allocated according to its status.

    ``allocated`` has None for a container without such a value; a container that is not listed has no
    status. Only app containers have one in the reference implementation.
    """

    pod: StoredPod
    before: StoredPod
    allocated: Status

    @classmethod
    def of(cls, pod: StoredPod, before: StoredPod, status: Status | None = None) -> "ResizeRequest":
        """Return a request for *pod* where *before* runs; the default *status* agrees with *before*."""
        allocated = {each.name: each.resources.requests.get("cpu") for each in before.containers}
        return cls(pod=pod, before=before, allocated=allocated if status is None else status)

    def with_all_allocated(self) -> "ResizeRequest":
        """Return the request with a status for init containers and sidecars, too."""
        inner = {each.name: each.resources.requests.get("cpu") for each in self.before.init_containers}
        return replace(self, allocated=inner | dict(self.allocated))

    def allocated_cpus(self, container: Container) -> int:
        """Return the CPUs allocated according to a container's status, rounded up; 0 without a value."""
        amount = self.allocated.get(container.name)
        return amount.value if amount is not None else 0


def status_while_waiting(pod: StoredPod, state: CPUManagerState) -> Status | None:
    """Return the CPUs that a running pod's containers still have, not what they will keep (KEP-6122).

    Return None if none of them waits for the end of its delay.
    """
    waiting = state.pending.get(pod.uid)
    if not waiting:
        return None
    held = state.assignments[pod.uid]
    return {
        each.name: Quantity.from_value(held[each.name].bit_count())
        if each.name in waiting
        else each.resources.requests.get("cpu")
        for each in pod.containers
    }


def below_baseline(requested: Quantity, allocated: Quantity, guaranteed: int, container: str) -> Rejected:
    """Refuse to take CPUs that were guaranteed at admission."""
    return Rejected(
        reason=ResizeReason.PROHIBITED,
        message=(
            "prohibitedCPUAllocation Error: Skip resize, Not allowed to reduce container exclusively "
            f"allocated pool below promised, (requested CPUs = {requested}, allocated CPUs = {allocated}, "
            f"promised CPUs = {guaranteed}, guaranteed CPUs = {requested.value})"
        ),
        container=container,
        details={"requested": requested.value, "guaranteed": guaranteed},
    )


def to_shared(requested: Quantity, allocated: Quantity, container: str) -> Rejected:
    """Refuse to move a container from exclusive CPUs to the shared pool."""
    return _inconsistent(
        "Not allowed to move a container from exclusively allocated pool to shared pool, not allowed ",
        (requested, allocated),
        container,
    )


def to_exclusive(requested: Quantity, allocated: Quantity, container: str) -> Rejected:
    """Refuse to move a container from the shared pool to exclusive CPUs."""
    return _inconsistent(
        "Not allowed to move a container from shared pool to exclusively allocated pool, ",
        (requested, allocated),
        container,
    )


def _inconsistent(why: str, amounts: tuple[Quantity, Quantity], container: str) -> Rejected:
    requested, allocated = map(str, amounts)
    if requested == allocated:
        same = f"(requested CPUs = {requested} equal to allocated CPUs = {allocated})"
        stated = f"Skip resize, nothing to be done, {same}"
    else:
        stated = f"{why}(requested CPUs = {requested}, allocated CPUs = {allocated})"
    return Rejected(
        reason=ResizeReason.INCONSISTENT,
        message=f"inconsistentCPUAllocation Error: {stated}",
        container=container,
    )


def no_baseline(uid: str, container: str) -> Rejected:
    """Refuse if the CPUs guaranteed at admission are not known."""
    return Rejected(
        reason=ResizeReason.NO_BASELINE,
        message=(
            "getOriginalCPUSet Error: Skip resize, unable to get PromisedCPUSet, nothing to be done, "
            f"(podUID = {uid}, containerName {container})"
        ),
        container=container,
    )


def cannot_allocate(uid: str, container: str, why: str) -> Rejected:
    """Refuse if the allocator finds no CPUs."""
    return Rejected(
        reason=ResizeReason.ALLOCATION,
        message=(
            "ResizeAllocateCPUs Error: Skip resize, unable to resize container exclusively allocated pool, "
            f"(podUID = {uid}, containerName = {container}, topologyError = {why})"
        ),
        container=container,
    )


def divided_pod() -> Rejected:
    """Refuse a pod that holds CPUs as a whole (KEP-5526)."""
    return Rejected(
        reason=ResizeReason.UNSUPPORTED,
        message="Unsupported Lifecycle Operation Error: resize is neither AddOperation nor ResizeOperation",
    )


def not_a_subset(what: str, inner: int, of: str, outer: int) -> str:
    """Return the error that some CPUs are not among others."""
    return f"{what} {CPUSet(inner)} are not a subset of {of} {CPUSet(outer)}"


def infeasible(request: ResizeRequest, container: Container, baseline: int | None) -> Rejected | None:
    """Return why a container of a Guaranteed pod may never get what it requests; None if it may.

    This follows the reference implementation, which checks only the status of app containers.
    *baseline* is the mask of the CPUs that the container was promised.
    """
    if container.name not in request.allocated:
        return None
    allocated = request.allocated[container.name] or _NOTHING
    requested = container.resources.requests.get("cpu", _NOTHING)
    exclusive = allocated.sign > 0 and allocated.is_integral_cpu
    if not exclusive:
        return to_exclusive(requested, allocated, container.name) if requested.is_integral_cpu else None
    if not requested.is_integral_cpu:
        return to_shared(requested, allocated, container.name)
    if baseline is None:
        return no_baseline(request.pod.uid, container.name)
    guaranteed = baseline.bit_count()
    if requested.value < guaranteed:
        return below_baseline(requested, allocated, guaranteed, container.name)
    return None


class Departure(StrEnum):
    """What the KEP specifies instead of the reference implementation's answer."""

    FORBIDDEN = "a size below the baseline, or a move between shared and exclusive CPUs, is rejected"
    ENDED = "an init container that has ended is left alone"
    POSSIBLE = "a resize that fits into baseline, current and free CPUs is done"
    NOTHING_KEPT = "a rejection changes nothing"
    FINAL = "a rejection by the resource managers is final, not retried"


class Resized(Record):
    """The verdict on a resize, the hint rounds behind it, and the CPUs of each container processed by then.

    ``departures`` are the differences between the KEP's text and its reference implementation.
    """

    verdict: Admitted | Refusal
    hint_rounds: tuple[HintRound, ...] = ()
    placements: tuple[Placement, ...] = ()
    departures: tuple[Departure, ...] = ()
