"""The status of a Pod object: its containers and the progress of resizes (API reference: ``PodStatus``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cpuctl.documents.cursor import Cursor
from cpuctl.pods.model import CountedClaim
from cpuctl.pods.running import ContainerStatus, ReportedResources, ResizeStatus, RunState
from cpuctl.quantity import Quantity

_LISTS = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
_EPHEMERAL = "ephemeralContainerStatuses"
_PENDING, _IN_PROGRESS = "PodResizePending", "PodResizeInProgress"
_INFEASIBLE = "Infeasible"


def decode_statuses(status: Cursor) -> tuple[ContainerStatus, ...]:
    """Return all of them, init containers first; raise InputError with the location of an invalid value."""
    return tuple(_statuses(status))


def decode_resize_status(status: Cursor) -> ResizeStatus:
    """Read the conditions about resizes, and the pod-level resources."""
    listed = status.get("conditions")
    items = listed.items() if listed is not None else []
    conditions = {each.optional("type", Cursor.text, ""): each for each in items}
    pending = conditions.get(_PENDING)
    since = "" if pending is None else pending.optional("lastTransitionTime", Cursor.text, "")
    return ResizeStatus(
        pending=pending is not None,
        in_progress=_IN_PROGRESS in conditions,
        waiting_since=since,
        pod_level=_resources(status),
        infeasible=pending is not None and pending.optional("reason", Cursor.text, "") == _INFEASIBLE,
    )


def decode_counted_claims(status: Cursor) -> tuple[CountedClaim, ...]:
    """Read the scheduler's amounts for claims: in 1.36 ``resources``, later ``mapping`` and ``overhead``."""
    listed = status.get("nodeAllocatableResourceClaimStatuses")
    return tuple(map(_counted_claim, listed.items() if listed is not None else ()))


def _counted_claim(claim: Cursor) -> CountedClaim:
    overhead = claim.optional("overhead", Cursor.items, [])
    return CountedClaim(
        containers=claim.optional("containers", Cursor.texts, ()),
        amounts={
            **claim.optional("resources", Cursor.quantities, {}),
            **_listed(claim.optional("mapping", Cursor.items, []), "quantity"),
        },
        per_pod=_listed(overhead, "perPod"),
        per_container=_listed(overhead, "perContainer"),
    )


def _listed(items: Sequence[Cursor], member: str) -> dict[str, Quantity]:
    found = ((each.required("name").text(), each.optional(member, Cursor.quantity, None)) for each in items)
    return {name: amount for name, amount in found if amount is not None}


def _statuses(status: Cursor) -> Iterator[ContainerStatus]:
    for name in _LISTS:
        listed = status.get(name)
        for item in listed.items() if listed is not None else ():
            yield _status(item, ephemeral=name == _EPHEMERAL)


def _status(status: Cursor, *, ephemeral: bool) -> ContainerStatus:
    runtime, _, container_id = status.optional("containerID", Cursor.text, "").partition("://")
    return ContainerStatus(
        name=status.required("name").text(),
        state=status.optional("state", _state, RunState.WAITING),
        runtime=runtime,
        container_id=container_id,
        ephemeral=ephemeral,
        resources=_resources(status),
        exit_code=_exit_code(status),
    )


def _exit_code(status: Cursor) -> int | None:
    state = status.get("state")
    ended = None if state is None else state.get(RunState.TERMINATED)
    return None if ended is None else ended.optional("exitCode", Cursor.integer, 0)


def _resources(status: Cursor) -> ReportedResources:
    in_force = status.get("resources")
    return ReportedResources(
        granted=status.optional("allocatedResources", Cursor.quantities, None),
        requests=None if in_force is None else in_force.optional("requests", Cursor.quantities, None),
        limits=None if in_force is None else in_force.optional("limits", Cursor.quantities, None),
    )


def _state(state: Cursor) -> RunState:
    """Read a union of which one member is set."""
    for each in (RunState.RUNNING, RunState.TERMINATED):
        if state.get(each) is not None:
            return each
    return RunState.WAITING
