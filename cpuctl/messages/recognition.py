"""Recognition of messages in what users paste: a line, a log, an event, a status."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from cpuctl.messages.admission import ADMISSION, OBJECTS
from cpuctl.messages.cgroup_writes import CGROUP_WRITES
from cpuctl.messages.claims import CLAIMS
from cpuctl.messages.configuration import CONFIGURATION
from cpuctl.messages.log_lines import json_object, object_name
from cpuctl.messages.message import POD_KINDS, Message, Speaker, Text
from cpuctl.messages.resizing import RESIZING
from cpuctl.messages.scheduling import SCHEDULING
from cpuctl.messages.starting import STARTING
from cpuctl.messages.state_files import STATE_FILES

MESSAGES: tuple[Message, ...] = (
    *ADMISSION, *STARTING, *CONFIGURATION, *STATE_FILES, *RESIZING, *CGROUP_WRITES, *OBJECTS, *SCHEDULING,
    *CLAIMS,
)  # fmt: skip
"""All known messages; of two that begin at the same place the more specific one is used.

Of two with the same text, that is the one whose evidence is in the line.
"""

MOST_CHARACTERS = 16_384
"""The part of a line that is searched: messages are shorter, but a log line may be longer."""
_NAME = r"[a-z0-9][a-z0-9.-]*"
_POD_NAME = re.compile(rf"(?:{_NAME}/)?{_NAME}")
_POD = re.compile(
    rf'\bpod="(?P<pod>{_NAME}/{_NAME})"'
    rf'|\b(?:pods|Pod) "(?P<refused>{_NAME})"'
    rf"|(?:^|\s)[Pp]od/(?P<listed>{_NAME})(?=\s|$)"
)
"""A pod in a line of klog, of the API server, and in a table of events by kubectl."""
_QUOTED = re.compile(r'(?:(?<=\w=)|(?<=\] ))"(?P<text>(?:[^"\\]|\\.)*+)"')
_OTHER_OBJECT = re.compile(
    rf"(?<![\w.-])(?!(?:{POD_KINDS})\b)"
    r'[A-Z]\w*(?:\.[a-z][\w.-]*)? "[^"]*" is invalid: '
)
"""What the API server says about an object without pods is not explained."""
_CONTAINER = re.compile(r'\bcontainerName="(?P<name>[a-z0-9-]+)"')


class Recognized(NamedTuple):
    """A message that was found: ``values`` are those of its placeholders, ``found`` is its text.

    ``pod`` is ``namespace/name`` or a name, empty if the line names none, as is ``container``.
    """

    message: Message
    text: Text
    found: str
    values: Mapping[str, str]
    pod: str
    container: str


class Refusal(NamedTuple):
    """Why a kubelet rejects a pod: the code of its message, and the resource in it, if it names one.

    ``own`` are values in it that follow from the pod and the machine, and not from other pods.
    """

    code: str
    resource: str
    own: frozenset[tuple[str, str]]


class _Match(NamedTuple):
    message: Message
    text: Text
    found: re.Match[str]

    @property
    def says(self) -> set[tuple[str, str]]:
        """The values of its placeholders."""
        return {*self.found.groupdict("").items()}

    def is_longer(self, other: _Match) -> bool:
        """Return whether its text is longer, with the same values."""
        return self.says == other.says and len(self.found[0]) > len(other.found[0])


def recognize(line: str) -> list[Recognized]:
    """Find the messages of a line in their order; of nested ones the most specific ones."""
    line = line[:MOST_CHARACTERS]
    stated, pod, container = _stated(line)
    if other := _OTHER_OBJECT.search(stated):
        stated = stated[: other.start()]
    found = [*_matches(stated, line)]
    levels = (_apart(each for each in found if each.message.level == level) for level in range(3))
    kept = next(filter(None, levels), [])
    # An API server lists all that is wrong with an object.
    listed = (each for each in found if each.message.general and each.message.speaker is Speaker.API_SERVER)
    kept = _apart(iter((*kept, *(each for each in listed if _is_beside(each, kept)))))
    return [
        Recognized(
            each.message,
            each.text,
            _closed(each.found[0]),
            {name: value for name, value in each.found.groupdict().items() if value is not None},
            pod,
            container,
        )
        for each in kept
    ]


_OWN = ("requested", "perCore")


def refusals_in(text: str) -> frozenset[Refusal]:
    """Return what kubelets say in a text about a pod that they reject, reasons beside messages included."""
    return frozenset(
        Refusal(
            message.code,
            found.groupdict().get("resource") or "",
            frozenset((name, value) for name, value in found.groupdict().items() if name in _OWN and value),
        )
        for message in ADMISSION
        for _, literal, pattern in message.patterns
        if literal in text
        for found in pattern.finditer(text)
    )


def _matches(stated: str, line: str) -> Iterator[_Match]:
    for message in MESSAGES:
        for text, literal, pattern in message.patterns:
            if literal in stated and message.is_evident(line):
                yield from (_Match(message, text, found) for found in pattern.finditer(stated))


_MOST_ALIKE = 10
"""The texts of one message in a line that are kept: each is compared with the others."""


def _closed(text: str) -> str:
    """Leave out the brackets that end a list which begins before the text."""
    while text.endswith("]") and text.count("]") > text.count("["):
        text = text[:-1]
    return text


def _is_beside(match: _Match, others: Sequence[_Match]) -> bool:
    return all(
        match.found.end() <= each.found.start() or each.found.end() <= match.found.start() for each in others
    )


def _apart(matches: Iterator[_Match]) -> list[_Match]:
    """Keep, from the left, the longest of overlapping texts; of two, the more literal one.

    Of texts of one message, those are left out whose values another one has as well: an event's reason says
    less than its message.
    """
    kept: list[_Match] = []
    end = 0
    for each in sorted(matches, key=_rank):
        if each.found.start() < end:
            continue
        end = each.found.end()
        alike = [at for at, other in enumerate(kept) if other.message is each.message]
        if len(alike) == _MOST_ALIKE:
            continue
        if any(kept[at].says >= each.says and not each.is_longer(kept[at]) for at in alike):
            continue
        fuller = [at for at in alike if kept[at].says <= each.says]
        if fuller:
            kept[fuller[0]] = each
        else:
            kept.append(each)
    return kept


def _rank(match: _Match) -> tuple[int, ...]:
    return match.found.start(), -match.found.end(), -len(match.text.literal), not match.message.evidence


def _stated(line: str) -> tuple[str, str, str]:
    """Return the text of a line, and the pod and container it names: logs quote errors within their text."""
    fields = _json_fields(line)
    if fields:
        texts = [fields.get(name, "") for name in ("msg", "message", "MESSAGE", "reason", "err", "error")]
        pod = fields.get("pod", "")
        inner = _stated("\n".join(filter(None, texts)))
        return inner[0], pod or inner[1], fields.get("containerName", "") or inner[2]
    # No text extends beyond its value, so none begins or ends with another one's quotes.
    parted = _QUOTED.sub(r"\n\g<text>\n", line)
    stated = parted.replace(r"\"", '"').replace(r"\\", "\\")
    named, container = _POD.search(line) or _POD.search(stated), _CONTAINER.search(line)
    pod = (named["pod"] or named["refused"] or named["listed"]) if named else ""
    return stated, pod, container["name"] if container else ""


def _pod_of_event(reference: object) -> str:
    is_pod = isinstance(reference, dict) and reference.get("kind", "Pod") == "Pod"
    return object_name(reference) if is_pod else ""


def _json_fields(line: str) -> dict[str, str]:
    """Read the texts of a line of JSON, as in structured logs, journalctl -o json and events."""
    found = json_object(line)
    if found is None:
        return {}
    fields = {name: value for name, value in found.items() if isinstance(value, str)}
    if about := object_name(found.get("pod")) or _pod_of_event(found.get("involvedObject")):
        fields["pod"] = about
    if not _POD_NAME.fullmatch(fields.get("pod", "")):
        fields.pop("pod", None)
    return fields
