"""The answer of ``cpuctl replay``."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

from cpuctl.answers.start import PolicyPart
from cpuctl.answers.values import ApiVersion, Count, Items, Pattern, Sources

Duration = Annotated[str, "A duration in Go's notation, such as 1m30s."]

CPUText = Annotated[str, "A CPU list; empty for none."]


class Entry(TypedDict):
    at: Duration
    nanoseconds: Count
    what: Annotated[str, Pattern("^[A-Z][A-Za-z]+$")]
    pod: str
    """The pod as namespace/name; empty if the entry is about the node."""
    container: str
    text: str
    details: dict[str, str | int | bool | None]


class Failure(TypedDict):
    at: Duration
    where: str
    """File, line and path of the event."""
    what: str
    """The path below expect."""
    expected: object
    found: object


class Expectations(TypedDict):
    checked: Count
    """Moments with an expect block."""
    failures: list[Failure]


class ScaleDown(TypedDict):
    """One container that loses CPUs."""

    pod: str
    container: str
    before: CPUText
    after: CPUText
    decided: Duration
    due: Duration
    """When the delay has passed."""
    notified: Duration | None
    """When the pod's volume showed the change."""
    applied: Duration | None
    """When the container's cgroup changed."""
    exposed: bool
    """Whether the container can read assigned.cpuset."""
    late: bool
    """Whether it was shown only after the CPU set was applied, or never."""
    end: Literal["open", "applied", "replaced", "cancelled", "interrupted", "gone"]


class Latency(TypedDict):
    count: Count
    shortest: Duration | None
    longest: Duration | None


class Slis(TypedDict):
    """The service level indicators of KEP-6122."""

    notification: Latency
    """From the decision until the volume shows it."""
    application: Latency
    """From the end of the delay until the CPU set is applied."""
    lateNotifications: Count


_From = TypedDict("_From", {"from": Duration})


class Span(_From):
    until: Duration
    nanoseconds: Annotated[list[int], Items(2, 2)]
    use: Literal["owned", "leaving", "contested", "shared", "none"]
    """owned: exclusive; leaving: to be released or released, but still in its cgroup; contested: the
    same, but already exclusive to another container; none: unassigned.
    """
    container: str
    """Empty if the CPUs are not exclusive."""


class ChartRow(TypedDict):
    cpus: CPUText
    spans: list[Span]


class Kubelet(TypedDict):
    running: bool
    version: str
    error: str


class Container(TypedDict):
    state: Literal["waiting", "running", "terminated"]
    cpus: NotRequired[CPUText]
    pending: NotRequired[CPUText | None]
    baseline: NotRequired[CPUText | None]
    downward: CPUText | None
    cgroup: CPUText | None
    effective: CPUText | None
    weight: int | None
    desired: str
    allocated: str | None
    """Null, like actual, if no kubelet has admitted the pod or if it is rejected."""
    actual: str | None


class Condition(TypedDict):
    reason: str
    message: str


class Conditions(TypedDict):
    PodResizePending: Condition | None
    PodResizeInProgress: Condition | None


class Pod(TypedDict):
    phase: Literal["Unscheduled", "Pending", "Running", "Succeeded", "Failed"]
    reason: str
    message: str
    conditions: Conditions


class StateFile(TypedDict):
    format: str
    error: NotRequired[str]
    """Why the file cannot be read."""
    policyName: NotRequired[str]
    defaultCpuSet: NotRequired[CPUText]
    entries: NotRequired[dict[str, CPUText]]
    baselines: NotRequired[dict[str, CPUText]]
    podEntries: NotRequired[dict[str, CPUText]]


class Final(TypedDict):
    at: Duration
    kubelet: Kubelet
    sharedPool: CPUText | None
    """Null while no kubelet runs."""
    containers: dict[str, Container]
    """By namespace/pod/container; cpus, pending and baseline are only present while a kubelet runs."""
    pods: dict[str, Pod]
    stateFile: StateFile | None
    scheduler: dict[str, str]
    metrics: dict[str, int]
    slis: Slis


class About(TypedDict):
    description: str
    pods: Count
    """The pods that the timeline lists."""
    log: NotRequired[str]
    """The log that was replayed: it defines what is expected, and failures are differences."""


class Replay(About, PolicyPart):
    """What happens on a node over simulated time. With -o jsonl, each line is one of the entries."""

    apiVersion: ApiVersion
    kind: Literal["Replay"]
    sources: Sources
    until: Duration
    entries: list[Entry]
    expectations: Expectations
    scaleDowns: list[ScaleDown]
    slis: Slis
    chart: list[ChartRow]
    """The history of every CPU; CPUs with the same history are one row."""
    final: Final
    """The state at the end, in the form of a timeline's expectations."""
