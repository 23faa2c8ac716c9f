"""Whether a kubelet comes up, and by what policies it goes."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from cpuctl.answers.values import CPUList, Release

Fault = Literal["endless loop", "no answer", "crash"]


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
    fault: Fault
    where: str
    why: str


class Undetermined(TypedDict):
    outcome: Literal["Undetermined"]
    why: str


NotStarted = StartRefused | KubeletFault | Undetermined
Start = Started | StartRefused | KubeletFault | Undetermined


class KubeletPolicies(TypedDict):
    version: Release
    cpuManagerPolicy: str
    cpuManagerPolicyOptions: dict[str, str]
    topologyManagerPolicy: str
    memoryManagerPolicy: str


class StaticPolicy(TypedDict, total=False):
    reservedCPUs: CPUList
    reservedPhysicalCPUs: CPUList
    """All threads of the cores that have a reserved CPU."""
    allocatableCPUs: CPUList
