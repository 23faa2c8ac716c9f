"""Values that answers are made of, and what schemas say of a value besides its type."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple, TypedDict


class Pattern(NamedTuple):
    """A regular expression that a text matches."""

    regex: str


class Bounds(NamedTuple):
    """The least and the greatest number that there can be."""

    least: int
    greatest: int | None = None


class Items(NamedTuple):
    """The fewest and the most items that a list has."""

    fewest: int
    most: int


class Together(NamedTuple):
    """Other members that are there when the member so annotated is."""

    others: tuple[str, ...]


class Requires(NamedTuple):
    """By value of the member so annotated: the optional members that are there then.

    It is for values that stand flat in parts of many kinds; elsewhere each value has a class of its own.
    """

    members: tuple[tuple[str | None, tuple[str, ...]], ...]


ApiVersion = Literal["cpuctl/v1alpha1"]

Count = Annotated[int, Bounds(0)]

CPUList = Annotated[str, Pattern("^$|^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$")]

NodeGroup = Annotated[str, Pattern("^$|^(-?[0-9]+)(-[0-9]+)?(,-?[0-9]+(-[0-9]+)?)*$")]

SHA256 = Annotated[str, Pattern("^[0-9a-f]{64}$")]

Minor = Annotated[str, Pattern("^1\\.[0-9]+$")]

Release = Annotated[str, Pattern("^1\\.[0-9]+(\\.[0-9]+)?$")]

QOSClass = Literal["Guaranteed", "Burstable", "BestEffort"]

ContainerKind = Literal["app", "init", "sidecar"]

Isolation = Literal["container", "pod", "host"]

TopologyPolicy = Literal["none", "best-effort", "restricted", "single-numa-node"]


class NamespacedName(TypedDict):
    """What names a pod, or another object of a namespace."""

    namespace: str
    name: str


class Amount(TypedDict):
    quantity: str
    """As the kubelet prints it."""
    number: float
    """CPUs, or bytes."""


Origin = Literal["given", "environment", "configFile", "capture", "live", "default"]
_From = TypedDict("_From", {"from": Origin})


class Source(_From):
    value: str


Sources = Annotated[dict[str, Source], "Where every input came from."]


class Unreadable(TypedDict):
    path: str
    reason: str


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


class Metric(TypedDict):
    name: str
    type: Literal["counter", "gauge"]
    help: str
    labels: dict[str, str]
    value: int


class Metrics(TypedDict):
    """All that is told where metrics alone are asked for."""

    metrics: list[Metric]
