"""The events of a watch, one per line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpuctl.visible_text import printable

if TYPE_CHECKING:
    from cpuctl.answers.watch import WatchEvent

_WORDS = {
    "Watching": "watch",
    "Changed": "changed",
    "Resolved": "resolved",
    "PodAdded": "pod",
    "PodChanged": "pod",
    "PodRemoved": "pod",
    "StateFileWritten": "state",
    "StateFileRemoved": "state",
    "KubeletStarted": "kubelet",
    "KubeletRestarted": "kubelet",
    "KubeletStopped": "kubelet",
    "Unchecked": "unchecked",
    "Checked": "checked",
    "AuditFailed": "warning",
    "Sampling": "watch",
}
_WIDTH = max(map(len, _WORDS.values()))
_LEVELS = {"error": 3, "warning": 4}
_INFO = 6


def line(event: WatchEvent) -> str:
    """Write an event with its time, its subject or severity, and the message."""
    return f"{event['time']}  {_word(event):<{_WIDTH}}  {printable(event['message'])}"


def journal_line(event: WatchEvent) -> str:
    """Write an event for the journal, which adds the time, with its level (*sd-daemon(3)*)."""
    word = _word(event)
    bad = event["finding"]["severity"] if event["event"] == "Changed" else word
    return f"<{_LEVELS.get(bad, _INFO)}>{word}: {printable(event['message'])}"


def _word(event: WatchEvent) -> str:
    return event["finding"]["severity"] if event["event"] == "Found" else _WORDS[event["event"]]
