"""Values used in answers, and what schemas say about a value besides its type."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple, NotRequired, TypedDict


class Pattern(NamedTuple):
    """A regular expression that a text matches."""

    regex: str


class Bounds(NamedTuple):
    """The smallest and the largest number allowed."""

    least: int
    greatest: int | None = None


class Items(NamedTuple):
    """The smallest and the largest number of items in a list."""

    fewest: int
    most: int


class Together(NamedTuple):
    """Other members that exist whenever the annotated member does."""

    others: tuple[str, ...]


class Requires(NamedTuple):
    """By value of the annotated member: the optional members that exist then.

    For values in parts of many kinds; elsewhere each value has its own class.
    """

    members: tuple[tuple[str | None, tuple[str, ...]], ...]


ApiVersion = Literal["cpuctl/v1alpha1"]

Count = Annotated[int, Bounds(0)]

CPUList = Annotated[
    str,
    Pattern("^$|^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$"),
    "Numbers of CPUs or NUMA nodes as a list, such as 0-3,8; empty for none.",
]

NodeGroup = Annotated[
    str,
    Pattern("^$|^(-?[0-9]+)(-[0-9]+)?(,-?[0-9]+(-[0-9]+)?)*$"),
    "Numbers of NUMA nodes as a list, such as 0-1; empty for none.",
]

SHA256 = Annotated[str, Pattern("^[0-9a-f]{64}$")]

Minor = Annotated[str, Pattern("^1\\.[0-9]+$"), "A minor Kubernetes release, such as 1.36."]

Release = Annotated[str, Pattern("^1\\.[0-9]+(\\.[0-9]+)?$"), "A Kubernetes release, such as 1.36 or 1.36.2."]

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
    """The quantity as the kubelet prints it."""
    number: float
    """Number of CPUs or bytes."""


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
    """A shell command or an instruction that fixes it; empty if unknown."""
    see: NotRequired[str]
    """Instead of a fix: a shell command that changes nothing, but shows what to fix."""


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
    """The whole answer if only metrics are requested."""

    metrics: list[Metric]
