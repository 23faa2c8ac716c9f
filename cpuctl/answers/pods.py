"""The answers of ``cpuctl pods``."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from cpuctl.answers.downward import DownwardItem
from cpuctl.answers.values import (
    Amount,
    ApiVersion,
    Bounds,
    ContainerKind,
    Count,
    FindingCounts,
    Found,
    Graded,
    Isolation,
    Pattern,
    QOSClass,
    Release,
    Sources,
)


class Component(TypedDict):
    version: Release


class ReleaseDifference(TypedDict):
    name: str
    since: Annotated[str, Pattern("^1\\.[0-9]+$")]
    behaviour: str
    source: str
    status: Literal["verified", "documented", "preview"]


class KnownNode(TypedDict):
    """What is known about the node; null if nothing is."""

    memory: Amount | None
    allocatable: dict[str, Amount] | None


class ViewHeader(TypedDict):
    sources: Sources
    kubelet: Component
    apiServer: Component
    differences: list[ReleaseDifference]
    """Differences of these releases from 1.27, with their sources."""
    cgroupVersion: Literal[1, 2]
    node: KnownNode


class ApiServerVerdict(TypedDict):
    rejections: list[str]


class NotRejected(TypedDict):
    rejected: Literal[False]


class RejectedByKubelet(TypedDict):
    rejected: Literal[True]
    reason: str
    message: str


Side = Literal["requests", "limits", "overhead"]
How = Literal["written", "defaulted", "derived"]


class Place(TypedDict):
    container: str | None
    side: Side
    resource: str


class AmountSource(TypedDict):
    how: How
    rule: str | None


class StoredAmount(Place, Amount, AmountSource):
    """A quantity of the pod as it is stored."""


class Dropped(Place):
    rule: str


class EffectiveAmount(Amount):
    resource: str
    how: How
    rule: str


class Effective(TypedDict):
    requests: list[EffectiveAmount]
    limits: list[EffectiveAmount]


class CPUWeight(TypedDict):
    linear: int
    """The weight according to the kubelet, runc up to 1.3.1 and crun up to 1.22."""
    quadratic: int
    """The weight according to runc from 1.3.2 and crun from 1.23."""
    formula: Literal["linear", "quadratic"] | None
    """The formula that applies; null if the runtime is unknown."""


class CgroupRules(TypedDict):
    cpuShares: str
    cpuQuota: str
    memoryLimit: str


class CgroupFile(TypedDict):
    text: str
    """A weight is written as '20 or 59' if the runtime is unknown."""
    written: bool
    """Whether the kubelet writes it; false if it is the kernel's default."""


class Cgroup(TypedDict):
    """Values as the kubelet computes them (null if it writes none), and the resulting files."""

    cpuShares: int
    cpuWeight: CPUWeight
    cpuQuota: int | None
    """Microseconds per period; -1 if there is no limit; null if nothing is written."""
    cpuPeriod: int | None
    """In microseconds."""
    memoryLimit: int | None
    """In bytes, as are memoryMin, memoryLow and memoryHigh."""
    memoryMin: int | None
    memoryLow: int | None
    memoryHigh: int | None
    hugetlb: dict[str, int]
    """Bytes by page size, in the notation of the kernel's file names: 2MB."""
    pidsMax: int | None
    unknown: dict[str, str]
    """Values that depend on missing inputs, and those inputs."""
    rules: CgroupRules
    files: dict[str, CgroupFile]


class Change(TypedDict):
    path: str
    before: str | None
    after: str | None
    """Null to remove it."""
    anyAmount: bool
    """Whether any other quantity also works."""


class ExclusiveCPUs(TypedDict):
    assigned: bool
    """Whether this node assigns exclusive CPUs to it, if the kubelet admits the pod."""
    qualifies: bool
    """Whether a node with the static policy would."""
    count: int
    whyShared: str | None
    isolation: Isolation
    """What its CPUs are shared with here: nothing (container), the containers of its pod (pod, KEP-5526), or
    the node (host).
    """
    changes: list[Change]
    """The smallest change of the pod after which it qualifies."""
    countAfter: int
    """How many CPUs it would then get."""


class Container(TypedDict):
    name: str
    kind: ContainerKind
    cgroup: Cgroup
    oomScoreAdj: int | None
    """Null if it depends on the node's memory, which is unknown."""
    oomRule: str
    exclusiveCPUs: ExclusiveCPUs


class EphemeralContainer(TypedDict):
    name: str
    cgroup: Cgroup
    oomScoreAdj: int | None
    oomRule: str
    cpus: str
    """Where it runs, and whether that changes with the shared pool."""


class Read(TypedDict):
    reader: Literal["scheduler", "HPA", "VPA", "cluster autoscaler", "downward API"]
    container: str | None
    item: str
    amount: Amount | None
    """Null if there is an error, or if it is the allocatable quantity of an unknown node."""
    text: str | None
    """What the downward API writes, with divisor 1."""
    error: str | None
    """The reader's own error message."""
    rule: str


