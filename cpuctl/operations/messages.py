"""The messages in pasted lines, or in a log on standard input, each once."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cpuctl.messages.recognition import Recognized, recognize

if TYPE_CHECKING:
    from cpuctl.pods.model import Pod


MOST_MESSAGES = 1000
"""The number of different messages that are kept; further ones are only counted."""


@dataclass(slots=True)
class MessageOccurrence:
    """A message, the first ``line`` with it, and how often it occurs."""

    recognized: Recognized
    line: int
    count: int = 1


@dataclass(slots=True)
class MessageSearch:
    """What was found in ``lines``; ``unrecognized`` of them have no known message."""

    lines: int = 0
    unrecognized: int = 0
    omitted: int = 0
    found: dict[tuple[object, ...], MessageOccurrence] = field(default_factory=dict)


def find_messages(lines: Iterable[str]) -> MessageSearch:
    """Recognize the messages of *lines*; the same one with the same values for the same pod counts once."""
    search = MessageSearch()
    for line in lines:
        search.lines += 1
        recognized = recognize(line)
        search.unrecognized += not recognized
        for each in recognized:
            key = (each.message.code, *sorted(each.values.items()), each.pod, each.container)
            if known := search.found.get(key):
                known.count += 1
            elif len(search.found) < MOST_MESSAGES:
                search.found[key] = MessageOccurrence(each, search.lines)
            else:
                search.omitted += 1
    _leave_out_reasons(search)
    _leave_out_repeated(search)
    return search


def _leave_out_reasons(search: MessageSearch) -> None:
    """Leave out bare reasons, as in a pod's status, if a message with more values stands beside them."""
    values = {key: set(each.recognized.values.items()) for key, each in search.found.items()}
    for key, each in [*search.found.items()]:
        if " " not in each.recognized.found and any(
            other[0] == key[0]
            and values[key] <= values[other]
            and " " in search.found[other].recognized.found
            for other in search.found
        ):
            del search.found[key]


def _leave_out_repeated(search: MessageSearch) -> None:
    """Count messages with another one that has the same values and, in addition, the pod or container.

    A message that two others may repeat stays.
    """
    same: dict[tuple[object, ...], list[MessageOccurrence]] = {}
    for key, each in search.found.items():
        same.setdefault(key[:-2], []).append(each)
    for key, each in [*search.found.items()]:
        if each.recognized.container:
            continue
        pod, others = each.recognized.pod, [other for other in same[key[:-2]] if other is not each]
        fuller = [other for other in others if not pod or other.recognized.pod == pod]
        if len(fuller) == 1:
            fuller[0].count += each.count
            fuller[0].line = min(fuller[0].line, each.line)
            same[key[:-2]].remove(each)
            del search.found[key]


def named_pod(search: MessageSearch, pods: Sequence[Pod]) -> str:
    """Return the first pod named by a message that is one of *pods*; an empty text if there is none."""
    known: dict[str, set[str]] = {}
    for pod in pods:
        for name in (pod.name, pod.full_name):
            known.setdefault(name, set()).add(pod.full_name)
    found = (known.get(name, ()) for name in _names(search))
    return next((next(iter(names)) for names in found if len(names) == 1), "")


def choice_of_pod(search: MessageSearch, pods: Sequence[Pod]) -> str:
    """Return why the messages do not tell which of *pods* is meant; an empty text if they do."""
    names = _names(search)
    if named_pod(search, pods) or (len(pods) == 1 and not names):
        return ""
    if not names:
        return "the message names no pod"
    if any(pod.name in names for pod in pods):
        return f"more than one pod is named {next(pod.name for pod in pods if pod.name in names)}"
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"no manifest of {names[0]}{more} is given"


def messages_about(search: MessageSearch, full_name: str) -> list[MessageOccurrence]:
    """Return the messages about a pod: those that name it or, if none names any pod, all."""
    names = (full_name, full_name.partition("/")[2]) if has_named(search) else ("",)
    return [found for found in search.found.values() if found.recognized.pod in names]


def has_named(search: MessageSearch) -> bool:
    """Return whether a message names a pod."""
    return bool(_names(search))


def _names(search: MessageSearch) -> list[str]:
    return list(dict.fromkeys(filter(None, (found.recognized.pod for found in search.found.values()))))


_LONGEST = 1 << 20
"""Bytes of a line that are kept: the rest of it counts as another line."""


def message_lines(texts: Sequence[str]) -> Iterator[str]:
    """Yield the lines of *texts*, where ``-`` is standard input; empty lines are left out."""
    for text in texts:
        for line in _stdin() if text == "-" else text.splitlines():
            if line.strip():
                yield line


def _stdin() -> Iterator[str]:
    while line := sys.stdin.buffer.readline(_LONGEST):
        yield line.decode(errors="replace").rstrip("\r\n")
