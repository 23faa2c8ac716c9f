"""The answer of ``-o nri``: what a plug-in of the Node Resource Interface would say of containers.

What stands inside ``linux`` is written as runtimes and their tools write it: names of NRI's protocol, in
snake_case.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict, final

from cpuctl.answers.replay import About, Duration, Expectations
from cpuctl.answers.start import Start
from cpuctl.answers.values import ApiVersion, Count, CPUList, Sources


class NRICPU(TypedDict, total=False):
    """Absent is untouched: the runtime keeps what the kubelet asks for."""

    cpus: CPUList
    mems: CPUList


class NRIResources(TypedDict):
    cpu: NRICPU


class NRILinux(TypedDict):
    resources: NRIResources


class NRIMatch(TypedDict):
    """Which container it is about: its ID is known to the runtime alone."""

    namespace: str
    pod: str
    container: str


class NRIAdjustment(TypedDict, total=False):
    linux: NRILinux


class NRIUpdate(TypedDict):
    """A container that runs already, and whose CPUs change because of the one that comes."""

    match: NRIMatch
    linux: NRILinux


class NRIAnswer(TypedDict):
    """What a plug-in answers when the runtime is about to create a container."""

    event: Literal["CREATE_CONTAINER"]
    match: NRIMatch
    adjust: NRIAdjustment
    """Empty where the container is to pass untouched."""
    update: list[NRIUpdate]


NRIOutcome = Literal["Answered", "DryRun", "Late", "Failed"]
"""How an event was answered; Late and Failed: what was asked about has passed untouched."""


@final
class NRIEvent(TypedDict):
    """What a plug-in that runs (``cpuctl nri run -o jsonl``) has answered, or has said by itself."""

    apiVersion: ApiVersion
    kind: Literal["NRIEvent"]
    time: str
    """ISO 8601, in UTC."""
    event: str
    """The name that the protocol gives it; SYNCHRONIZE and UPDATE_CONTAINERS are about many containers."""
    outcome: NRIOutcome
    match: NRIMatch | None
    """The container that comes; null where the event is about none, or about one that is there already."""
    adjust: NRIAdjustment
    """Of the container that comes; empty where it is to pass untouched."""
    update: list[NRIUpdate]
    notes: list[str]
    """What the log warns of, as far as this event is concerned."""


@final
class NRIPlan(TypedDict):
    """What a plug-in of the Node Resource Interface would answer for a plan, container by container."""

    apiVersion: ApiVersion
    kind: Literal["NRIPlan"]
    sources: Sources
    start: Start
    answers: list[NRIAnswer]
    """In the order in which the containers are created; none of pods that are not admitted."""


class NRICall(TypedDict):
    """What a plug-in answers when a container is created or stopped, or calls for of its own accord."""

    at: Duration
    nanoseconds: Count
    event: Literal["CREATE_CONTAINER", "STOP_CONTAINER", "UPDATE_CONTAINERS"]
    """The last is a call of the plug-in, with nothing asked: about no container alone."""
    match: NotRequired[NRIMatch]
    adjust: NotRequired[NRIAdjustment]
    """Of a container that is created; empty where it is to pass untouched."""
    update: list[NRIUpdate]


@final
class NRIReplay(About):
    """What a plug-in of the Node Resource Interface would answer over a timeline, event by event."""

    apiVersion: ApiVersion
    kind: Literal["NRIReplay"]
    sources: Sources
    until: Duration
    answers: list[NRICall]
    """In the order of the runtime's requests; none while no kubelet runs but for containers that stop."""
    expectations: Expectations
