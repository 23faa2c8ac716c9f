"""Whether a kubelet comes up."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict


class Started(TypedDict):
    outcome: Literal["Started"]


class StartRefused(TypedDict):
    outcome: Literal["Refused"]
    stage: str
    error: str
    """The kubelet's own text."""
    logged: NotRequired[str]
    """The whole text that the kubelet logs, where it is known."""


class KubeletFault(TypedDict):
    outcome: Literal["KubeletFault"]
    fault: Literal["endless loop", "no answer", "crash"]
    where: str
    why: str


class Undetermined(TypedDict):
    outcome: Literal["Undetermined"]
    why: str


Start = Started | StartRefused | KubeletFault | Undetermined
