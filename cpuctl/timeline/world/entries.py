"""What happens, as a replay tells it: entries with a sentence for people and data for programs."""

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
    CPUSET_REFUSED = "CpusetRefused"
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
"""What may change who has which CPUs, or what the state files say: a refusal can leave traces, too."""


class HistoryEntry(Record):
    """One thing that happened; ``pod`` and ``container`` are empty if it is about the node.

    ``at`` is the time in nanoseconds.
    """

    at: int
    kind: EntryKind
    text: str
    pod: str = ""
    container: str = ""
    details: Mapping[str, str | int | bool | None] = {}
