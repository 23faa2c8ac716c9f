"""Whether a kubelet comes up, by what policies it goes, and where a setting stands that it stumbles over."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from cpuctl.answers.values import CPUList, Release, Sources

Fault = Literal["endless loop", "no answer", "crash"]
_From = TypedDict("_From", {"from": str | None})


class SettingPlace(TypedDict):
    setting: str | None
    where: str | None
    """File and line, or the flag; null where nobody has set it."""


class SettingToFix(SettingPlace, _From):
    pass


class Started(TypedDict):
    outcome: Literal["Started"]


class Remedy(TypedDict, total=False):
    later: list[str]
    """Errors to which the kubelet comes once the first is fixed, in this order."""
    mend: list[SettingToFix]
    """The settings that the kubelet stumbles over."""
    fix: str
    """What to do about a configuration that the kubelet cannot load."""


class StartRefused(Remedy):
    outcome: Literal["Refused"]
    stage: str
    error: str
    """The kubelet's own text."""
    logged: NotRequired[str]
    """The whole text that the kubelet logs, where it is known."""


class KubeletFault(Remedy):
    outcome: Literal["KubeletFault"]
    fault: Fault
    where: str
    why: str


class Undetermined(TypedDict):
    outcome: Literal["Undetermined"]
    why: str


NotStarted = StartRefused | KubeletFault | Undetermined
Start = Started | StartRefused | KubeletFault | Undetermined


class PolicyInPlace(TypedDict):
    """A policy (a plug-in) that decides in the kubelet's place, to see what would come of it."""

    name: str
    origin: Literal["shipped", "installed", "file", "program"]
    where: str
    """The module, package or file that it comes from."""
    source: str | None
    """What it was made after."""
    options: dict[str, str]
    standing: Literal["what-if"]
    """No kubelet does this."""


class PolicyPart(TypedDict, total=False):
    policy: PolicyInPlace


class NextPart(TypedDict, total=False):
    next: str
    """The command to type next: it says what to change, or what else is known where a start cannot be told
    (where the configuration cannot be loaded, *start* says it), or it asks again with more assumed."""


class KubeletPolicies(PolicyPart):
    version: Release
    cpuManagerPolicy: str
    cpuManagerPolicyOptions: dict[str, str]
    topologyManagerPolicy: str
    memoryManagerPolicy: str


class LoadedRelease(TypedDict):
    version: Release


class PlanningHeader(TypedDict):
    sources: Sources
    kubelet: KubeletPolicies


class UnstartedHeader(TypedDict):
    sources: Sources
    kubelet: KubeletPolicies | LoadedRelease
    """Its release alone where it cannot even load its configuration."""


class StaticPolicy(TypedDict, total=False):
    reservedCPUs: CPUList
    reservedPhysicalCPUs: CPUList
    """All threads of the cores that have a reserved CPU."""
    allocatableCPUs: CPUList
