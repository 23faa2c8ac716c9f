"""The answer to pasted messages as plain data."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from cpuctl import option_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpuctl.answers.explanation import Explanation, FoundMessage, Messages
    from cpuctl.kubelet.version import KubeletVersion
    from cpuctl.messages.recognition import Recognized
    from cpuctl.operations.messages import MessageOccurrence, MessageSearch


def messages_document(
    search: MessageSearch,
    version: KubeletVersion | None,
    placeholders: Mapping[str, str],
    explanation: Explanation | None,
) -> Messages:
    """Describe the messages found; *given* replaces words in capitals within commands."""
    return {
        "apiVersion": "cpuctl/v1alpha1",
        "kind": "Messages",
        "release": None if version is None else str(version),
        "lines": search.lines,
        "unrecognized": search.unrecognized,
        "omitted": search.omitted,
        "messages": [_message(each, version, placeholders) for each in search.found.values()],
        "explanation": explanation,
    }


def _message(
    found: MessageOccurrence, version: KubeletVersion | None, placeholders: Mapping[str, str]
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
        "commands": [_command(each, recognized, placeholders) for each in message.commands],
    }


def _command(template: str, recognized: Recognized, placeholders: Mapping[str, str]) -> str:
    """Fill in the pod and the user's options: a pod without manifests is only a name.

    A node has its own configuration, which is replaced only by one that the user gave.
    """
    if "CONFIG" not in placeholders:
        template = template.replace(f"-m NODE {option_names.KUBELET_CONFIG} CONFIG", "-m NODE")
    pod = shlex.quote(recognized.pod) if recognized.pod else "POD"
    arguments = template.replace("{pod}", pod).split(" ")
    return " ".join(placeholders.get(word) or word for word in arguments)