class PodFacts(TypedDict):
    """What follows from one pod."""

    qosClass: QOSClass
    qosReason: str
    apiServer: ApiServerVerdict
    """The API server's messages if it rejects the pod: from RuntimeClass, validation, LimitRanges and
    ResourceQuotas."""
    kubelet: NotRejected | RejectedByKubelet
    """Whether the kubelet rejects the pod because pod-level resources are disabled."""
    warnings: list[str]
    """Warnings about the pod's resources."""
    amounts: list[StoredAmount]
    """Every quantity of the pod as it is stored; container is null for the pod itself."""
    dropped: list[Dropped]
    """Quantities in the manifest that the API server drops."""
    effective: Effective
    """What the scheduler and the node count for the pod as a whole."""
    cgroup: Cgroup
    containers: list[Container]
    ephemeralContainers: list[EphemeralContainer]
    """Ephemeral containers for debugging, which have no resources."""
    readers: list[Read]
    downwardAPI: list[DownwardItem]
    """What the pod reads about its resources through the downward API."""


class QuotaCharge(TypedDict):
    quota: str
    charged: dict[str, str]
    rejections: list[str]


class Pod(PodFacts):
    namespace: str
    name: str
    origin: str
    owner: str | None
    """The workload it is a replica of."""
    quotas: list[QuotaCharge]
    """What each quota that applies to the pod charges for it."""


class LimitRange(TypedDict):
    namespace: str
    name: str
    origin: str
    problems: list[str]
    """Why the API server rejects the object."""


class Quota(TypedDict):
    namespace: str
    name: str
    origin: str
    hard: dict[str, str]
    usedBefore: dict[str, str] | None
    """The quota's status; null if it has none."""
    used: dict[str, str]
    """The usage with all pods that the API server accepts."""


class Evicted(TypedDict):
    namespace: str
    name: str
    usage: Amount | None
    request: Amount
    """The request that eviction uses, which differs from the scheduler's."""
    priority: int
    exempt: bool
    """Static and critical pods are never evicted."""
    reason: str


class PodsShow(ViewHeader):
    """Effects of pod resources: defaults, QoS classes, sums, cgroups and OOM scores, with the rules."""

    apiVersion: ApiVersion
    kind: Literal["PodsShow"]
    pods: list[Pod]
    limitRanges: list[LimitRange]
    quotas: list[Quota]
    eviction: list[Evicted] | None
    """Pods in the order in which memory pressure evicts them; null without usage."""


class LintedObject(TypedDict):
    kind: str
    namespace: str
    """The namespace as given; empty for the default one."""
    name: str


class Finding(Graded, Found):
    """Errors mean that the object is rejected; warnings, that it has an unexpected effect.

    Notes are informational. The message is that of the component that rejects the object.
    """

    rejectedBy: Literal["kubectl", "apiserver", "kubelet", "none"]
    file: str
    line: Annotated[int, Bounds(1)]
    column: Annotated[int, Bounds(1)]
    path: str
    """The path in the document, at this line and column.

    For a missing part, line and column are those of its parent.
    """
    object: LintedObject | None
    note: str
    """Details that the message does not contain: where a value comes from, what is rejected, and when."""


class LintSummary(FindingCounts):
    files: Count
    objects: Count
    """Pods, and workloads and custom resources that create pods."""
    others: Count
    """Objects that create no pods: not checked."""


class PodsLint(TypedDict):
    """Why an API server or a kubelet would reject manifests. With -o jsonl, each line is one finding."""

    apiVersion: ApiVersion
    kind: Literal["PodsLint"]
    sources: Sources
    apiServer: Component
    kubelet: Component
    summary: LintSummary
    findings: list[Finding]


class ComparedSide(TypedDict):
    pods: str
    """The manifests."""
    kubelet: Component
    apiServer: Component
    featureGates: dict[str, bool]
    """The feature gates that are set."""


Area = Literal["admission", "QoS", "spec", "scheduling", "cgroup", "OOM", "pinning", "readers"]
Status = Literal["same", "changed", "added", "removed"]


class Difference(TypedDict):
    area: Area
    item: str
    before: str | None
    """Null if it did not exist."""
    after: str | None
    """Null if it does not exist."""


class ComparedPod(TypedDict):
    namespace: str
    name: str
    status: Status
    changes: list[Difference]


class DiffSummary(TypedDict):
    same: int
    changed: int
    added: int
    removed: int


class PodsDiff(TypedDict):
    """What differs for pods between two manifests, or for one manifest under two kubelets."""

    apiVersion: ApiVersion
    kind: Literal["PodsDiff"]
    sources: Sources
    """Where every input of the first side came from."""
    before: ComparedSide
    after: ComparedSide
    summary: DiffSummary
    pods: list[ComparedPod]
