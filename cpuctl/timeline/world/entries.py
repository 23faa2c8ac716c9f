"""The history of a replay: entries with a human-readable sentence and machine-readable data."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from cpuctl.records import Record

Detail = Mapping[str, "str | int | bool | None"]


class EntryKind(StrEnum):
    """The kinds of entries."""

    KUBELET_STARTED = "KubeletStarted"
    KUBELET_STOPPED = "KubeletStopped"
    KUBELET_FAILED = "KubeletFailed"
    CREATED = "Created"
    FORBIDDEN = "Forbidden"
    UPDATED = "Updated"
    SCHEDULED = "Scheduled"
    ADMITTED = "Admitted"
    REJECTED = "Rejected"
    UNDETERMINED = "Undetermined"
    REMOVED = "Removed"
    POD_ENDED = "PodEnded"
    CONTAINER_STARTED = "ContainerStarted"
    CONTAINER_ENDED = "ContainerEnded"
    CONTAINER_WAITS = "ContainerWaits"
    RESIZE_ACCEPTED = "ResizeAccepted"
    RESIZE_DEFERRED = "ResizeDeferred"
    RESIZE_INFEASIBLE = "ResizeInfeasible"
    RESIZE_UNCHANGED = "ResizeUnchanged"
    RESIZE_COMPLETED = "ResizeCompleted"
    SCALE_DOWN = "ScaleDown"
    DELAY_CANCELLED = "DelayCancelled"
    DELAY_PASSED = "DelayPassed"
    RELEASED = "Released"
    CPUSET_WRITTEN = "CpusetWritten"
    CPUSET_REFUSED = "CpusetRejected"
    WEIGHT_WRITTEN = "WeightWritten"
    VOLUME_WRITTEN = "VolumeWritten"
    SERVER_CHANGED = "ApiServerChanged"
    CPUS_CHANGED = "CPUsChanged"
    STATE_FILE_EDITED = "StateFileEdited"
    IGNORED = "Ignored"


MOVES = frozenset(
    {
        EntryKind.KUBELET_STARTED,
        EntryKind.KUBELET_STOPPED,
        EntryKind.KUBELET_FAILED,
        EntryKind.ADMITTED,
        EntryKind.REJECTED,
        EntryKind.UNDETERMINED,
        EntryKind.REMOVED,
        EntryKind.POD_ENDED,
        EntryKind.CONTAINER_STARTED,
        EntryKind.CONTAINER_ENDED,
        EntryKind.RESIZE_ACCEPTED,
        EntryKind.RESIZE_DEFERRED,
        EntryKind.RESIZE_INFEASIBLE,
        EntryKind.DELAY_PASSED,
        EntryKind.RELEASED,
        EntryKind.CPUSET_WRITTEN,
    }
)
"""Kinds that may change owners of CPUs or state files; a refusal can have side effects, too."""


class HistoryEntry(Record):
    """One entry of the history; ``pod`` and ``container`` are empty if it concerns the node.

    ``at`` is the time in nanoseconds.
    """

    at: int
    kind: EntryKind
    text: str
    pod: str = ""
    container: str = ""
    details: Mapping[str, str | int | bool | None] = {}
