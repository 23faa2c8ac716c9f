"""What findings of all kinds have in common; what they are about stands between the two halves."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from cpuctl.answers.values import Count, Pattern


class Graded(TypedDict):
    severity: Literal["error", "warning", "note"]
    code: Annotated[str, Pattern("^[a-z0-9-]+$")]


class Found(TypedDict):
    expected: str
    detected: str
    message: str
    fix: str
    """A shell command, or what to do; empty where that is not known."""


class FindingCounts(TypedDict):
    error: Count
    warning: Count
    note: Count
