"""The answer to pasted messages as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from cpuctl.answers.explanation import Explanation, FoundMessage, Messages
    from cpuctl.kubelet.version import KubeletVersion
    from cpuctl.operations.messages import MessageOccurrence, MessageSearch


def messages_document(
    search: MessageSearch,
    version: KubeletVersion | None,
    command: Callable[[str, str], str],
    explanation: Explanation | None,
) -> Messages:
    """Describe the messages found; *command* fills in a command's template for a pod, if one is named."""
    return {
        "apiVersion": "cpuctl/v1alpha1",
        "kind": "Messages",
        "release": None if version is None else str(version),
        "lines": search.lines,
        "unrecognized": search.unrecognized,
        "omitted": search.omitted,
        "messages": [_message(each, version, command) for each in search.found.values()],
        "explanation": explanation,
    }


def _message(
    found: MessageOccurrence, version: KubeletVersion | None, command: Callable[[str, str], str]
) -> FoundMessage:
    recognized = found.recognized
    message, text = recognized.message, recognized.text
    return {
        "line": found.line,
        "count": found.count,
        "code": message.code,
        "component": message.speaker.value,
        "text": recognized.found,
        "pod": recognized.pod or None,
        "container": recognized.container or None,
        "values": dict(recognized.values),
        "releases": text.releases or None,
        "printed": None if version is None else text.printed_by(version.minor),
        "meaning": message.meaning,
        "fix": message.fix or None,
        "commands": [command(each, recognized.pod) for each in message.commands],
    }
