"""The answer to pasted messages as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cpuctl.answers.decisions import Pod
    from cpuctl.answers.explanation import Explanation, FoundMessage, Messages, ReportedPart
    from cpuctl.kubelet.version import KubeletVersion
    from cpuctl.operations.messages import MessageOccurrence, MessageSearch

    Commands = Callable[[MessageOccurrence], list[str]]
    """Writes the commands to run next for a message."""


def messages_document(
    search: MessageSearch,
    version: KubeletVersion | None,
    commands: Commands,
    explanation: Explanation | None,
) -> Messages:
    """Describe the messages found, and the explanation of the pod that they are about, if it is known."""
    return {
        "apiVersion": "cpuctl/v1alpha1",
        "kind": "Messages",
        "release": None if version is None else str(version),
        "lines": search.lines,
        "unrecognized": search.unrecognized,
        "omitted": search.omitted,
        "messages": [_message(each, version, commands) for each in search.found.values()],
        "explanation": explanation,
    }


def _message(found: MessageOccurrence, version: KubeletVersion | None, commands: Commands) -> FoundMessage:
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
        "meaning": message.meaning_of(recognized.values),
        "fix": message.fix_of(recognized.values) or None,
        "commands": commands(found),
    }


def reported_rejection(about: Sequence[MessageOccurrence], pod: Pod) -> ReportedPart:
    """Compare the decision about a pod with the messages about it: with the last, unless another agrees."""
    from cpuctl.messages.admission import ADMISSION
    from cpuctl.messages.recognition import refusals_in

    rejections = [found for found in about if found.recognized.message in ADMISSION]
    if not rejections:
        return {}
    decided = (
        refusals_in(f"{pod['reason']}: {pod['message']}") if pod["outcome"] == "Rejected" else frozenset()
    )
    agreeing = [each for each in rejections if refusals_in(each.recognized.found) <= decided]
    stated = agreeing[0] if agreeing else rejections[-1]
    return {
        "reported": {
            "reason": "",
            "message": stated.recognized.found,
            "count": stated.count,
            "lastTimestamp": "",
            "node": "",
            "agrees": bool(agreeing),
        }
    }
