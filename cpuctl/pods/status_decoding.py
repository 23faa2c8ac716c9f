"""The container statuses of a Pod object (API reference: ``PodStatus``)."""

from __future__ import annotations

from collections.abc import Iterator

from cpuctl.documents import Cursor
from cpuctl.pods.running import ContainerStatus, RunState

_LISTS = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
_EPHEMERAL = "ephemeralContainerStatuses"


def decode_statuses(status: Cursor) -> tuple[ContainerStatus, ...]:
    """Read all of them, init containers first; raise InputError with the place of what is wrong."""
    return tuple(_statuses(status))


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
    )


def _state(state: Cursor) -> RunState:
    """Read a union of which one member is set."""
    for each in (RunState.RUNNING, RunState.TERMINATED):
        if state.get(each) is not None:
            return each
    return RunState.WAITING
