"""What ``cpuctl watch`` reports: one event per change."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict, final

from cpuctl.answers.audit import Finding, Unchecked
from cpuctl.answers.values import SHA256, ApiVersion, CPUList, Requires

WatchEventName = Literal[
    "Watching",
    "Found",
    "Changed",
    "Resolved",
    "PodAdded",
    "PodChanged",
    "PodRemoved",
    "StateFileWritten",
    "StateFileRemoved",
    "KubeletStarted",
    "KubeletRestarted",
    "KubeletStopped",
    "Unchecked",
    "Checked",
    "AuditFailed",
    "Sampling",
]


class ExclusiveCPUs(TypedDict):
    container: str
    cpus: CPUList


class WatchedPod(TypedDict):
    uid: str
    pod: str | None
    """Namespace and name; null if unknown."""
    exclusive: list[ExclusiveCPUs]
    """The containers with exclusive CPUs; for a removed pod, those that it had."""
    sharedPool: CPUList | None
    """The CPUs of all other containers; null with the policy none, and if unknown."""


class WatchedStateFile(TypedDict):
    path: str
    sha256: SHA256
    """SHA-256 of the file's content; for a removed file, of its last content."""
    sharedPool: CPUList | None
    """Null if the file has none."""


@final
class WatchEvent(TypedDict):
    """A change of the watched node, or of the watch itself.

    Watching is the first one. A finding is Found once, Changed when its details differ, and Resolved when it
    has been gone for a while.
    """

    apiVersion: ApiVersion
    kind: Literal["WatchEvent"]
    time: str
    """When it was noticed, in UTC (RFC 3339)."""
    event: Annotated[
        WatchEventName,
        Requires(
            (
                ("Found", ("finding",)),
                ("Changed", ("finding",)),
                ("Resolved", ("finding",)),
                ("PodAdded", ("pod",)),
                ("PodChanged", ("pod",)),
                ("PodRemoved", ("pod",)),
                ("StateFileWritten", ("stateFile",)),
                ("StateFileRemoved", ("stateFile",)),
                ("Unchecked", ("unchecked",)),
                ("Checked", ("unchecked",)),
            )
        ),
    ]
    message: str
    """The event in one line of text, as with -o lines."""
    finding: NotRequired[Finding]
    """The finding; for a resolved one, as last reported."""
    pod: NotRequired[WatchedPod]
    stateFile: NotRequired[WatchedStateFile]
    unchecked: NotRequired[Unchecked]
    """The input that is or was missing, and its checks."""
