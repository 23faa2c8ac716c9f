"""What ``cpuctl watch`` reports: an event a change."""

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
    """Namespace and name; null where it is not known."""
    exclusive: list[ExclusiveCPUs]
    """The containers with exclusive CPUs; of a removed pod, those that it had."""
    sharedPool: CPUList | None
    """The CPUs of all other containers; null under the policy none, and where it is not known."""


class WatchedStateFile(TypedDict):
    path: str
    sha256: SHA256
    """Of its text; of a file that is gone, of the last one."""
    sharedPool: CPUList | None
    """Null where the file has none."""


@final
class WatchEvent(TypedDict):
    """A change of a node that is watched, or of the watch itself.

    Watching is the first one. A finding is Found once, Changed when something else is detected, and Resolved
    when it has been gone for a while.
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
    """The same for people."""
    finding: NotRequired[Finding]
    """Of a resolved one, as it was reported last."""
    pod: NotRequired[WatchedPod]
    stateFile: NotRequired[WatchedStateFile]
    unchecked: NotRequired[Unchecked]
    """What is missing, or was until now."""
