"""The answer of ``-o nri``: what a plugin of the Node Resource Interface would say of containers.

Members of ``linux`` have the names of the NRI protocol, in
snake_case.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict, final

from cpuctl.answers.replay import About, Duration, Expectations
from cpuctl.answers.start import Start
from cpuctl.answers.values import ApiVersion, Count, CPUList, Sources


class NRICPU(TypedDict, total=False):
    """Absent members are unchanged: the runtime uses what the kubelet requests."""

    cpus: CPUList
    mems: CPUList


class NRIResources(TypedDict):
    cpu: NRICPU


class NRILinux(TypedDict):
    resources: NRIResources


class NRIMatch(TypedDict):
    """The container that this is about; only the runtime knows its ID."""

    namespace: str
    pod: str
    container: str
    uid: NotRequired[str]
    """The pod's UID, only if its name is unknown: then ``namespace`` and ``pod`` are empty."""


class NRIAdjustment(TypedDict, total=False):
    linux: NRILinux


class NRIUpdate(TypedDict):
    """A running container whose CPUs change because of the new one."""

    match: NRIMatch
    linux: NRILinux


class NRIAnswer(TypedDict):
    """What a plugin answers when the runtime is about to create a container."""

    event: Literal["CREATE_CONTAINER"]
    match: NRIMatch
    adjust: NRIAdjustment
    """Empty if the container is unchanged."""
    update: list[NRIUpdate]


NRIOutcome = Literal["Answered", "DryRun", "Late", "Failed"]
"""How an event was answered; Late and Failed: the container was passed unchanged."""


@final
class NRIEvent(TypedDict):
    """What a running plugin (``cpuctl nri run -o jsonl``) answered, or requested unsolicited."""

    apiVersion: ApiVersion
    kind: Literal["NRIEvent"]
    time: str
    """ISO 8601, in UTC."""
    event: str
    """Name of the event in the NRI protocol; SYNCHRONIZE and UPDATE_CONTAINERS concern many containers."""
    outcome: NRIOutcome
    match: NRIMatch | None
    """The new container; null if the event is not about a new container."""
    adjust: NRIAdjustment
    """Changes to the new container; empty if it is unchanged."""
    update: list[NRIUpdate]
    notes: list[str]
    """Warnings that were logged about this event."""


@final
class NRIPlan(TypedDict):
    """What a plugin of the Node Resource Interface would answer for a plan, container by container."""

    apiVersion: ApiVersion
    kind: Literal["NRIPlan"]
    sources: Sources
    start: Start
    answers: list[NRIAnswer]
    """In the order in which containers are created, without pods that are not admitted."""


class NRICall(TypedDict):
    """What a plugin answers when a container is created or stopped, or requests unsolicited."""

    at: Duration
    nanoseconds: Count
    event: Literal["CREATE_CONTAINER", "STOP_CONTAINER", "UPDATE_CONTAINERS"]
    """The last one is an unsolicited request of the plugin that is not about a single container."""
    match: NotRequired[NRIMatch]
    adjust: NotRequired[NRIAdjustment]
    """Changes to a container that is created; empty if it is unchanged."""
    update: list[NRIUpdate]


@final
class NRIReplay(About):
    """What a plugin of the Node Resource Interface would answer over a timeline, event by event."""

    apiVersion: ApiVersion
    kind: Literal["NRIReplay"]
    sources: Sources
    until: Duration
    answers: list[NRICall]
    """In the order of the runtime's requests; while no kubelet runs, only for containers that stop."""
    expectations: Expectations
