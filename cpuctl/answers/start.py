"""Whether a kubelet comes up."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict


class Started(TypedDict):
    outcome: Literal["Started"]


class Later(TypedDict):
    later: NotRequired[list[str]]
    """Errors to which the kubelet comes once the first is mended, in this order."""


class StartRefused(Later):
    outcome: Literal["Refused"]
    stage: str
    error: str
    """The kubelet's own text."""
    logged: NotRequired[str]
    """The whole text that the kubelet logs, where it is known."""


class KubeletFault(Later):
    outcome: Literal["KubeletFault"]
    fault: Literal["endless loop", "no answer", "crash"]
    where: str
    why: str


class Undetermined(TypedDict):
    outcome: Literal["Undetermined"]
    why: str


Start = Started | StartRefused | KubeletFault | Undetermined
