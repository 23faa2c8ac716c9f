"""The answer of ``cpuctl topology``."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict, final

from cpuctl.answers.start import Start
from cpuctl.answers.values import ApiVersion, Bounds, Count, CPUList, Found, Graded, Pattern, Sources

PageSize = Annotated[str, Pattern("^[1-9][0-9]*[KMG]i$")]
HugePages = Annotated[dict[PageSize, Count], "Pages by page size."]
CoreType = Literal["performance", "efficiency"]
ColumnName = Literal[
    "CPU",
    "NODE",
    "SOCKET",
    "CORE",
    "L1D",
    "L1I",
    "L2",
    "L3",
    "ONLINE",
    "TYPE",
    "SIBLINGS",
    "ISOLATED",
    "NOHZ",
    "CAPACITY",
    "MAXKHZ",
    "MINKHZ",
    "KUBELET-NODE",
    "KUBELET-SOCKET",
    "KUBELET-CORE",
    "KUBELET-L3",
]


class _Chosen(TypedDict, total=False):
    columns: list[ColumnName]
    """Only with --columns: those that were asked for."""
    memory: Memory
    """Only with --memory: memory as the kubelet's Memory Manager counts it before it has pods."""


class Topology(_Chosen):
    """A machine as its kernel describes it, with a kubelet's counts beside it."""

    apiVersion: ApiVersion
    kind: Literal["Topology"]
    sources: Sources
    summary: Summary
    kubelet: KubeletView | Unseen
    numaNodes: list[NumaNode]
    sockets: list[Socket]
    caches: list[Cache]
    cpus: list[CPU]
    findings: list[Finding]
    """What is unusual, and what a kubelet makes of it."""


class Finding(Graded, Found):
    """A warning does not mean to a kubelet what it seems to mean, a note is worth knowing."""

    file: str
    """The kernel's, from the root; with an asterisk where many CPUs or nodes have it, or empty."""


class Summary(TypedDict):
    model: str | None
    architecture: str | None
    cpus: Count
    online: CPUList
    offline: CPUList
    present: CPUList | None
    possible: CPUList | None
    isolated: CPUList
    nohzFull: CPUList
    cores: int | None
    """Null where nothing is recorded of them."""
    threadsPerCore: list[Count]
    """Empty where nothing is recorded of cores."""
    sockets: int | None
    """Null where nothing is recorded of them."""
    numaNodes: int | None
    """Null where nothing is recorded of them."""
    l3Caches: int | None
    """Null where nothing is recorded of them."""
    performanceCPUs: CPUList | None
    efficiencyCPUs: CPUList | None
    coreKindsGuessed: bool
    """Performance and efficiency CPUs are told by maximum frequency: the kernel names no kinds."""
    memoryBytes: int | None
    hugepages: HugePages
    hugepagesTold: bool
    """Whether huge pages are recorded: where not, none known is not none there."""
    synthetic: str | None
    """The machine in one line, as -m takes it."""
    whyNotSynthetic: str | None


class TopologyCounts(TypedDict):
    cpus: Count
    cores: Count
    sockets: Count
    numaNodes: Count
    uncoreCaches: Count | None
    """Null where nothing is recorded of caches."""
    cpusPerCore: Count


@final
class KubeletView(TopologyCounts):
    differences: list[str]
    """Where the kubelet splits the CPUs differently from the kernel."""
    labels: dict[str, KubeletLabel]
    """The kubelet's own numbers, by CPU; a core is its smallest CPU number."""


class KubeletLabel(TypedDict):
    node: int
    socket: int
    core: int
    uncoreCache: int | None
    """Null where nothing is recorded of caches."""


@final
class Unseen(TypedDict):
    """The kubelet refuses the machine, or it is not recorded what it goes by."""

    error: str


class NumaNode(TypedDict):
    id: Annotated[int, Bounds(0, 1023)]
    cpus: CPUList
    memoryBytes: int | None
    freeBytes: int | None
    hugepages: HugePages
    freeHugepages: HugePages
    distances: list[Count]


class Socket(TypedDict):
    id: int
    cpus: CPUList


class Cache(TypedDict):
    level: int | None
    type: str
    id: int | None
    sizeBytes: int | None
    cpus: CPUList


class PlacedCPU(TypedDict):
    cpu: Count
    online: bool
    node: int | None
    socket: int | None
    core: int | None
    l3: int | None


class CPU(PlacedCPU):
    """Cores and caches are numbered from 0 by their lowest CPU."""

    siblings: CPUList | None
    type: CoreType | None
    typeGuessed: bool
    """The type is told by the maximum frequency: the kernel names none."""
    isolated: bool
    nohzFull: bool
    capacity: int | None
    maxKHz: int | None
    minKHz: int | None
    l1d: int | None
    l1i: int | None
    l2: int | None


class Marks(TypedDict):
    shared: bool
    marks: list[str]
    """One for each pod that holds the CPU."""


class HeldCPU(PlacedCPU, Marks):
    """A CPU of a machine, and who holds it by the kubelet's state file."""


class HeldMap(TypedDict):
    cpus: list[HeldCPU]
    notOnMachine: CPUList
    """CPUs of the file that the machine has not."""


class PicturedCPU(CPU, Marks):
    """A CPU of a picture of a plan."""


class Memory(TypedDict):
    policy: str
    """memoryManagerPolicy; a policy other than Static counts nothing."""
    start: Start
    """Whether the kubelet would start with this configuration."""
    amounts: list[Amounts]
    """In bytes, by NUMA node and resource."""


class Amounts(TypedDict):
    numaNode: int
    resource: str
    total: int | None
    """Null where nothing is recorded of it."""
    reserved: int
    """What reservedMemory keeps from pods."""
    hugePages: int | None
    """What of memory is set aside as huge pages; null where nothing is recorded of them."""
    allocatable: int | None
    """What pods can get; null where the kubelet's number has wrapped around or is not known."""
    overdrawn: Count
    """How much more is reserved and set aside than there is."""
    free: int | None
    """What is free now, as the kernel says; null where it was not recorded."""


class PCIDevices(TypedDict):
    """What ``topology devices`` shows to people: what else it prints is a file for --devices."""

    pci: list[PCIDevice]


class PCIDevice(TypedDict):
    address: str
    kind: str
    vendor: str
    device: str
    numaNode: int | None
    virtual: bool
    resource: str | None
