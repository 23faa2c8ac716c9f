"""The answer of ``cpuctl explain --message``."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict, final

from cpuctl.answers.explanation import Explanation
from cpuctl.answers.values import ApiVersion, Bounds, Count, Release


class FoundMessage(TypedDict):
    """A message that was recognised."""

    line: Annotated[int, Bounds(1)]
    """The first line that has it."""
    count: Annotated[int, Bounds(1)]
    """How many lines have it, with the same values and of the same pod."""
    code: str
    speaker: Literal[
        "CPU Manager",
        "Memory Manager",
        "Topology Manager",
        "Device Manager",
        "kubelet",
        "API server",
        "scheduler",
        "container runtime",
        "systemd",
        "libvirt",
    ]
    text: str
    """The message as it stands there."""
    pod: str | None
    """The pod that the line names."""
    container: str | None
    values: dict[str, str]
    """The figures and names in the message."""
    releases: str | None
    """The kubelets that print it; null: all from the oldest to the newest that are known."""
    printed: bool | None
    """Whether the kubelet that was asked about prints it; null: none was named."""
    meaning: str
    fix: str | None
    commands: list[str]
    """What to type next; words in capitals stand for files of one's own."""


@final
class Messages(TypedDict):
    """What messages of kubelets, API servers and runtimes mean."""

    apiVersion: ApiVersion
    kind: Literal["Messages"]
    release: Release | None
    """The kubelet that was asked about."""
    lines: Count
    """Lines that were read."""
    unrecognized: Count
    """Lines with no message that is known."""
    omitted: Count
    """Messages beyond the most that are listed."""
    messages: list[FoundMessage]
    explanation: Explanation | None
    """Why the pod of the message is rejected, where manifests were given."""
