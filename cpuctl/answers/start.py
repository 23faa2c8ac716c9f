"""Whether the kubelet starts, its policies, and where the settings are that prevent it from starting."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from cpuctl.answers.values import CPUList, Release, Sources

Fault = Literal["endless loop", "no answer", "crash"]
_From = TypedDict("_From", {"from": str | None})


class SettingPlace(TypedDict):
    setting: str | None
    where: str | None
    """File and line, or the flag; null if it is not set."""


class SettingToFix(SettingPlace, _From):
    pass


class Started(TypedDict):
    outcome: Literal["Started"]


class Remedy(TypedDict, total=False):
    later: list[str]
    """Errors that appear once the first one is fixed, in this order."""
    settingsToFix: list[SettingToFix]
    """The settings that prevent the kubelet from starting."""
    fix: str
    """What to do about a configuration that the kubelet cannot load."""


class StartRejected(Remedy):
    outcome: Literal["Rejected"]
    stage: str
    error: str
    """The kubelet's own error message."""
    logged: NotRequired[str]
    """The complete text that the kubelet logs, if known."""


class KubeletFault(Remedy):
    outcome: Literal["KubeletFault"]
    fault: Fault
    where: str
    why: str


class Undetermined(TypedDict):
    outcome: Literal["Undetermined"]
    why: str


NotStarted = StartRejected | KubeletFault | Undetermined
Start = Started | StartRejected | KubeletFault | Undetermined


class PolicyInPlace(TypedDict):
    """A what-if policy (plugin) that decides instead of the kubelet."""

    name: str
    origin: Literal["shipped", "installed", "file", "program"]
    where: str
    """The module, package or file that it comes from."""
    source: str | None
    """What it is modelled on."""
    options: dict[str, str]
    status: Literal["what-if"]
    """Always what-if: it is not the kubelet that chooses CPUs."""


class PolicyPart(TypedDict, total=False):
    policy: PolicyInPlace


class NextPart(TypedDict, total=False):
    next: str
    """The command to run next: it shows what to change, shows what else is known about an undetermined start,
    repeats the question with more assumptions, or recreates pods. FILE stands for what was read from standard
    input or, in a kubectl command, for a manifest with the new resources. If the configuration cannot be
    loaded, see *start*."""


class FleetNextPart(NextPart, total=False):
    nextAlsoPlans: list[str]
    """Pods that the next command plans on its node although they are not there in this plan."""
    nextLeavesOut: list[str]
    """Pods that are on its node in this plan, but that the next command does not know: pods from drained
    nodes, and running ones that neither its options nor the state files there have."""


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
    """If the kubelet cannot load its configuration, only its release."""


class StaticPolicy(TypedDict, total=False):
    reservedCPUs: CPUList
    reservedPhysicalCPUs: CPUList
    """All threads of the cores that have a reserved CPU."""
    allocatableCPUs: CPUList
